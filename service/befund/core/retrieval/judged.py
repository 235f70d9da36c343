"""Where the judged ids of many questions stand in plain rankings."""

from array import array
from collections.abc import Collection
from functools import cached_property
from itertools import chain

import numpy as np
from msgspec import Struct

from befund.core.retrieval.plain import Block, NotPlainError
from befund.core.retrieval.strings import LONGEST, PADDING, HashIndex, Integers, Strings, owner_hashes

_AT_ONCE = 512


class JudgedIds:
    """The judged ids of each question, one question's after the other's; questions are numbered as they are added."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._length = array("i")
        self._count = array("i")
        self._unread: list[Collection[str]] = []

    def add(self, ids: Collection[str]) -> None:
        """Add the ids of the next question."""
        self._count.append(len(ids))
        self._unread.append(ids)
        if len(self._unread) >= _AT_ONCE:
            self._read()

    def first(self, question: int) -> int:
        """The position of the first id of a question."""
        return int(self._first[question])

    def names(self, question: int) -> list[str]:
        """The ids of one question."""
        first = self.first(question)
        return self.strings.at(slice(first, first + self._count[question])).names()

    def select(self, questions: Integers) -> tuple[Integers, Integers]:
        """Positions of the ids of these questions, and for each which of them (0 is the first) it belongs to."""
        count = np.asarray(self._count)[questions]
        which = np.repeat(np.arange(len(questions)), count)
        before = np.cumsum(count) - count
        return np.arange(len(which)) + (self._first[questions] - before)[which], which

    @cached_property
    def strings(self) -> Strings:
        """All of them; none can be added any more.

        Raises:
            NotPlainError: One is unusually long.
        """
        self._read()
        length = np.asarray(self._length)
        if length.max(initial=0) > LONGEST:
            raise NotPlainError
        self._text += PADDING
        return Strings(self._text, np.cumsum(length, dtype=np.int32) - length, length)

    @cached_property
    def _first(self) -> Integers:
        count = np.asarray(self._count, dtype=np.int64)
        return np.cumsum(count) - count

    def _read(self) -> None:
        ids = list(chain.from_iterable(self._unread))
        text = "".join(ids)
        self._length.extend(map(len, ids if text.isascii() else map(str.encode, ids)))
        self._text += text.encode()
        self._unread.clear()


class Seen(Struct, frozen=True):
    """What was seen in a block of rankings; the judged ids come in no particular order.

    Attributes:
        ranking: For each judged id that was found the position of the ranking within the block.
        rank: Its rank there, 1 is best.
        judged: Its position among all judged ids.
        repeating: The rankings in which an id stands twice; what was found there is left out.
    """

    ranking: Integers
    rank: Integers
    judged: Integers
    repeating: Integers


def look(block: Block, questions: Integers, judged: JudgedIds) -> Seen:
    """Find the judged ids of each ranking's question.

    Args:
        block: Some rankings.
        questions: For each ranking the number of its question in `judged`, negative where it has none there.
        judged: The judged ids.

    Raises:
        NotPlainError: Two strings have the same hash.
    """
    of_ranking = owner_hashes(len(questions))
    owners = np.repeat(np.arange(len(questions)), block.count + 1)
    scored = np.flatnonzero(questions >= 0)
    wanted, which = judged.select(questions[scored])
    ranking = scored[which]
    ids = judged.strings.at(wanted)
    longest = max(block.strings.longest, ids.longest)
    index = HashIndex(block.strings.hashes(of_ranking[owners], longest))
    place, found = index.find(ids.hashes(of_ranking[ranking], longest))
    ranking = ranking[found]
    if not (np.array_equal(owners[place], ranking) and block.strings.at(place).equal(ids.at(found))):
        raise NotPlainError
    rank = place - block.key[ranking]
    is_plain = np.ones(len(questions), dtype=np.bool_)
    is_plain[owners[index.repeated]] = False
    seen = is_plain[ranking] & (rank > 0)
    return Seen(ranking[seen], rank[seen], wanted[found[seen]], np.flatnonzero(~is_plain))
