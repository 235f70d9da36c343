"""From what an expert marked to chunk ids, and which questions can be scored on retrieval at all."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from befund.contract import Exclusion, QuestionFields
from befund.core.errors import ContradictionError

ANY_POSITIVE_GRADE = math.ulp(0.0)
"""The relevance level at which every grade above 0 counts as relevant."""

Grades = Mapping[str, float]
Mapped = Mapping[str, list[str]]


class Gold(Struct, frozen=True, gc=False):
    """What is known to be right for one question, in chunk ids.

    Attributes:
        grades: The grade of every judged chunk; of several evidences on one chunk the highest.
        evidence: The chunks of each relevant piece of evidence; empty where chunks were named directly.
        unmapped: Evidence of a grade above 0 that maps to no chunk.
    """

    grades: Grades
    evidence: Mapped = MappingProxyType({})
    unmapped: Sequence[str] = ()

    def items(self, relevance_level: float) -> Mapped:
        """What level `evidence` scores: each relevant evidence with its chunks; a chunk named directly is its own."""
        return self.evidence or {chunk: [chunk] for chunk in self.relevant(relevance_level)}

    def relevant(self, relevance_level: float) -> list[str]:
        """The relevant chunks, in the order they were given."""
        return [chunk for chunk, grade in self.grades.items() if grade >= relevance_level]


def gold_of(
    question: QuestionFields,
    relevant: Grades | list[str],
    evidence_mapping: Mapped,
    *,
    relevance_level: float = ANY_POSITIVE_GRADE,
) -> Gold:
    """Resolve a question's gold to chunk ids.

    Args:
        question: The question; its `evidence` and `non_relevant` are read.
        relevant: Its chunk ids given directly: with grades, or as a list (grade 1 each).
        evidence_mapping: Evidence ids to chunk ids.
        relevance_level: The grade from which evidence counts as relevant.

    Raises:
        ContradictionError: Evidence and relevant chunks are both given, one evidence has two grades, or a chunk is both
            relevant and non_relevant.
    """
    if question.evidence and relevant:
        raise ContradictionError.at(
            "/relevant",
            "gold-given-twice",
            f"Question {question.id!r} has both evidence and relevant. Give its gold one way.",
        )
    if question.evidence:
        gold = _from_evidence(question, evidence_mapping, relevance_level)
    else:
        grades = dict.fromkeys(relevant, 1.0) if isinstance(relevant, list) else relevant
        gold = Gold(grades)
    return _with_non_relevant(gold, question) if question.non_relevant else gold


def exclusion_of(
    question: QuestionFields, gold: Gold, *, index: frozenset[str] | None, relevance_level: float = ANY_POSITIVE_GRADE
) -> Exclusion | None:
    """Why a question cannot be scored on retrieval; the first reason wins, None where it can.

    Args:
        question: The question.
        gold: Its gold.
        index: The chunk ids that the index holds; None where that is not known.
        relevance_level: The grade from which a chunk counts as relevant.
    """
    if question.expected_behavior != "answer":
        return "behavior"
    if gold.unmapped:
        return "mapping"
    for grade in gold.grades.values():
        if grade >= relevance_level:
            break
    else:
        return "ground_truth"
    if index is not None and not index.issuperset(gold.relevant(ANY_POSITIVE_GRADE)):
        return "index"
    return None


def _from_evidence(question: QuestionFields, evidence_mapping: Mapped, relevance_level: float) -> Gold:
    graded: dict[str, float] = {}
    grades: dict[str, float] = {}
    chunks_of: dict[str, list[str]] = {}
    for i, evidence in enumerate(question.evidence):
        if graded.setdefault(evidence.id, evidence.relevance) != evidence.relevance:
            raise ContradictionError.at(
                f"/evidence/{i}",
                "graded-twice",
                f"Evidence {evidence.id!r} of question {question.id!r} has two grades, {graded[evidence.id]:g} and "
                f"{evidence.relevance:g}. Keep one.",
            )
        chunks = evidence_mapping.get(evidence.id, [])
        for chunk in chunks:
            grades[chunk] = max(grades.get(chunk, evidence.relevance), evidence.relevance)
        if evidence.relevance >= relevance_level:
            chunks_of[evidence.id] = chunks
    unmapped = [name for name, grade in graded.items() if grade > 0 and not evidence_mapping.get(name)]
    return Gold(grades, {evidence: chunks for evidence, chunks in chunks_of.items() if chunks}, unmapped)


def _with_non_relevant(gold: Gold, question: QuestionFields) -> Gold:
    for i, chunk in enumerate(question.non_relevant):
        if gold.grades.get(chunk, 0) > 0:
            raise ContradictionError.at(
                f"/non_relevant/{i}",
                "relevant-and-not",
                f"Chunk {chunk!r} is both relevant and non_relevant for question {question.id!r}. Keep one of the two.",
            )
    return Gold(dict.fromkeys(question.non_relevant, 0.0) | dict(gold.grades), gold.evidence, gold.unmapped)
