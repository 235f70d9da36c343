"""The judge's own noise: the same answer, judged once more, with another verdict."""

from collections.abc import Sequence

from msgspec import Struct

from befund.core.comparison.pairing import Paired
from befund.core.comparison.side import Answered
from befund.core.voting import DIMENSIONS

NEEDS_CONTEXT = frozenset({"faithful"})


class Noise(Struct, frozen=True):
    """What answers that are the same on both sides say of the judge.

    Attributes:
        same: Questions with the same answer by the same judge.
        judged_again: Of these, those really judged twice: a verdict from the cache agrees with itself, and a judge
            that failed gave none.
        differing: Those of `judged_again` with another verdict on any dimension.
    """

    same: Sequence[str]
    judged_again: Sequence[str]
    differing: Sequence[str]


def noise_of(paired: Paired) -> Noise:
    """Compare the verdicts on answers that did not change."""
    before, after = paired.baseline.answered, paired.candidate.answered
    same = [
        question
        for question in paired.ids
        if question in before and question in after and _is_same(before[question], after[question])
    ]
    again = [
        question
        for question in same
        if all(not (side[question].cached or side[question].failed) for side in (before, after))
    ]
    return Noise(same, again, [question for question in again if _differ(before[question], after[question])])


def _is_same(before: Answered, after: Answered) -> bool:
    return before.answer is not None and before.answer == after.answer and before.judge == after.judge


def _differ(before: Answered, after: Answered) -> bool:
    same_context = before.context == after.context
    return any(
        before.verdicts[name] != after.verdicts[name]
        for name in DIMENSIONS
        if same_context or name not in NEEDS_CONTEXT
    )
