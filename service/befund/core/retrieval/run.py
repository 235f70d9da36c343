"""The rankings of one request."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import cast

from msgspec import Raw

from befund.core.decoding import escape
from befund.core.errors import BefundError, ContradictionError, MalformedRequestError
from befund.core.retrieval.envelope import LazyQuestion, QuestionId, read_ranking
from befund.core.retrieval.ranking import Retrieved, forbidden


class Run:
    """Rankings by question, read one at a time."""

    def __init__(self, rankings: dict[QuestionId, Raw]) -> None:
        self._rankings = cast(Mapping[str, Raw], rankings)

    def ranking_of(self, question: str) -> Retrieved | None:
        """The ranking of a question; None where the run has none.

        Raises:
            BefundError: It does not decode, or contradicts itself.
        """
        raw = self._rankings.get(question)
        if raw is None:
            return None
        try:
            return read_ranking(raw)
        except BefundError as error:
            error.move_below(f"/retrieval/rankings/{escape(question)}")
            raise

    @cached_property
    def uses_roles(self) -> bool:
        """Whether any chunk of any ranking says who may read it; from then on, one that does not is denied."""
        return any(b'"roles"' in bytes(raw) and read_ranking(raw).names_roles for raw in self._rankings.values())

    def leaks(self, question: LazyQuestion, ranking: Retrieved) -> list[str]:
        """The retrieved chunks that the question's role may not read."""
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
            self.ranking_of(question)
        if unknown and len(unknown) == len(self._rankings):
            raise ContradictionError.at(
                "/retrieval/rankings",
                "no-known-question",
                f"None of the {len(unknown)} rankings belongs to a question of the data set (the first is for "
                f"{unknown[0]!r}). Check that both use the same question ids.",
            )
        return len(unknown)
