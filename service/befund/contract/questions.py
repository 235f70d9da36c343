"""Questions, evidence and data sets as callers send them."""

from collections.abc import Sequence
from typing import Any, Literal

from befund.contract.base import Id, Name, Request, Tag

ExpectedBehavior = Literal["answer", "clarify", "no_answer", "deny"]


class Evidence(Request, frozen=True, kw_only=True):
    """A passage that a subject expert marked as holding the answer.

    Attributes:
        id: What `evidence_mapping` maps to chunks.
        relevance: The grade: above 0 relevant, 0 or less judged and not relevant.
        document: The document the passage is in.
        quote: The passage, word for word.
    """

    id: Id
    relevance: float = 1.0
    document: Id | None = None
    quote: str | None = None


class QuestionFields(Request, frozen=True, kw_only=True):
    """Everything about a question except its two maps.

    Attributes:
        question: Its text.
        expected_behavior: What a good answer does; only questions to be answered are scored.
        expected_facts: What the answer must state, all of it.
        reference_answers: Alternatives, any one of which suffices.
        evidence: The passages that hold the answer; instead of `relevant`.
        non_relevant: Chunks known to be false positives: judged, and reported where they come back.
        tags: Each tag is a slice of the answer.
        critical: Whether a failure here weighs more than others.
        role: Who asks. Chunks this role may not read are reported as access leaks.
        split: The part of the data set the question belongs to.
    """

    id: Id
    question: str
    expected_behavior: ExpectedBehavior = "answer"
    expected_facts: Sequence[str] = ()
    reference_answers: Sequence[str] = ()
    evidence: Sequence[Evidence] = ()
    non_relevant: Sequence[Id] = ()
    tags: Sequence[Tag] = ()
    critical: bool = False
    role: Id | None = None
    split: Tag | None = None


class Question(QuestionFields, frozen=True, kw_only=True):
    """A question with what is true about it.

    Gold is given either as `evidence`, mapped to chunks by the data set's `evidence_mapping`, or as `relevant`.

    Attributes:
        relevant: The chunks that hold the answer: ids with grades, or a plain list of ids (grade 1 each). Above 0 is
            relevant, 0 or less judged and not relevant.
        metadata: Anything; part of the question's content hash, otherwise not looked at.
    """

    relevant: dict[Id, float] | list[Id] = {}
    metadata: dict[str, Any] = {}


class Dataset(Request, frozen=True, kw_only=True):
    """Questions, and the mapping of their evidence ids to the chunk ids of one index.

    Attributes:
        evidence_mapping: By evidence id the chunks that hold the passage.
        generated: Whether a model wrote the questions, which is then a finding.
    """

    questions: list[Question]
    name: Name | None = None
    evidence_mapping: dict[Id, list[Id]] = {}
    generated: bool = False
