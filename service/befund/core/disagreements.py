"""Answers with the verdicts of people and of a judge: made into pairs, and those they disagree on put into words."""

from collections.abc import Sequence

from befund.contract import CalibrationItem, Disagreement
from befund.core.calibration import Pair
from befund.core.judge_tasks import Outcome
from befund.core.judging import Dimension

MOST_TOLD = 50
"""Disagreements of one dimension that are put into words."""
LONGEST_TEXT = 1_000
"""Characters of a question or an answer that are told."""


def group_of(item: CalibrationItem, place: int) -> str:
    """What is resampled together: the group that is named, else the question."""
    if item.group is not None:
        return f"group {item.group}"
    if item.question_id is not None:
        return f"id {item.question_id}"
    return f"question {item.question}" if item.question is not None else f"item {place}"


def pairs_of(name: Dimension, items: Sequence[CalibrationItem], outcomes: Sequence[Outcome]) -> list[Pair]:
    """The answers on which people have a verdict of this dimension."""
    return [
        Pair(
            place=place,
            human=human,
            judged=getattr(outcome.judgment, name, None),
            group=group_of(item, place),
            confidence=_confidence(outcome, name),
        )
        for place, (item, outcome) in enumerate(zip(items, outcomes, strict=True))
        if (human := getattr(item.human, name)) is not None
    ]


def worst_of(pairs: Sequence[Pair], outcomes: Sequence[Outcome]) -> list[Disagreement]:
    """The disagreements, first those the judge is surest of, then those that it lets pass and people do not."""
    apart = [pair for pair in pairs if pair.judged is not None and pair.judged != pair.human]
    apart.sort(key=lambda pair: (-(pair.confidence or 0.0), pair.human))
    told = [_told(pair, outcomes[pair.place]) for pair in apart[:MOST_TOLD]]
    return [each for each in told if each is not None]


def _confidence(outcome: Outcome, name: Dimension) -> float | None:
    confidence = outcome.judgment.confidence if outcome.judgment is not None else None
    sure: float | None = getattr(confidence, name, None)
    return sure


def _told(pair: Pair, outcome: Outcome) -> Disagreement | None:
    if pair.judged is None or outcome.judgment is None or outcome.task is None:
        return None
    return Disagreement(
        index=pair.place,
        question_id=outcome.task.sent.question_id,
        question=_cut(outcome.task.item.question),
        answer=_cut(outcome.task.item.answer),
        human=pair.human,
        judged=pair.judged,
        confidence=pair.confidence,
        reason=outcome.judgment.reason,
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
