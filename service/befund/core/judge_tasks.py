"""From what a caller sends to one answer to be judged, and from what a judge saw to a judgment."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from befund.contract import (
    Chunk,
    Content,
    ExpectedBehavior,
    JudgedClaim,
    JudgedFact,
    JudgeInfo,
    JudgeItem,
    JudgeStatus,
    Judgment,
    JudgmentRecord,
    JudgmentStatus,
)
from befund.core.access import roles_of
from befund.core.datasets import Placed
from befund.core.empty import is_wordless
from befund.core.errors import BefundError, ContradictionError, JudgeError
from befund.core.expected import refuse_wordless
from befund.core.families import SHARED_MODEL_FAMILY, share_a_family
from befund.core.injection import injection_flags
from befund.core.judged import NO_USAGE, Judged
from befund.core.judging import Item, Passage
from befund.core.retrieval.content import hash_of
from befund.core.retrieval.envelope import LazyQuestion, read_question
from befund.core.runs import JUDGMENT, Record

ACL_LEAK = "ACL_LEAK"


class Task(Struct, frozen=True):
    """One answer to be judged.

    Attributes:
        item: All that a judge may look at.
        sent: What the caller sent, completed from the data set.
        place: Its question in the data set; None where it belongs to none.
        fresh: Whether it is judged anew, whatever was judged before.
    """

    item: Item
    sent: JudgeItem
    place: Placed | None
    fresh: bool = False


class Outcome(Struct, frozen=True):
    """What came of one answer: a judgment or an error. `task` is None for one that could not be read."""

    task: Task | None
    judgment: Judgment | None = None
    error: BefundError | None = None


def task_of(sent: JudgeItem, place: Placed | None, *, fresh: bool = False) -> Task:
    """Complete what was sent from the question, and make of it what judges look at.

    Raises:
        ContradictionError: `question-missing`, `chunk-twice`.
    """
    known = sent if place is None else _completed(sent, read_question(Raw(place.question.json))[0])
    if not known.question:
        raise ContradictionError.at(
            "/question",
            "question-missing",
            "What was asked is not known. Send question, or question_id with a dataset whose texts are kept.",
        )
    _refuse_chunk_twice(known.context or ())
    refuse_wordless(sent)
    item = Item(
        question=known.question,
        answer=known.answer,
        expected_facts=known.expected_facts or (),
        reference_answers=known.reference_answers or (),
        context=None if known.context is None else [Passage(chunk.id, chunk.text) for chunk in known.context],
        expected_behavior=known.expected_behavior,
    )
    return Task(item, known, place, fresh)


def judgment_of(task: Task, judged: Judged, *, judge: JudgeInfo, id: str, latency_ms: float) -> Judgment:
    """The judgment as callers see it."""
    seen, verdicts = judged.observation, judged.verdicts
    return Judgment(
        correct=verdicts.correct.verdict,
        faithful=verdicts.faithful.verdict,
        behaved=verdicts.behaved.verdict,
        status=JudgmentStatus(
            correct=verdicts.correct.status, faithful=verdicts.faithful.status, behaved=verdicts.behaved.status
        ),
        reason=seen.reason,
        facts=[JudgedFact(**msgspec.structs.asdict(fact)) for fact in seen.facts],
        claims=[JudgedClaim(**msgspec.structs.asdict(claim)) for claim in seen.claims],
        observed_behavior=seen.observed_behavior,
        agreement=judged.agreement,
        flags=list(dict.fromkeys((*seen.flags, *_flags(task, judge.models)))),
        judge=judge,
        usage=judged.usage,
        cached=judged.cached,
        latency_ms=latency_ms,
        id=id,
        decided_by=judged.decided_by,
        confidence=judged.confidence,
    )


def failed_judgment(task: Task, error: BefundError, *, judge: JudgeInfo, id: str) -> Judgment:
    """What a run keeps of an answer that got no judgment: what was to be judged is `failed`, and nothing more known."""
    item = task.item
    return Judgment(
        correct=None,
        faithful=None,
        behaved=None,
        status=JudgmentStatus(
            correct=_failed(bool(item.expected_facts or item.reference_answers)),
            faithful=_failed(item.context_is_known),
            behaved=_failed(item.expected_behavior is not None),
        ),
        reason=f"No verdict ({error.code}). {error.detail}",
        facts=[],
        claims=[],
        observed_behavior=None,
        agreement=0.0,
        flags=list(dict.fromkeys(_flags(task, judge.models))),
        judge=judge,
        usage=(error.usage if isinstance(error, JudgeError) else None) or NO_USAGE,
        cached=False,
        latency_ms=0.0,
        id=id,
    )


def record_of(task: Task, judgment: Judgment, *, content: Content) -> Record:
    """What a run keeps of a judgment; the task belongs to a question of its data set."""
    assert task.place is not None  # noqa: S101 - runs take no others
    sent, kept = task.sent, judgment
    context = sent.context
    if content == "ids":
        kept = without_texts(judgment)
        context = None if context is None else [Chunk(id=chunk.id) for chunk in context]
    record = JudgmentRecord(
        judgment=kept,
        answer=sent.answer if content == "full" else None,
        context=context,
        expected_behavior=sent.expected_behavior,
        generation=sent.generation,
        judged=hash_of_judged(task.item) if content == "full" else None,
    )
    question = task.place.question
    return Record(
        question_id=question.id,
        question_hash=question.hash,
        position=task.place.position,
        part=JUDGMENT,
        json=msgspec.json.encode(record),
    )


def hash_of_judged(item: Item) -> str:
    """The same for the very same question, answer, context and ground truth."""
    return hash_of(item)


def leaks(context: Sequence[Chunk], role: str | None) -> list[str]:
    """The chunks that this role may not read; once one names roles, a chunk without any is denied.

    >>> leaks([Chunk(id="a", metadata={"roles": ["staff"]}), Chunk(id="b")], "partner")
    ['a', 'b']
    >>> leaks([Chunk(id="a"), Chunk(id="b")], "partner"), leaks([Chunk(id="a", metadata={"roles": "staff"})], None)
    ([], [])
    """
    roles = [roles_of(chunk.metadata) for chunk in context]
    if role is None or all(named is None for named in roles):
        return []
    return [chunk.id for chunk, named in zip(context, roles, strict=True) if named is None or role not in named]


def _failed(is_evaluable: bool) -> JudgeStatus:
    return "failed" if is_evaluable else "not_evaluable"


def _completed(sent: JudgeItem, question: LazyQuestion) -> JudgeItem:
    behavior: ExpectedBehavior = question.expected_behavior
    return msgspec.structs.replace(
        sent,
        question=question.question if sent.question is None else sent.question,
        expected_facts=_worded(question.expected_facts) if sent.expected_facts is None else sent.expected_facts,
        reference_answers=(
            _worded(question.reference_answers) if sent.reference_answers is None else sent.reference_answers
        ),
        expected_behavior=behavior if sent.expected_behavior is None else sent.expected_behavior,
        role=question.role if sent.role is None else sent.role,
    )


def _worded(texts: Sequence[str]) -> list[str]:
    """What a stored question expects: data sets that are stored longer than it is refused may hold blank texts."""
    return [text for text in texts if not is_wordless(text)]


def _refuse_chunk_twice(context: Sequence[Chunk]) -> None:
    seen: set[str] = set()
    for i, chunk in enumerate(context):
        if chunk.id in seen:
            raise ContradictionError.at(
                f"/context/{i}/id", "chunk-twice", f"Chunk {chunk.id!r} is given twice. Give every chunk its own id."
            )
        seen.add(chunk.id)


def _flags(task: Task, models: Sequence[str]) -> list[str]:
    generator = task.sent.generation.model if task.sent.generation else None
    flags = list(injection_flags(task.item))
    if leaks(task.sent.context or (), task.sent.role):
        flags.append(ACL_LEAK)
    if any(share_a_family(model, generator) for model in models):
        flags.append(SHARED_MODEL_FAMILY)
    return flags


def without_texts(judgment: Judgment) -> Judgment:
    """The judgment with its verdicts and ids alone: no fact, claim, quote or reason."""
    return msgspec.structs.replace(
        judgment,
        reason="",
        facts=[msgspec.structs.replace(fact, fact="", quote=None) for fact in judgment.facts],
        claims=[msgspec.structs.replace(claim, claim="", quote=None) for claim in judgment.claims],
    )
