"""Where the judged ids of many plain rankings stand, found without making a string of every id.

Most rankings are JSON arrays of plain strings, and most of their ids are not judged: decoding them all to strings costs
several times what finding the few judged ones does. Here the bytes of a block of rankings are looked at together: the
quotes give the strings, eight bytes at a time give each a 64-bit hash, and only strings whose hash is that of a judged
id of the same question are compared, byte by byte. Whatever is not plain (objects, escapes, odd spacing, ids of unusual
length) is left to the ordinary reading; so is every ranking in which an id seems to stand twice.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

from befund.core.retrieval.ranking import Sighting

LONGEST = 120
"""Ids of more bytes are left to the ordinary reading."""

_WORD = 8
_PADDING = bytes(LONGEST + _WORD)
_QUOTE, _COMMA, _SPACE = ord('"'), ord(","), ord(" ")
_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(_WORD + 1)], dtype=np.uint64)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]


class _Strings(Struct, frozen=True):
    """Strings within one text: where each starts, its length in bytes, the number of the question it belongs to."""

    text: bytes
    start: Integers
    length: Integers
    question: Integers

    def word(self, position: int) -> Hashes:
        """The bytes `position` to `position` + 8 of each string, as one number; 0 beyond its end."""
        words = np.ndarray((len(self.text) - _WORD + 1,), dtype="<u8", buffer=self.text, strides=(1,))
        return words[self.start + position] & _MASKS[np.clip(self.length - position, 0, _WORD)]

    def take(self, chosen: Integers) -> "_Strings":
        return _Strings(self.text, self.start[chosen], self.length[chosen], self.question[chosen])

    def hashes(self) -> Hashes:
        """A hash of each string and its question."""
        value = (self.question.astype(np.uint64) * _MULTIPLIER + self.length.astype(np.uint64)) * _MULTIPLIER
        for position in range(0, int(self.length.max(initial=0)), _WORD):
            value ^= self.word(position)
            value *= _MULTIPLIER
            value ^= value >> _HALF
        return value * _MULTIPLIER

    def equal(self, other: "_Strings") -> bool:
        """Whether each string is the same as the other's, byte for byte."""
        return bool(np.array_equal(self.length, other.length)) and all(
            np.array_equal(self.word(position), other.word(position))
            for position in range(0, int(self.length.max(initial=0)), _WORD)
        )


def sightings(rankings: Sequence[Raw], judged: Sequence[Sequence[str]]) -> list[Sighting | None]:
    """Find the judged ids of each question in its ranking.

    Args:
        rankings: One ranking a question, as valid JSON.
        judged: The judged ids of each question, none twice.

    Returns:
        For each question what was seen, None where its ranking must be read the ordinary way.
    """
    parts = list(map(bytes, rankings))
    strings, gold = _plain_strings(parts), _gold_strings(judged)
    if strings is None or gold is None:
        return [None] * len(parts)
    hashes, gold_hashes = strings.hashes(), gold.hashes()
    order = np.argsort(gold_hashes)
    known = gold_hashes[order]
    place, which = _matches(hashes, known)
    which = order[which]
    if (known[1:] == known[:-1]).any() or not strings.take(place).equal(gold.take(which)):
        return [None] * len(parts)
    first = np.searchsorted(strings.question, np.arange(len(parts) + 1))
    first_gold = np.searchsorted(gold.question, np.arange(len(parts)))
    owner = strings.question[place]
    bounds = np.searchsorted(owner, np.arange(len(parts) + 1)).tolist()
    ranks, positions = (place - first[owner] + 1).tolist(), (which - first_gold[owner]).tolist()
    returned = np.diff(first).tolist()
    twice = set(strings.question[_repeated(hashes)].tolist())
    return [
        None if i in twice else Sighting(returned[i], [names[at] for at in positions[low:high]], ranks[low:high])
        for i, (names, low, high) in enumerate(zip(judged, bounds, bounds[1:], strict=False))
    ]


def _plain_strings(parts: list[bytes]) -> _Strings | None:
    """The strings of JSON arrays that hold nothing but plain strings; None if any array holds anything else."""
    text = b"".join(parts)
    if b"\\" in text or b"{" in text or not _is_utf8(text):
        return None
    text += _PADDING
    content = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(content == _QUOTE)
    size = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    end = np.cumsum(size)
    last = np.searchsorted(quotes, end) // 2
    count = np.diff(last, prepend=0)
    start, stop = quotes[0::2] + 1, quotes[1::2]
    length = stop - start
    question = np.repeat(np.arange(len(parts)), count)
    filled = count > 0
    opens = start[(last - count)[filled]] - (end - size)[filled] == len('["')
    closes = end[filled] - stop[last[filled] - 1] == len('"]')
    same = question[1:] == question[:-1]
    before = stop[:-1][same]
    gap = start[1:][same] - before
    spaced = (gap == len('", "')) & (content[before + 1] == _COMMA) & (content[before + 2] == _SPACE)
    plain = (
        opens.all()
        and closes.all()
        and (size[~filled] == len("[]")).all()
        and ((gap == len('","')) | spaced).all()
        and length.min(initial=1) >= 1
        and length.max(initial=1) <= LONGEST
    )
    return _Strings(text, start, length, question) if plain else None


def _gold_strings(judged: Sequence[Sequence[str]]) -> _Strings | None:
    """The judged ids of all questions, one after the other; None if one is unusually long."""
    text = "".join(chain.from_iterable(judged))
    names = chain.from_iterable(judged) if text.isascii() else (name.encode() for name in chain.from_iterable(judged))
    length = np.fromiter(map(len, names), dtype=np.int64)
    if length.max(initial=0) > LONGEST:
        return None
    question = np.repeat(np.arange(len(judged)), list(map(len, judged)))
    return _Strings(text.encode() + _PADDING, np.cumsum(length) - length, length, question)


def _matches(hashes: Hashes, known: Hashes) -> tuple[Integers, Integers]:
    """Positions of the hashes that are among the known ones (ascending), and where there."""
    bits = max(8, (16 * len(known)).bit_length())
    shift = np.uint64(64 - bits)
    possible = np.zeros(1 << bits, dtype=np.bool_)
    possible[known >> shift] = True
    candidates = np.flatnonzero(possible[hashes >> shift])
    where = np.searchsorted(known, hashes[candidates])
    where = np.minimum(where, len(known) - 1)
    same = known[where] == hashes[candidates] if len(known) else np.zeros(0, dtype=np.bool_)
    return candidates[same], where[same]


def _repeated(hashes: Hashes) -> Integers:
    """Positions of hashes that occur more than once: of each such hash at least one."""
    bits = max(8, (2 * len(hashes)).bit_length())
    slot = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    position = np.arange(len(hashes), dtype=np.int32)
    last = np.empty(1 << bits, dtype=np.int32)
    last[slot] = position
    others = np.flatnonzero(last[slot] != position)
    same = hashes[others] == hashes[last[slot[others]]]
    rest = others[~same]
    order = np.argsort(hashes[rest])
    among_rest = rest[order][1:][hashes[rest][order][1:] == hashes[rest][order][:-1]]
    return np.concatenate((others[same], among_rest))


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
