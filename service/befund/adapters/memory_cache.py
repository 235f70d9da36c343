"""A cache in the memory of the process: the least recently used is forgotten first."""

from collections import OrderedDict


class MemoryCache:
    """Keeps values up to a number and a size together.

    Args:
        entries: Most values held.
        size: Most bytes held, keys left out.
    """

    def __init__(self, *, entries: int = 20_000, size: int = 128 * 1024 * 1024) -> None:
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._most_entries = entries
        self._most_bytes = size
        self._bytes = 0

    async def get(self, key: str) -> bytes | None:
        """What was put under this key, if it is still held."""
        value = self._held.get(key)
        if value is not None:
            self._held.move_to_end(key)
        return value

    async def put(self, key: str, value: bytes) -> None:
        """Remember a value, and forget the least recently used where there are too many."""
        self._bytes += len(value) - len(self._held.pop(key, b""))
        self._held[key] = value
        while len(self._held) > self._most_entries or self._bytes > self._most_bytes:
            _, forgotten = self._held.popitem(last=False)
            self._bytes -= len(forgotten)
