"""The diagnosis of one answer: its class by a truth table, its cause by the earliest stage that failed."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from befund.contract import (
    Cause,
    Diagnosis,
    DiagnosisClass,
    EvidenceSeen,
    ExpectedBehavior,
    FactSeen,
    Stage,
)
from befund.core.diagnosis.evidence import Evidence, Reading
from befund.core.diagnosis.generation import (
    Said,
    addition_cause,
    unsupported_cause,
    without_evidence_causes,
    wrong_answer_causes,
)
from befund.core.diagnosis.next_steps import next_step
from befund.core.diagnosis.trace import Recorded, Trace
from befund.core.diagnosis.verdicts import answer_stage, behavior_stage, support_stage
from befund.core.diagnosis.walk import TO_CONTEXT, Walk, walk
from befund.core.diagnosis.wording import several

_CLASSES: Mapping[tuple[bool, bool], DiagnosisClass] = {
    (True, True): "SUCCESS",
    (False, False): "RETRIEVAL_FAILURE",
    (True, False): "GENERATION_FAILURE",
    (False, True): "UNSUPPORTED_CORRECT_ANSWER",
}


class Examined(Struct, frozen=True, kw_only=True):
    """One answer with everything that was looked at.

    Attributes:
        question_id: The question.
        expected: What should have been done.
        has_truth: Whether anything says what a right answer states.
        said: The answer and its judgment.
        recorded: What is known of the answer's own retrieval.
        traces: What the index says of the gold; None where nobody looked.
        quotes: What the rules see of the facts in the quotes of the gold.
        leaks: Chunks of the context that the role may not read.
        notes: What a reader should know beside.
    """

    question_id: str | None
    expected: ExpectedBehavior
    has_truth: bool
    said: Said
    recorded: Recorded
    traces: Mapping[str, Trace] | None = None
    quotes: Sequence[Reading] = ()
    leaks: Sequence[str] = ()
    notes: Sequence[str] = ()


def class_of(evidence_present: bool | None, correct: bool | None) -> DiagnosisClass:
    """The truth table (contract section 5).

    >>> class_of(True, False), class_of(False, None)
    ('GENERATION_FAILURE', 'NOT_EVALUABLE')
    """
    if evidence_present is None or correct is None:
        return "NOT_EVALUABLE"
    return _CLASSES[evidence_present, correct]


def diagnose(examined: Examined) -> Diagnosis:
    """Say what became of an answer, and why."""
    if examined.expected != "answer":
        return _of_behavior(examined)
    evidence, judgment = examined.said.evidence, examined.said.judgment
    found = class_of(evidence.present, judgment.correct)
    walked = walk(evidence, examined.traces, examined.recorded, examined.quotes)
    causes = [*_causes(found, examined, walked), *_leak_causes(examined)]
    cause = None if found == "SUCCESS" and judgment.faithful is not False else next(iter(causes), None)
    ends = (answer_stage(judgment, examined.said.error), support_stage(judgment))
    stages = [*_truth(examined, walked), *ends]
    return _diagnosis(examined, found, cause, [each for each in causes if each is not cause], stages)


def _causes(found: DiagnosisClass, examined: Examined, walked: Walk) -> list[Cause]:
    said = examined.said
    addition = addition_cause(said.judgment)
    match found:
        case "SUCCESS":
            return [addition] if addition else []
        case "GENERATION_FAILURE":
            causes = wrong_answer_causes(said)
            told = {cause.code for cause in causes}
            beside = addition is not None and told <= {"OMISSION"}
            return [*causes, addition] if addition and beside else causes
        case "RETRIEVAL_FAILURE":
            return [*walked.causes, *without_evidence_causes(said)]
        case "UNSUPPORTED_CORRECT_ANSWER":
            return [*walked.causes, unsupported_cause(said)]
        case "NOT_EVALUABLE":
            return _not_evaluable(examined, walked)


def _not_evaluable(examined: Examined, walked: Walk) -> list[Cause]:
    said, evidence = examined.said, examined.said.evidence
    if not examined.has_truth and said.judgment.correct is None:
        detail = "neither expected_facts nor reference_answers say what a right answer states"
        return [Cause(code="NO_GROUND_TRUTH", detail=detail, confidence="measured")]
    if walked.causes:
        return [*walked.causes]
    if evidence.present is None and not examined.said.gold_chunks and not evidence.gold:
        detail = "no evidence or relevant chunk is known, and the context has no text to look for the facts in"
        return [Cause(code="NO_GROUND_TRUTH", detail=detail, confidence="measured")]
    if evidence.present is None:
        detail = "what the generator received is not known, for there is no context"
    else:
        detail = f"the judge reached no verdict on the answer ({said.judgment.status.correct})"
    return [Cause(code="UNKNOWN", detail=detail, confidence="inferred")]


def _of_behavior(examined: Examined) -> Diagnosis:
    """Of a question that is not to be answered: whether it was, and whether forbidden content was at hand."""
    judgment = examined.said.judgment
    leaks = _leak_causes(examined)
    found: DiagnosisClass = "SUCCESS" if judgment.behaved else "GENERATION_FAILURE"
    causes = leaks
    if judgment.behaved is None:
        found = "NOT_EVALUABLE"
        detail = f"the judge reached no verdict on the behaviour ({judgment.status.behaved})"
        causes = [Cause(code="UNKNOWN", detail=detail, confidence="inferred"), *leaks]
    elif not judgment.behaved:
        causes = [*leaks, _misbehavior(examined)]
    cause = None if found == "SUCCESS" else causes[0]
    stages = [Stage(stage="ground_truth", state="ok")]
    stages += [Stage(stage=name, state="skipped") for name in TO_CONTEXT[1:-1]]
    known = examined.said.evidence.present is not None or bool(examined.recorded.context)
    stages.append(
        Stage(stage="context", state="failed", detail=leaks[0].detail)
        if leaks
        else Stage(stage="context", state="ok" if known else "skipped")
    )
    stages += [behavior_stage(judgment.behaved, _misbehavior(examined).detail), support_stage(judgment)]
    return _diagnosis(examined, found, cause, [each for each in causes if each is not cause], stages)


def _misbehavior(examined: Examined) -> Cause:
    said, judgment, expected = examined.said, examined.said.judgment, examined.expected
    if said.error or "EMPTY_ANSWER" in judgment.flags:
        detail = f"the generator failed: {said.error}" if said.error else "the answer is empty"
        return Cause(code="GENERATION_ERROR", detail=detail, confidence="measured" if said.error else "inferred")
    if judgment.observed_behavior == "answer":
        detail = f"{expected} was expected, and the question was answered"
        return Cause(code="ANSWERED_ANYWAY", detail=detail, confidence="measured")
    detail = f"{expected} was expected, and the answer does this: {judgment.observed_behavior}"
    return Cause(code="WRONG_REFUSAL", detail=detail, confidence="measured")


def _leak_causes(examined: Examined) -> list[Cause]:
    if not examined.leaks:
        return []
    detail = f"the context holds {several(examined.leaks)}, which the role that asks may not read"
    return [Cause(code="ACCESS_LEAK", detail=detail, confidence="measured", chunk=examined.leaks[0])]


def _truth(examined: Examined, walked: Walk) -> list[Stage]:
    if examined.has_truth or examined.said.judgment.correct is not None:
        return [*walked.stages]
    detail = "nothing says what a right answer states"
    return [Stage(stage="ground_truth", state="failed", detail=detail), *walked.stages[1:]]


def _diagnosis(
    examined: Examined, found: DiagnosisClass, cause: Cause | None, contributing: list[Cause], stages: list[Stage]
) -> Diagnosis:
    judgment, evidence = examined.said.judgment, examined.said.evidence
    behaves = examined.expected != "answer"
    return Diagnosis(
        diagnosis=found,
        evidence_present=None if behaves else evidence.present,
        answer_correct=judgment.correct,
        faithful=judgment.faithful,
        evidence=_seen(evidence),
        cause=cause,
        contributing=contributing,
        stages=stages,
        next_step=None if cause is None else next_step(cause, contributing),
        judgment=judgment,
        question_id=examined.question_id,
        facts=[
            FactSeen(fact=place.fact, in_context=place.chunk is not None, chunk=place.chunk, passage=place.passage)
            for place in evidence.facts
        ],
        notes=[*examined.notes, *evidence.notes],
    )


def _seen(evidence: Evidence) -> list[EvidenceSeen]:
    return [
        EvidenceSeen(id=seen.wanted.id, chunks=list(seen.wanted.chunks), in_context=seen.in_context, by=seen.by)
        for seen in evidence.gold
    ]
