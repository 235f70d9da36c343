"""The rankings of one request."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import cast

from msgspec import Raw, Struct

from befund.contract import QuestionFields
from befund.core.decoding import escape
from befund.core.eligibility import Gold
from befund.core.errors import BefundError, ContradictionError, MalformedRequestError
from befund.core.retrieval.envelope import QuestionId, read_ranking
from befund.core.retrieval.ranking import Retrieved, Sighting, forbidden, sight


class Look(Struct, frozen=True):
    """What a run shows for one question.

    Attributes:
        sighting: Where its judged chunks stand; None where the run has no ranking for it.
        ranking: The whole ranking, where there is one.
        leaks: Retrieved chunks that the question's role may not read.
    """

    sighting: Sighting | None = None
    ranking: Retrieved | None = None
    leaks: list[str] = []


class Run:
    """Rankings by question, unread; `pointer` is where they stand in the request."""

    def __init__(self, rankings: dict[QuestionId, Raw], *, pointer: str = "/retrieval/rankings") -> None:
        self._rankings = cast(Mapping[str, Raw], rankings)
        self._pointer = pointer

    def __contains__(self, question: str) -> bool:
        return question in self._rankings

    def look(self, question: QuestionFields, gold: Gold) -> Look:
        """Read the ranking of one question.

        Raises:
            BefundError: It does not decode, or contradicts itself.
        """
        if question.id not in self._rankings:
            return Look()
        ranking = self._read(question.id)
        forbidden_to = question.role if self.uses_roles else None
        leaks = [] if forbidden_to is None else forbidden(ranking, forbidden_to)
        return Look(sight(ranking, gold.grades), ranking, leaks)

    @cached_property
    def uses_roles(self) -> bool:
        """Whether any chunk of any ranking says who may read it; from then on, one that does not is denied."""
        return any(
            _may_name_roles(bytes(raw)) and self._read(question).names_roles for question, raw in self._rankings.items()
        )

    def unknown(self, known: Collection[str]) -> list[str]:
        """The ids under which rankings belong to none of the known questions.

        Raises:
            BefundError: One of them does not decode, or none of the rankings belongs to a known question.
        """
        unknown = [question for question in self._rankings if question not in known]
        for question in unknown:
            if not 1 <= len(question) <= 512:
                raise MalformedRequestError(
                    f"A question id of {len(question)} characters", "Ids have 1 to 512.", pointer=self._pointer
                )
            self._read(question)
        if unknown and len(unknown) == len(self._rankings):
            raise ContradictionError.at(
                self._pointer,
                "no-known-question",
                f"No ranking belongs to a question of the data set ({len(unknown)} given, the first for "
                f"{unknown[0]!r}). Check that both use the same question ids.",
            )
        return unknown

    def _read(self, question: str) -> Retrieved:
        try:
            return read_ranking(self._rankings[question])
        except BefundError as error:
            error.move_below(f"{self._pointer}/{escape(question)}")
            raise


def _may_name_roles(ranking: bytes) -> bool:
    return b'"roles"' in ranking or b"\\u" in ranking  # a key may be written with escapes
