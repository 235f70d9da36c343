"""Where the judged ids of many plain rankings stand, found without making a string of every id.

Most rankings are JSON arrays of plain strings, and most of their ids are not judged: making strings of all of them
costs more than finding the few judged ones does. Here the bytes of a block of rankings are looked at together: the
quotes give the strings, eight bytes at a time give each a 64-bit hash that depends on its question too, and only
strings whose hash is that of a judged id are compared, byte by byte. Whatever is not plain (objects, escapes, odd
spacing, ids of unusual length) is left to the ordinary reading; so is a ranking in which an id seems to stand twice.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

LONGEST = 120
"""Ids of more bytes are left to the ordinary reading."""

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_WORD = 8
_PADDING = bytes(LONGEST + _WORD)
_QUOTE, _COMMA, _SPACE, _OPEN = b'", ['
_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(_WORD + 1)], dtype=np.uint64)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class Scan(Struct, frozen=True):
    """What was seen of a block of rankings.

    Attributes:
        plain: For each ranking whether it was seen; the others must be read the ordinary way.
        returned: For each ranking how many ids it has.
        ranking: For each judged id that was found in a ranking that was seen: the position of that ranking.
        rank: Its rank there, 1 is best.
        judged: Its position among the judged ids of the whole block, one question's after the other's.
    """

    plain: Flags
    returned: Integers
    ranking: Integers
    rank: Integers
    judged: Integers


def scan(rankings: Sequence[Raw], judged: Sequence[Collection[str]]) -> Scan:
    """Find the judged ids of each question in its ranking.

    Args:
        rankings: One ranking a question, as valid JSON.
        judged: The judged ids of each question, none twice.
    """
    parts = list(map(bytes, rankings))
    strings, gold = _plain_strings(parts), _gold_strings(judged)
    if strings is None or gold is None:
        return _nothing_seen(len(parts))
    longest = max(strings.longest, gold.longest)
    hashes, known = strings.hashes(longest), gold.hashes(longest)
    place, which = _matches(hashes, known)
    if not strings.same(place, gold, which):
        return _nothing_seen(len(parts))
    plain = np.ones(len(parts), dtype=np.bool_)
    plain[strings.owner(_repeated(hashes))] = False
    ranking = strings.owner(place)
    rank = place - strings.first[ranking] + 1
    seen = plain[ranking]
    return Scan(plain, strings.count, ranking[seen], rank[seen], which[seen])


def _nothing_seen(rankings: int) -> Scan:
    none = np.zeros(0, dtype=np.int64)
    return Scan(np.zeros(rankings, dtype=np.bool_), np.zeros(rankings, dtype=np.int64), none, none, none)


class _Strings(Struct, frozen=True):
    """Strings within one text: where each starts, its length in bytes, and how many in turn belong to each question."""

    text: bytes
    start: Integers
    length: Integers
    count: Integers

    @property
    def first(self) -> Integers:
        """For each question the position of its first string."""
        return np.cumsum(self.count) - self.count

    @property
    def longest(self) -> int:
        """The length of the longest string; 0 if there are none."""
        return int(self.length.max(initial=0))

    def owner(self, positions: Integers) -> Integers:
        """The questions that the strings at these positions belong to."""
        return np.searchsorted(np.cumsum(self.count), positions, side="right")

    def words(self, longest: int, positions: Integers | slice = slice(None)) -> Iterator[Hashes]:
        """Each string as numbers of eight bytes, enough of them for strings of `longest` bytes.

        They follow each other; where the string ends, its last eight bytes come again, so that most need no mask.
        """
        every = np.ndarray((len(self.text) - _WORD + 1,), dtype="<u8", buffer=self.text, strides=(1,))
        start, length = self.start[positions], self.length[positions]
        has_short = length.min(initial=_WORD) < _WORD
        last = np.maximum(start, start + length - _WORD) if has_short else start + length - _WORD
        for offset in range(0, longest, _WORD):
            at = start if offset == 0 else last if longest <= 2 * _WORD else np.minimum(start + offset, last)
            value = every[at]
            yield value & _MASKS[np.minimum(length, _WORD)] if has_short else value

    def hashes(self, longest: int) -> Hashes:
        """A hash of each string and its question; comparable between strings that are hashed for the same `longest`."""
        seeds = np.arange(1, len(self.count) + 1, dtype=np.uint64) * _MULTIPLIER
        value = np.repeat(seeds, self.count) + self.length.view(np.uint64)
        for word in self.words(longest):
            value ^= word
            value *= _MULTIPLIER
            value ^= value >> _HALF
        value *= _MULTIPLIER
        return value

    def same(self, positions: Integers, other: "_Strings", theirs: Integers) -> bool:
        """Whether each of these strings is the other's, byte for byte."""
        length = self.length[positions]
        if not np.array_equal(length, other.length[theirs]):
            return False
        longest = int(length.max(initial=0))
        pairs = zip(self.words(longest, positions), other.words(longest, theirs), strict=True)
        return all(np.array_equal(mine, their) for mine, their in pairs)


def _plain_strings(parts: list[bytes]) -> _Strings | None:
    """The strings of JSON arrays that hold nothing but plain strings; None if any array holds anything else."""
    text = b"".join((*parts, _PADDING))
    if b"\\" in text or b"{" in text or not _is_utf8(text):
        return None
    content = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(content == _QUOTE)
    start, stop = quotes[0::2] + 1, quotes[1::2]
    length = stop - start
    if len(length) and not 1 <= length.min() <= length.max() <= LONGEST:
        return None
    size = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    end = np.cumsum(size)
    until = np.searchsorted(quotes, end) // 2
    count = np.diff(until, prepend=0)
    filled = count > 0
    opens = start[(until - count)[filled]] - (end - size)[filled] == len('["')
    closes = end[filled] - stop[until[filled] - 1] == len('"]')
    begin = (end - size)[~filled]
    empty = (size[~filled] == len("[]")) & (content[begin] == _OPEN)
    framed = opens.all() and closes.all() and empty.all()
    between = len(length) - int(filled.sum())
    if not framed or _separators(content, start, stop) < between:
        return None
    return _Strings(text, start, length, count)


def _separators(content: NDArray[np.uint8], start: Integers, stop: Integers) -> int:
    """How many of the gaps between strings are a comma, or a comma and a space."""
    gap = start[1:] - stop[:-1]
    tight = int(np.count_nonzero(gap == len('","')))
    wide = stop[:-1][gap == len('", "')]
    return tight + int(np.count_nonzero((content[wide + 1] == _COMMA) & (content[wide + 2] == _SPACE)))


def _gold_strings(judged: Sequence[Collection[str]]) -> _Strings | None:
    """The judged ids of all questions, one after the other; None if one is unusually long."""
    text = "".join(chain.from_iterable(judged))
    names = chain.from_iterable(judged)
    length = np.fromiter(map(len, names if text.isascii() else map(str.encode, names)), dtype=np.int64)
    if length.max(initial=0) > LONGEST:
        return None
    count = np.fromiter(map(len, judged), dtype=np.int64, count=len(judged))
    return _Strings(text.encode() + _PADDING, np.cumsum(length) - length, length, count)


def _matches(hashes: Hashes, known: Hashes) -> tuple[Integers, Integers]:
    """Positions of the hashes that are among the known ones (ascending), and of these there."""
    bits = max(8, (16 * len(known)).bit_length())
    shift = np.uint64(64 - bits)
    possible = np.zeros(1 << bits, dtype=np.bool_)
    possible[known >> shift] = True
    candidates = np.flatnonzero(possible[hashes >> shift])
    order = np.argsort(known)
    ordered = known[order]
    where = np.searchsorted(ordered, hashes[candidates])
    where[where == len(known)] = 0
    same = ordered[where] == hashes[candidates]
    return candidates[same], order[where[same]]


def _repeated(hashes: Hashes) -> Integers:
    """Positions of hashes that occur more than once: of each such hash at least one."""
    bits = max(8, (4 * len(hashes)).bit_length())
    slot = (hashes >> np.uint64(64 - bits)).astype(np.int32)
    position = np.arange(len(hashes), dtype=np.int32)
    last = np.empty(1 << bits, dtype=np.int32)
    last[slot] = position
    kept = last[slot]
    lost = np.flatnonzero(kept != position)
    same = hashes[lost] == hashes[kept[lost]]
    rest = lost[~same]
    rest = rest[np.argsort(hashes[rest])]
    neighbours = rest[1:][hashes[rest[1:]] == hashes[rest[:-1]]]
    return np.concatenate((lost[same], neighbours))


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
