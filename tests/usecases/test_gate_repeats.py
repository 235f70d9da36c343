"""Gates near their threshold ask the judge again."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.unit.core.comparison.sides import judging, questions

from befund.contract import CompareOptions, DecidedBy, Gate, GateResult
from befund.core.comparison.compare import bring_together, report
from befund.core.errors import JudgeUnusableError
from befund.core.judged import Judged
from befund.core.judging import Item, Observation, Outcome, Verdicts, scored
from befund.usecases.gate_repeats import Answers, Repeating

pytestmark = pytest.mark.anyio

NAMES = [chr(65 + i) for i in range(20)]
ASKED = questions(*NAMES)


class FakeJudge:
    """Says of an answer what its script says, one sample after the other."""

    name, model, rubric, concurrency = "rules", None, None, 4

    def __init__(self, fingerprint: str = "sha256:judge", **script: Sequence[bool | None]) -> None:
        self.fingerprint = fingerprint
        self.script = script
        self.asked: list[tuple[str, int, bool]] = []

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        self.asked.append((item.answer, sample, use_cache))
        said = self.script[item.answer.replace(" ", "_")][sample]
        if said is None:
            raise JudgeUnusableError("judge-output-unusable", "It said nothing usable.")
        nothing = Outcome(None, "not_evaluable")
        return Judged(
            observation=Observation(),
            verdicts=Verdicts(correct=scored(said), faithful=nothing, behaved=nothing),
            decided_by=DecidedBy(correct="rules", faithful=None, behaved=None),
        )

    async def ready(self) -> None:
        pass


class OneJudge:
    """All judges there are."""

    def __init__(self, judge: FakeJudge) -> None:
        self.judge = judge

    def named(self, name: str) -> FakeJudge:
        return self.judge

    def label(self, name: str) -> str | None:
        return name


async def decided(judge: FakeJudge, before: str, after: str, *, kept: bool = True, **fields: Any) -> GateResult:
    """What a gate on `correct` says: verdicts are given as + and -, ? for abstained."""
    said: dict[str, bool | str] = {"+": True, "-": False, "?": "abstained"}
    gates = [msgspec.convert({"metric": "correct", "repeats": 3, **fields}, Gate)]
    sides = [
        judging(dict(zip(NAMES, (said[each] for each in text), strict=False)), asked=ASKED, name=name)
        for text, name in ((before, "old"), (after, "new"))
    ]
    options = CompareOptions()
    together = bring_together(sides[0].side, sides[1].side, options, gates)
    answers = tuple(Answers.of(side.records, side.edition) if kept else None for side in sides)
    repeating = Repeating(OneJudge(judge), answers)  # type: ignore[arg-type]
    answer = await repeating.decide_anew(together, report(together, options, gates), options, gates)
    return answer.gates[0]


YES, NO = (True, True, True), (False, False, False)


async def test_a_regression_that_was_noise_passes_after_all() -> None:
    judge = FakeJudge(new_T=(True, True, False), old_T=YES)
    found = await decided(judge, "+" * 20, "+" * 19 + "-", max_regressions=0)
    assert (found.status, found.repeated) == ("pass", ["T"])
    assert "judged 3 times anew; at first it said fail" in found.detail


async def test_a_regression_that_stands_fails() -> None:
    judge = FakeJudge(new_T=(False, False, True), old_T=YES)
    assert (await decided(judge, "+" * 20, "+" * 19 + "-", max_regressions=0)).status == "fail"


async def test_both_sides_are_asked_again_without_the_cache() -> None:
    judge = FakeJudge(new_T=NO, old_T=NO)
    found = await decided(judge, "+" * 20, "+" * 19 + "-", max_regressions=0)
    assert found.status == "pass"
    assert sorted(judge.asked) == [(f"{side} T", sample, False) for side in ("new", "old") for sample in range(3)]


async def test_an_improvement_that_was_noise_no_longer_holds_the_mean() -> None:
    judge = FakeJudge(new_S=NO, old_S=NO)
    found = await decided(judge, "+" * 18 + "-+", "+" * 19 + "-", max_drop=0)
    assert (found.status, found.repeated) == ("fail", ["S"])


async def test_an_abstention_is_asked_again() -> None:
    judge = FakeJudge(new_T=YES, old_T=YES)
    found = await decided(judge, "+" * 20, "+" * 19 + "?", max_regressions=0)
    assert (found.status, found.repeated) == ("pass", ["T"])


async def test_a_level_just_missed_is_asked_again() -> None:
    judge = FakeJudge(new_T=YES, old_T=YES)
    assert (await decided(judge, "+" * 20, "+" * 19 + "-", min=1)).status == "pass"


async def test_a_judge_that_fails_leaves_it_open() -> None:
    judge = FakeJudge(new_T=(None, True, True), old_T=YES)
    assert (await decided(judge, "+" * 20, "+" * 19 + "-", max_regressions=0)).status == "inconclusive"


async def test_far_from_the_threshold_nobody_is_asked() -> None:
    judge = FakeJudge()
    assert (await decided(judge, "+" * 20, "+" * 10 + "-" * 10, max_regressions=0)).status == "fail"
    assert (await decided(judge, "+" * 20, "+" * 20, max_drop=0.5)).status == "pass"
    assert judge.asked == []


async def test_another_judge_than_the_one_that_judged_is_not_asked() -> None:
    judge = FakeJudge("sha256:newer")
    found = await decided(judge, "+" * 18 + "-+", "+" * 19 + "-", max_drop=0)
    assert found.status == "inconclusive"
    assert "another than the one that judged" in found.detail
    assert judge.asked == []
