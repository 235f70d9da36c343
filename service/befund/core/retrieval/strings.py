"""Many strings of one text, hashed and compared eight bytes at a time, without making an object of each."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

LONGEST = 120
"""In bytes; longer ids are left to the ordinary reading."""

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

WORD = 8
PADDING = bytes(LONGEST + 2 * WORD)
"""Follows the text of `Strings`, so that the last one can be read in whole words."""

MASKS = np.array([(1 << (8 * n)) - 1 for n in range(WORD + 1)], dtype=np.uint64)
"""For each number of bytes, the mask that keeps so many of a word."""

_PAIR = np.dtype("c16")
"""Stands for two words: numpy fetches its items of sixteen bytes as fast as those of eight."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class Strings(Struct, frozen=True):
    """Strings within one text that ends with `PADDING`: where each starts, and its length in bytes."""

    text: bytes | bytearray
    start: Integers
    length: Integers

    @property
    def longest(self) -> int:
        """The length of the longest string; 0 if there are none."""
        return int(self.length.max(initial=0))

    def at(self, positions: Integers | slice) -> "Strings":
        """Those at these positions."""
        return Strings(self.text, self.start[positions], self.length[positions])

    def names(self) -> list[str]:
        """Each as a string."""
        ends = zip(self.start.tolist(), (self.start + self.length).tolist(), strict=True)
        return [self.text[start:end].decode() for start, end in ends]

    def hashes(self, owners: Hashes, longest: int) -> Hashes:
        """A hash of each string and its owner's; comparable between calls with the same `longest`."""
        value = owners + self.length.astype(np.int64, copy=False).view(np.uint64)
        for i, word in enumerate(self._words(longest)):
            if i:
                value ^= value >> _HALF
            value ^= word
            value *= _MULTIPLIER
        return value

    def equal(self, other: "Strings") -> bool:
        """Whether each string is the other's, byte for byte."""
        if not np.array_equal(self.length, other.length):
            return False
        pairs = zip(self._words(self.longest), other._words(self.longest), strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def _words(self, longest: int) -> Iterator[Hashes]:
        """Each string as numbers of eight bytes, enough for strings of `longest` bytes; bytes beyond its end are 0."""
        shortest = int(self.length.min(initial=LONGEST))
        pairs = np.ndarray((len(self.text) - 2 * WORD + 1,), dtype=_PAIR, buffer=self.text, strides=(1,))
        for offset in range(0, longest, WORD):
            half = offset // WORD % 2
            if not half:
                pair = pairs[self.start + offset].view(np.uint64)
            word = pair[half::2]
            left = None if shortest >= offset + WORD else np.clip(self.length - offset, 0, WORD)
            yield word if left is None else word & MASKS[left]


def owner_hashes(owners: int) -> Hashes:
    """A hash for each of so many owners."""
    return np.arange(1, owners + 1, dtype=np.uint64) * _MULTIPLIER


def words_of(text: bytes) -> Hashes:
    """The eight bytes that begin at each position of a text, as numbers."""
    return np.ndarray((len(text) - WORD + 1,), dtype="<u8", buffer=text, strides=(1,))


class HashIndex:
    """Where hashes stand: a table of the last position of each slot, and a sorted rest of those pushed out of theirs.

    Attributes:
        repeated: Positions of hashes that stand there more than once, of each at least one.
    """

    def __init__(self, hashes: Hashes) -> None:
        bits = max(8, (4 * len(hashes)).bit_length())
        self._hashes = hashes
        self._shift = np.uint64(64 - bits)
        self._last = np.zeros(1 << bits, dtype=np.int32)
        position = np.arange(len(hashes), dtype=np.int32)
        slot = (hashes >> self._shift).astype(np.int32)
        self._last[slot] = position
        kept = self._last[slot]
        lost = np.flatnonzero(kept != position)
        same = hashes[lost] == hashes[kept[lost]]
        rest = lost[~same]
        self._rest = rest[np.argsort(hashes[rest])]
        self._rest_hashes = hashes[self._rest]
        neighbours = self._rest[1:][self._rest_hashes[1:] == self._rest_hashes[:-1]]
        self.repeated: Integers = np.concatenate((lost[same], neighbours))

    def find(self, wanted: Hashes) -> tuple[Integers, Integers]:
        """Positions of those of the wanted hashes that stand here, and which of them these are."""
        if not len(self._hashes):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        at = self._last[wanted >> self._shift]
        is_kept = self._hashes[at] == wanted
        others = np.flatnonzero(~is_kept)
        where = np.searchsorted(self._rest_hashes, wanted[others])
        inside = where < len(self._rest)
        others, where = others[inside], where[inside]
        is_rest = self._rest_hashes[where] == wanted[others]
        place = np.concatenate((at[is_kept], self._rest[where[is_rest]]))
        return place, np.concatenate((np.flatnonzero(is_kept), others[is_rest]))
