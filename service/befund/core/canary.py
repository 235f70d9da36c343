"""An answer whose verdicts are known, sent along with a batch: a judge that misses them is not to be trusted today.

The answer repeats its context and misses the fact, so that waving everything through shows, and nothing as well.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from befund.contract import Chunk, Finding, JudgeBatchItem, Judgment
from befund.core.judge_tasks import Outcome, Task, task_of

CanaryOutcome = Literal["passed", "failed", "unjudged"]
CANARY_OUTCOMES: tuple[CanaryOutcome, ...] = get_args(CanaryOutcome)

_EXPECTED = {"correct": False, "faithful": True, "behaved": True}


def canary_of(judge: str) -> Task:
    """The answer, to be judged by the judge of this name, never from a cache."""
    item = JudgeBatchItem(
        question="For how many days are deleted reports kept in the archive?",
        answer="Deleted reports are kept in the archive for 14 days.",
        expected_facts=["30 days"],
        context=[Chunk(id="archive", text="Deleted reports are kept in the archive for 14 days.")],
        expected_behavior="answer",
        judge=judge,
    )
    return task_of(item, None, fresh=True)


def canary_outcome(outcome: Outcome) -> CanaryOutcome:
    """What became of it; `unjudged` where the judge failed or abstained."""
    judgment = outcome.judgment
    if judgment is None:
        return "unjudged"
    if _missed(judgment):
        return "failed"
    return "unjudged" if any(getattr(judgment, name) is None for name in _EXPECTED) else "passed"


def canary_findings(judges: Sequence[str], outcomes: Sequence[Outcome]) -> list[Finding]:
    """What a reader of the batch should know, a finding a judge; none where all passed."""
    found = []
    for judge, outcome in zip(judges, outcomes, strict=True):
        match canary_outcome(outcome), outcome.judgment:
            case "failed", Judgment() as judgment:
                wrong = ", ".join(f"{name} is {str(getattr(judgment, name)).lower()}" for name in _missed(judgment))
                said = (
                    f"The judge {judge!r} missed an answer whose verdicts are known ({wrong}). "
                    "Look at its other verdicts before you use them."
                )
                found.append(Finding(code="CANARY_FAILED", message=said))
            case "unjudged", _:
                said = f"The judge {judge!r} reached no full verdict on an answer whose verdicts are known."
                found.append(Finding(code="CANARY_UNJUDGED", message=said))
    return found


def _missed(judgment: Judgment) -> list[str]:
    return [name for name, right in _EXPECTED.items() if getattr(judgment, name) is (not right)]
