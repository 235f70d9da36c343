"""What came back for one question, in rank order, and who may read it."""

from collections import Counter
from collections.abc import Collection
from itertools import pairwise

from msgspec import Struct

from befund.contract import Ranking


class Retrieved(Struct, frozen=True):
    """A ranking in rank order.

    Attributes:
        ids: Chunk ids, best first.
        roles: For each chunk the roles that may read it, None where it names none; None where no chunk was asked.
        ordered: Whether the scores fall (or are absent) down the list.
        tied: Whether a sort by score met equal scores, so that the order fell back on the ids.
    """

    ids: list[str]
    roles: list[list[str] | None] | None = None
    ordered: bool = True
    tied: bool = False

    @property
    def names_roles(self) -> bool:
        """Whether any chunk says who may read it."""
        return self.roles is not None and any(roles is not None for roles in self.roles)


class Sighting(Struct, frozen=True):
    """Where the judged chunks of a question stand in its ranking.

    Attributes:
        returned: How many chunks came back.
        found: The judged chunks among them.
        ranks: The rank of each of these, 1 is best; an id that came back twice has its first.
    """

    returned: int
    found: list[str]
    ranks: list[int]


NOTHING_RETRIEVED = Sighting(0, [], [])


def sight(ranking: Retrieved, judged: Collection[str]) -> Sighting:
    """Look for the judged chunks in a ranking.

    >>> sight(Retrieved(["a", "b", "a", "c"]), ["a", "c", "d"])
    Sighting(returned=4, found=['a', 'c'], ranks=[1, 4])
    """
    first = {chunk: rank for rank, chunk in zip(range(len(ranking.ids), 0, -1), reversed(ranking.ids), strict=True)}
    found = [chunk for chunk in judged if chunk in first]
    return Sighting(len(ranking.ids), found, [first[chunk] for chunk in found])


def in_rank_order(ranking: Ranking) -> Retrieved:
    """Put a ranking into rank order.

    A list already is, whatever its scores say (a distance sorts the other way); an `{id: score}` map is sorted by
    score, then id, both descending, as trec_eval does.

    >>> in_rank_order({"a": 0.5, "b": 0.9, "c": 0.5}).ids
    ['b', 'c', 'a']
    """
    if isinstance(ranking, dict):
        ids = sorted(ranking, key=lambda item: (ranking[item], item), reverse=True)
        return Retrieved(ids, tied=len(set(ranking.values())) < len(ranking))
    scores = [entry.score for entry in ranking if not isinstance(entry, str) and entry.score is not None]
    return Retrieved(
        [entry if isinstance(entry, str) else entry.id for entry in ranking],
        roles=[None if isinstance(entry, str) else entry.roles for entry in ranking],
        ordered=all(above >= below for above, below in pairwise(scores)),
    )


def forbidden(ranking: Retrieved, role: str) -> list[str]:
    """The chunks that `role` may not read, best first, in a run that uses roles: one without any is denied.

    >>> forbidden(Retrieved(["a", "b", "c"], roles=[["partner", "staff"], ["staff"], None]), "partner")
    ['b', 'c']
    """
    roles = ranking.roles or [None] * len(ranking.ids)
    denied = [chunk for chunk, allowed in zip(ranking.ids, roles, strict=True) if role not in (allowed or ())]
    return list(dict.fromkeys(denied))


def without_roles(ranking: Retrieved, chunks: Collection[str]) -> int:
    """How many of these retrieved chunks name no role.

    >>> without_roles(Retrieved(["a", "b", "c"], roles=[["staff"], [], None]), ["a", "b", "c"])
    2
    """
    roles = ranking.roles or [None] * len(ranking.ids)
    return len({chunk for chunk, named in zip(ranking.ids, roles, strict=True) if not named}.intersection(chunks))


def repeated(ranking: Retrieved) -> list[str]:
    """The ids that came back more than once.

    >>> repeated(Retrieved(["a", "b", "a", "a"]))
    ['a']
    """
    if len(set(ranking.ids)) == len(ranking.ids):
        return []
    return [chunk for chunk, times in Counter(ranking.ids).items() if times > 1]
