"""What the context should have held: the gold of one question, piece by piece."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from befund.contract import QuestionFields
from befund.core.eligibility import Grades, gold_of
from befund.core.evidence_mapping import fold


class Wanted(Struct, frozen=True, kw_only=True):
    """One piece of gold: a passage that an expert marked, or a chunk named relevant.

    Attributes:
        id: Of the evidence, or the chunk.
        grade: Above 0.
        chunks: The chunks that hold it, as far as anybody said.
        document: The document it is in.
        quote: Its words, whitespace folded; None where they are not known.
        unmapped: Whether a mapping was given and lacks it.
    """

    id: str
    grade: float
    chunks: Sequence[str]
    document: str | None = None
    quote: str | None = None
    unmapped: bool = False


def wanted_of(
    question: QuestionFields, relevant: Grades | list[str], mapping: Mapping[str, list[str]] | None
) -> list[Wanted]:
    """The gold of a question, the highest grade first.

    Args:
        question: The question.
        relevant: Its chunks given directly.
        mapping: Evidence ids to chunk ids; None where nobody mapped anything.

    Raises:
        ContradictionError: As `befund.core.eligibility.gold_of`.
    """
    gold = gold_of(question, relevant, mapping or {})
    if not question.evidence:
        named = [Wanted(id=chunk, grade=grade, chunks=[chunk]) for chunk, grade in gold.grades.items() if grade > 0]
        return sorted(named, key=lambda wanted: -wanted.grade)
    found = {
        evidence.id: Wanted(
            id=evidence.id,
            grade=evidence.relevance,
            chunks=gold.evidence.get(evidence.id, []),
            document=evidence.document,
            quote=_words_of(evidence.quote),
            unmapped=mapping is not None and evidence.id in gold.unmapped,
        )
        for evidence in question.evidence
        if evidence.relevance > 0
    }
    return sorted(found.values(), key=lambda wanted: -wanted.grade)


def _words_of(quote: str | None) -> str | None:
    """A quote, folded; one of blanks, signs or what cannot be seen says nothing and can stand nowhere."""
    return fold(quote) if quote and any(character.isalnum() for character in quote) else None
