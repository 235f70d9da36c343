"""Judges made of judges, before real endpoints."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from msgspec.structs import replace

from befund.adapters.judges import JudgesBench, build_judges
from befund.adapters.memory_cache import MemoryCache
from befund.contract import DecidedBy
from befund.core.configured import Cascade, Judges, Jury, ModelJudge
from befund.core.errors import ContradictionError, JudgeUnavailableError, JudgeUnusableError
from befund.core.judged import Judged, judged_by
from befund.core.judging import ABSTAINED, Claim, Fact, Item, Observation, scored
from befund.usecases.votes import judge_by_votes

from .conftest import ITEM, Counts, Make
from .endpoint import Asked, FakeEndpoint, Wire, changed, error, hangs, in_order, says

pytestmark = pytest.mark.anyio


class Rules:
    """A judge that knows what it is told to know."""

    name = "rules"
    model = None
    models = ()
    rubric = None
    fingerprint = "sha256:rules"
    concurrency = 4

    def __init__(self, seen: Observation) -> None:
        self._seen = seen

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        return judged_by(self.name, item, self._seen)

    async def ready(self) -> None:
        return None


UNSURE = Observation(facts=[Fact("72 hours", "stated")], claims=[Claim("c", None)], observed_behavior="answer")
SURE = replace(UNSURE, claims=[Claim("c", "supported")])
WRONG = replace(UNSURE, facts=[Fact("72 hours", "missing")])

Build = Callable[..., JudgesBench]


@pytest.fixture
async def build(endpoint: FakeEndpoint, counts: Counts) -> AsyncIterator[Build]:
    async with AsyncExitStack() as stack:

        def built(*judges: Any, rules: Observation = UNSURE) -> JudgesBench:
            models = [ModelJudge(name=name, model=name, url=endpoint.url, backoff_seconds=0.0) for name in ("a", "b")]
            configured = Judges("a", (*models, *judges))
            bench = build_judges(
                configured, rules=Rules(rules), forced_rules=Rules(rules), cache=MemoryCache(), meter=counts
            )
            stack.push_async_callback(bench.close)
            return bench

        yield built


def of_model(name: str, step: Any) -> Any:
    """Do this when one model is asked, else answer well."""

    async def chosen(asked: Asked, wire: Wire) -> None:
        await (step if asked.body["model"] == name else says())(asked, wire)

    return chosen


MISSING = changed(lambda reply: reply["facts"][0].update(verdict="missing", quote=None))


async def test_a_judge_is_found_by_its_name(build: Build) -> None:
    bench = build(Jury("panel", ["a", "b", "rules"]))
    assert [bench.named(name).name for name in ("default", "panel", "rules")] == ["a", "panel", "rules"]
    with pytest.raises(ContradictionError, match="There is no judge 'c'; there are default, rules, a, b, panel"):
        bench.named("c")


async def test_the_majority_of_a_jury_decides(build: Build, endpoint: FakeEndpoint) -> None:
    endpoint.usually = of_model("b", MISSING)
    judged = await build(Jury("panel", ["a", "b", "rules"])).named("panel").judge(ITEM)
    assert judged.verdicts.correct == scored(True)
    assert judged.agreement == pytest.approx(2 / 3)
    assert judged.decided_by.correct == "panel"
    assert judged.usage.input_tokens == 6000


async def test_a_divided_jury_abstains(build: Build, endpoint: FakeEndpoint) -> None:
    endpoint.usually = of_model("b", MISSING)
    judged = await build(Jury("panel", ["a", "b"])).named("panel").judge(ITEM)
    assert (judged.verdicts.correct, judged.verdicts.faithful) == (ABSTAINED, scored(True))
    assert judged.agreement == 0.5


async def test_a_jury_without_one_of_its_members_gives_no_verdict(build: Build, endpoint: FakeEndpoint) -> None:
    endpoint.usually = of_model("b", error(503))
    with pytest.raises(JudgeUnavailableError, match="'b'"):
        await build(Jury("panel", ["a", "b", "rules"])).named("panel").judge(ITEM)


async def test_a_member_that_fails_ends_the_calls_of_the_others(build: Build, endpoint: FakeEndpoint) -> None:
    gone = asyncio.Event()

    async def both(asked: Asked, wire: Wire) -> None:
        if asked.body["model"] == "a":
            await hangs(asked, wire)
            gone.set()
        await error(401)(asked, wire)

    endpoint.usually = both
    with pytest.raises(JudgeUnusableError):
        await build(Jury("panel", ["a", "b"])).named("panel").judge(ITEM)
    async with asyncio.timeout(10):
        await gone.wait()


async def test_a_cascade_asks_the_model_only_for_what_the_rules_leave_open(
    build: Build, endpoint: FakeEndpoint
) -> None:
    judged = await build(Cascade("careful", ["rules", "a"]), rules=WRONG).named("careful").judge(ITEM)
    assert len(endpoint.asked) == 1
    assert (judged.verdicts.correct, judged.verdicts.faithful) == (scored(False), scored(True))
    assert judged.decided_by == DecidedBy(correct="rules", faithful="a", behaved="rules")


async def test_a_cascade_whose_rules_are_sure_costs_nothing(build: Build, endpoint: FakeEndpoint) -> None:
    judged = await build(Cascade("careful", ["rules", "a"]), rules=SURE).named("careful").judge(ITEM)
    assert endpoint.asked == []
    assert judged.usage.cost_usd == 0.0


async def test_a_cascade_does_not_pass_over_a_model_that_is_down(build: Build, endpoint: FakeEndpoint) -> None:
    endpoint.usually = error(503)
    with pytest.raises(JudgeUnavailableError):
        await build(Cascade("careful", ["rules", "a"])).named("careful").judge(ITEM)


async def test_a_cascade_may_ask_a_jury(build: Build) -> None:
    bench = build(Jury("panel", ["a", "b"]), Cascade("careful", ["rules", "panel"]))
    assert (await bench.named("careful").judge(ITEM)).decided_by.faithful == "panel"


async def test_a_panel_is_another_judge_when_a_member_is(build: Build) -> None:
    bench = build(Jury("x", ["a", "b"]), Jury("y", ["a", "rules"]), Cascade("z", ["a", "b"]), Cascade("w", ["b", "a"]))
    assert len({bench.named(name).fingerprint for name in ("x", "y", "z", "w", "a", "b")}) == 6


async def test_votes_are_separate_samples(make: Make, endpoint: FakeEndpoint) -> None:
    endpoint.usually = in_order(says(), MISSING, says())
    judged = await judge_by_votes(make(concurrency=1), ITEM, votes=3)
    assert judged.verdicts.correct == scored(True)
    assert judged.agreement == pytest.approx(2 / 3)
    assert judged.decided_by.correct == "openai"
    assert len(endpoint.asked) == 3


async def test_fewer_votes_than_asked_for_are_no_verdict(make: Make, endpoint: FakeEndpoint) -> None:
    endpoint.usually = in_order(says(), says(), error(401))
    with pytest.raises(JudgeUnusableError):
        await judge_by_votes(make(concurrency=1), ITEM, votes=3)


async def test_a_panel_tells_every_model_it_may_ask(build: Build) -> None:
    bench = build(Jury("panel", ["a", "b"]), Cascade("careful", ["rules", "panel", "a"]))
    assert [list(bench.named(name).models) for name in ("rules", "a", "panel", "careful")] == [
        [],
        ["a"],
        ["a", "b"],
        ["a", "b"],
    ]
