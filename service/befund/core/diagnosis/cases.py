"""From what a caller sends to one case to be diagnosed: its gold, its context, its retrieval."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import Raw, Struct

from befund.contract import (
    Content,
    DiagnoseBatchOptions,
    DiagnoseItem,
    Diagnosis,
    DiagnosisRecord,
    ExpectedBehavior,
    Judgment,
    QuestionFields,
    RankingEntry,
)
from befund.core.diagnosis.evidence import Sought
from befund.core.diagnosis.gold import wanted_of
from befund.core.diagnosis.held import NOTHING, Held
from befund.core.diagnosis.trace import Recorded
from befund.core.eligibility import Grades
from befund.core.errors import BefundError, ContradictionError
from befund.core.evidence_mapping import fold
from befund.core.judge_tasks import Outcome, Task, without_texts
from befund.core.judging import Passage
from befund.core.retrieval.envelope import LazyQuestion, read_question
from befund.core.runs import DIAGNOSIS, Record

USUAL_TOP_K = 10
"""Where neither top_k nor a ranking nor a context says how many chunks retrieval gives."""


class Case(Struct, frozen=True, kw_only=True):
    """One answer to be diagnosed.

    Attributes:
        task: The answer as judges see it; `task.sent` is what the caller sent, completed.
        sent: The same, with what only a diagnosis looks at.
        sought: What is looked for in the context.
        context: What the generator received; None where that is not known.
        recorded: What is known of the answer's own retrieval.
        k: How many chunks retrieval gives.
        where: The filter of the search.
    """

    task: Task
    sent: DiagnoseItem
    sought: Sought
    context: Sequence[Passage] | None
    recorded: Recorded
    k: int
    where: Mapping[str, Any] | None

    @property
    def expected(self) -> ExpectedBehavior:
        """What should have been done; an answer, where nobody said otherwise."""
        return self.sent.expected_behavior or "answer"

    @property
    def has_truth(self) -> bool:
        """Whether anything says what a right answer states."""
        return bool(self.task.item.expected_facts or self.task.item.reference_answers)


class Diagnosed(Struct, frozen=True):
    """What came of one answer: a diagnosis or an error.

    Attributes:
        task: What was judged; None for an answer that could not be read.
        sent: What the caller sent, completed from the data set.
        diagnosis: The diagnosis.
        judged: What the judge gave; None where it was not asked.
        error: Why there is no diagnosis.
    """

    task: Task | None = None
    sent: DiagnoseItem | None = None
    diagnosis: Diagnosis | None = None
    judged: Outcome | None = None
    error: BefundError | None = None


def with_options(item: DiagnoseItem, options: DiagnoseBatchOptions) -> DiagnoseItem:
    """The item with what holds for all, where it says nothing itself."""
    names = ("collection", "top_k", "where", "embedder")
    given = {name: getattr(options, name) for name in names if getattr(item, name) is None}
    return msgspec.structs.replace(item, **given)


def case_of(task: Task, mapping: Mapping[str, list[str]] | None, held: Held = NOTHING) -> Case:
    """Resolve the gold of an answer.

    Args:
        task: The answer, its `sent` a `DiagnoseItem`.
        mapping: That of the data set, where nothing else was sent; one that is empty maps nothing, and quotes are
            looked for.
        held: What the run already holds about the question; what was sent wins.

    Raises:
        ContradictionError: The gold contradicts itself, or a judgment that was sent does.
    """
    sent = task.sent
    if not isinstance(sent, DiagnoseItem):
        raise TypeError("only items of a diagnosis are diagnosed")
    if sent.judgment is not None:
        refuse_unearned(sent.judgment)
    question, relevant = _question(task, sent)
    own = sent.evidence_mapping if sent.evidence_mapping is not None else mapping or None
    wanted = wanted_of(question, relevant, own)
    context = task.item.context
    retrieved = held.ranking if sent.retrieved is None else [_id(entry) for entry in sent.retrieved]
    told = sent.top_k or (held.top_k if sent.retrieved is None else None) or len(retrieved or ())
    k = told or len(context or ()) or USUAL_TOP_K
    texts = {each.id: None if each.text is None else fold(each.text) for each in sent.context or ()}
    return Case(
        task=task,
        sent=sent,
        sought=Sought(
            question=task.item.question,
            facts=[fact for fact in task.item.expected_facts if fact.strip()],
            wanted=wanted,
            false_positives=frozenset(question.non_relevant),
        ),
        context=context,
        recorded=Recorded(context=texts, retrieved=retrieved, k=k, k_is_told=bool(told)),
        k=k,
        where=held.where if sent.where is None and sent.collection == held.collection else sent.where,
    )


def refuse_unearned(judgment: Judgment) -> None:
    """Refuse a judgment whose verdicts its own facts, claims or status deny.

    Raises:
        ContradictionError: `contradictory-judgment`.
    """
    for dimension in ("correct", "faithful", "behaved"):
        verdict, status = getattr(judgment, dimension), getattr(judgment.status, dimension)
        if (verdict is None) == (status == "scored"):
            said = "no verdict" if verdict is None else str(verdict).lower()
            _refuse_judgment(dimension, f"{said}, and its status is {status!r}")
    if judgment.correct and any(fact.verdict != "stated" for fact in judgment.facts):
        _refuse_judgment("correct", "true, and a fact of it is not stated")
    if judgment.faithful and any(claim.verdict != "supported" for claim in judgment.claims):
        _refuse_judgment("faithful", "true, and a claim of it is not supported")


def _refuse_judgment(dimension: str, what: str) -> NoReturn:
    detail = f"The judgment contradicts itself: {dimension} is {what}. Send it as /judge gave it, or leave it out."
    raise ContradictionError.at(f"/judgment/{dimension}", "contradictory-judgment", detail)


def record_of(case: Case, diagnosis: Diagnosis, *, judged: bool, content: Content) -> Record:
    """What a run keeps of a diagnosis; the case belongs to a question of its data set.

    Args:
        case: The case.
        diagnosis: What became of it.
        judged: Whether the run holds the judgment by itself.
        content: Whether texts are kept.
    """
    assert case.task.place is not None  # noqa: S101 - runs take no others
    kept = msgspec.structs.replace(diagnosis, judgment=None) if judged else diagnosis
    sent, question = case.sent, case.task.place.question
    found = DiagnosisRecord(
        diagnosis=kept if content == "full" else _without_texts(kept),
        answer=sent.answer if content == "full" else None,
        context=None if sent.context is None else [chunk.id for chunk in sent.context],
        retrieved=None if sent.retrieved is None else [_id(entry) for entry in sent.retrieved],
        collection=sent.collection,
        top_k=case.k if case.recorded.k_is_told else None,
        where=None if case.where is None else dict(case.where),
    )
    return Record(
        question_id=question.id,
        question_hash=question.hash,
        position=case.task.place.position,
        part=DIAGNOSIS,
        json=msgspec.json.encode(found),
    )


def _question(task: Task, sent: DiagnoseItem) -> tuple[QuestionFields, Grades | list[str]]:
    """The question with its gold: what was sent with the answer wins over what the data set says."""
    stored: tuple[LazyQuestion, Grades | list[str]] | None = None
    if task.place is not None:
        stored = read_question(Raw(task.place.question.json))
    known, relevant = stored or (QuestionFields(id=sent.question_id or "inline", question=task.item.question), {})
    sends_gold = sent.evidence is not None or sent.relevant is not None
    return (
        QuestionFields(
            id=known.id,
            question=task.item.question,
            evidence=sent.evidence or () if sends_gold else known.evidence,
            non_relevant=known.non_relevant if sent.non_relevant is None else sent.non_relevant,
        ),
        sent.relevant or {} if sends_gold else relevant,
    )


def _id(entry: str | RankingEntry) -> str:
    return entry if isinstance(entry, str) else entry.id


def _without_texts(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis with its classes, ids, ranks and figures alone: no fact, passage or reason."""
    replace = msgspec.structs.replace
    causes = [replace(cause, detail="", passage=None) for cause in diagnosis.contributing]
    return replace(
        diagnosis,
        cause=None if diagnosis.cause is None else replace(diagnosis.cause, detail="", passage=None),
        contributing=causes,
        stages=[replace(stage, detail=None) for stage in diagnosis.stages],
        facts=[replace(fact, fact="", passage=None) for fact in diagnosis.facts],
        notes=[],
        judgment=None if diagnosis.judgment is None else without_texts(diagnosis.judgment),
    )
