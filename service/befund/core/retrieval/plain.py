"""Rankings that are plain lists of ids, read in blocks of bytes.

Most runs are one JSON object of question ids and arrays of chunk ids, and most of their chunk ids are not judged:
making strings of all of them costs more than finding the few judged ones does. The JSON is known to be valid, so the
quotes give the strings, and the bytes between two strings tell what they are. Whatever else stands there (objects,
escapes, odd spacing, ids of unusual length) is not plain, and the whole run is then read the ordinary way.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

from befund.core.retrieval.strings import LONGEST, MASKS, PADDING, WORD, Integers, Strings, words_of

BLOCK_BYTES = 256 * 1024
"""So many strings and what is computed for them stay in a core's cache."""

_QUOTE, _COMMA = b'",'
_SEPARATOR, _KEY, _END, _EMPTY = range(4)
_GAPS = {
    b",": _SEPARATOR,
    b", ": _SEPARATOR,
    b":[": _KEY,
    b": [": _KEY,
    b"],": _END,
    b"], ": _END,
    b":[],": _EMPTY,
    b": [], ": _EMPTY,
}
"""What may stand between two strings: the first is followed by another id, is a key, ends a list, has an empty list."""
_LAST_GAPS = {b"]}": _END, b":[]}": _EMPTY, b": []}": _EMPTY}

_KNOWN_GAPS = np.array(sorted(int.from_bytes(gap, "little") for gap in _GAPS), dtype=np.uint64)
_KINDS = np.array([_GAPS[int(gap).to_bytes(WORD, "little").rstrip(b"\0")] for gap in _KNOWN_GAPS])


class NotPlainError(Exception):
    """These rankings hold something else than plain ids."""


class Block(Struct, frozen=True):
    """Some rankings that follow each other.

    Attributes:
        strings: Their question ids and chunk ids as they stand in the text.
        key: For each ranking the position of its question id among the strings; its chunk ids follow.
        count: For each ranking how many chunk ids it has.
    """

    strings: Strings
    key: Integers
    count: Integers

    def questions(self) -> list[str]:
        """The question ids."""
        return self.strings.at(self.key).names()

    def ids(self, ranking: int) -> list[str]:
        """The chunk ids of one ranking."""
        first = int(self.key[ranking]) + 1
        return self.strings.at(slice(first, first + int(self.count[ranking]))).names()


def plain_blocks(rankings: Raw, *, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """Read an object of rankings block by block.

    Args:
        rankings: Valid JSON of question ids to rankings.
        block_bytes: How much to read at once; a ranking that is longer is read at once too.

    Raises:
        NotPlainError: It holds anything but arrays of plain strings; some blocks may have been given by then.
    """
    body = memoryview(rankings)
    opening = bytes(body[:3])
    begin, size = opening.find(b'"'), block_bytes
    if not opening.startswith(b"{") or begin < 0:
        raise NotPlainError
    while begin < len(body):
        block, length = _block(b"".join((body[begin : begin + size], PADDING)), is_last=begin + size >= len(body))
        if block is None:
            size *= 2
            continue
        yield block
        begin, size = begin + length, block_bytes


def _block(text: bytes, *, is_last: bool) -> tuple[Block | None, int]:
    """The whole rankings with which a text begins, and how many bytes they take; None if it holds no whole one."""
    content = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(content == _QUOTE)
    strings = len(quotes) // 2
    start, stop = quotes[0 : 2 * strings : 2] + 1, quotes[1 : 2 * strings : 2]
    kind, at = _gaps(text, content, start, stop)
    complete, end = strings, len(text) - len(PADDING)
    if is_last:
        kind, at = np.append(kind, _last_gap(text[stop[-1] + 1 : end])), np.append(at, strings - 1)
    else:
        ends = at[kind >= _END]
        if not len(ends):
            return None, 0
        complete = int(ends[-1]) + 1
        end = int(start[complete]) - 1
    length = (stop - start)[:complete]
    key = at[((kind == _KEY) | (kind == _EMPTY)) & (at < complete)]
    if key[0] or b"\\" in text or not 1 <= length.min() <= length.max() <= LONGEST or not _is_utf8(text[:end]):
        raise NotPlainError
    return Block(Strings(text, start[:complete], length), key, np.diff(key, append=complete) - 1), end


def _gaps(text: bytes, content: NDArray[np.uint8], start: Integers, stop: Integers) -> tuple[Integers, Integers]:
    """Where something else than a comma stands between two strings: its kind, and the position of the first of them."""
    after = stop[:-1] + 1
    size = start[1:] - after - 1
    others = np.flatnonzero((size != 1) | (content[after] != _COMMA))
    gap = words_of(text)[after[others]] & MASKS[np.minimum(size[others], WORD)]
    known = np.minimum(np.searchsorted(_KNOWN_GAPS, gap), len(_KNOWN_GAPS) - 1)
    if not np.array_equal(_KNOWN_GAPS[known], gap):
        raise NotPlainError
    return _KINDS[known], others


def _last_gap(gap: bytes) -> int:
    if gap not in _LAST_GAPS:
        raise NotPlainError
    return _LAST_GAPS[gap]


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
