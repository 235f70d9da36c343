"""The rankings of one request."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import cast

from msgspec import Raw, Struct

from befund.contract import QuestionFields
from befund.core.decoding import escape
from befund.core.eligibility import Gold
from befund.core.errors import BefundError, ContradictionError, MalformedRequestError
from befund.core.retrieval.envelope import QuestionId, read_ranking
from befund.core.retrieval.ranking import Retrieved, Sighting, forbidden, sight
from befund.core.retrieval.scan import sightings

_NO_RANKING = Raw(b"[]")


class Look(Struct, frozen=True):
    """What a run shows for one question.

    Attributes:
        sighting: Where its judged chunks stand; None where the run has no ranking for it.
        ranking: The whole ranking; None where it was not needed, since nothing about it is remarkable.
        leaks: Retrieved chunks that the question's role may not read.
    """

    sighting: Sighting | None = None
    ranking: Retrieved | None = None
    leaks: list[str] = []


class Run:
    """Rankings by question.

    Args:
        rankings: The rankings, unread.
        in_full: Whether every ranking is to be read in full.
    """

    def __init__(self, rankings: dict[QuestionId, Raw], *, in_full: bool) -> None:
        self._rankings = cast(Mapping[str, Raw], rankings)
        self._in_full = in_full

    def look(self, questions: Sequence[tuple[QuestionFields, Gold]]) -> Iterator[Look]:
        """Look at the rankings of some questions, in their order.

        Raises:
            BefundError: A ranking does not decode, or contradicts itself.
        """
        raws = [self._rankings.get(question.id, _NO_RANKING) for question, _ in questions]
        seen: Sequence[Sighting | None] = [None] * len(raws)
        if not self._in_full:
            seen = sightings(raws, [list(gold.grades) for _, gold in questions])
        for (question, gold), raw, sighting in zip(questions, raws, seen, strict=True):
            if raw is _NO_RANKING:
                yield Look()
            elif sighting is not None and (question.role is None or not self.uses_roles):
                yield Look(sighting)
            else:
                ranking = self._read(question.id)
                yield Look(sight(ranking, gold.grades), ranking, self._leaks(question, ranking))

    @cached_property
    def uses_roles(self) -> bool:
        """Whether any chunk of any ranking says who may read it; from then on, one that does not is denied."""
        return any(b'"roles"' in bytes(raw) and read_ranking(raw).names_roles for raw in self._rankings.values())

    def _leaks(self, question: QuestionFields, ranking: Retrieved) -> list[str]:
        if question.role is None or not self.uses_roles:
            return []
        return forbidden(ranking, question.role)

    def count_unknown(self, known: Collection[str]) -> int:
        """How many rankings belong to none of the known questions.

        Raises:
            BefundError: One of them does not decode, or none of the rankings belongs to a known question.
        """
        unknown = [question for question in self._rankings if question not in known]
        for question in unknown:
            if not 1 <= len(question) <= 512:
                raise MalformedRequestError(
                    f"A key of retrieval.rankings has {len(question)} characters. Question ids have 1 to 512."
                )
            self._read(question)
        if unknown and len(unknown) == len(self._rankings):
            raise ContradictionError.at(
                "/retrieval/rankings",
                "no-known-question",
                f"None of the {len(unknown)} rankings belongs to a question of the data set (the first is for "
                f"{unknown[0]!r}). Check that both use the same question ids.",
            )
        return len(unknown)

    def _read(self, question: str) -> Retrieved:
        try:
            return read_ranking(self._rankings[question])
        except BefundError as error:
            error.move_below(f"/retrieval/rankings/{escape(question)}")
            raise
