"""Many callers share a judge: its places, its cache, and what it used."""

import asyncio

import pytest
from msgspec.structs import replace

from befund.adapters.memory_cache import MemoryCache
from befund.adapters.openai_judge.judge import OpenAIJudge
from befund.contract import Usage
from befund.core.errors import JudgeDeadlineError, JudgeUnusableError
from befund.core.judging import Item, Passage, scored
from befund.core.usage import Price

from .conftest import ITEM, Counts, Make
from .endpoint import Asked, FakeEndpoint, Wire, changed, error, hangs, says

pytestmark = pytest.mark.anyio


def numbered(number: int) -> Item:
    return replace(
        ITEM,
        answer=f"It takes {number} hours.",
        expected_facts=[f"{number} hours" if number % 2 else "a week"],
        context=[Passage("c1", f"It takes {number} hours.")],
    )


async def test_many_answers_at_once_keep_to_the_places_and_do_not_mix(
    make: Make, endpoint: FakeEndpoint, counts: Counts
) -> None:
    judge = make(concurrency=8)
    eight = asyncio.Barrier(8)

    async def together(asked: Asked, wire: Wire) -> None:
        await eight.wait()
        await says()(asked, wire)

    endpoint.usually = together
    judged = await asyncio.gather(*(judge.judge(numbered(number)) for number in range(96)))
    for number, one in enumerate(judged):
        assert one.verdicts.correct == scored(number % 2 == 1)
        assert one.observation.claims[0].quote == f"It takes {number} hours"
    assert endpoint.most_in_flight == 8
    assert counts.under_way == 0


async def test_a_storm_of_limits_passes_without_losing_an_answer(make: Make, endpoint: FakeEndpoint) -> None:
    judge = make(concurrency=16)
    endpoint.then(*[error(429, headers={"retry-after": "0"})] * 40)
    judged = await asyncio.gather(*(judge.judge(numbered(number)) for number in range(1, 100, 2)))
    assert [one.verdicts.correct for one in judged] == [scored(True)] * 50


async def test_a_caller_who_goes_away_takes_the_call_along(
    judge: OpenAIJudge, endpoint: FakeEndpoint, counts: Counts
) -> None:
    gone = asyncio.Event()

    async def until_gone(asked: Asked, wire: Wire) -> None:
        await wire.caller_gone()
        gone.set()

    endpoint.usually = until_gone
    call = asyncio.create_task(judge.judge(ITEM))
    await endpoint.arrived.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    async with asyncio.timeout(10):
        await gone.wait()
    assert counts.outcomes == {"cancelled": 1}
    assert counts.under_way == 0


async def test_a_place_is_given_back_by_a_caller_who_goes_away(make: Make, endpoint: FakeEndpoint) -> None:
    judge = make(concurrency=1)
    endpoint.then(hangs)
    call = asyncio.create_task(judge.judge(ITEM))
    await endpoint.arrived.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert (await judge.judge(ITEM)).verdicts.correct == scored(True)


async def test_the_same_is_asked_once(judge: OpenAIJudge, endpoint: FakeEndpoint, counts: Counts) -> None:
    first = await judge.judge(ITEM)
    again = await judge.judge(ITEM)
    assert len(endpoint.asked) == 1
    assert (first.cached, again.cached) == (False, True)
    assert again.verdicts == first.verdicts
    assert again.usage == Usage(input_tokens=0, output_tokens=0, cached_tokens=0, cost_usd=0.0)
    assert counts.cache == {False: 1, True: 1}


CHANGES: list[dict[str, object]] = [
    {"question": "How long?"},
    {"answer": "It is retried for 72 hours."},
    {"expected_facts": ["72"]},
    {"reference_answers": ["72 hours"]},
    {"context": None},
    {"context": [Passage("D003-chunk-2", "Failed webhooks are retried for 72 hours. Then they are dropped.")]},
    {"expected_behavior": None},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
async def test_anything_else_is_asked_anew(
    judge: OpenAIJudge, endpoint: FakeEndpoint, change: dict[str, object]
) -> None:
    await judge.judge(ITEM)
    assert (await judge.judge(replace(ITEM, **change))).cached is False
    assert len(endpoint.asked) == 2


async def test_every_sample_is_asked_for(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    await judge.judge(ITEM, sample=0)
    assert (await judge.judge(ITEM, sample=1)).cached is False
    assert (await judge.judge(ITEM, sample=1)).cached is True


async def test_the_cache_is_passed_by_on_request(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    await judge.judge(ITEM)
    assert (await judge.judge(ITEM, use_cache=False)).cached is False
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"model": "m-2"},
        {"parameters": {"temperature": 0.2}},
        {"headers": {"X-Route": "canary"}},
        {"url": "http://127.0.0.1:1/v1"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_another_model_endpoint_or_parameter_is_another_judge(make: Make, change: dict[str, object]) -> None:
    assert make(**change).fingerprint != make().fingerprint


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"concurrency": 3}, {"deadline_seconds": 5}, {"headers": {"Api-Key": "secret"}}],
    ids=lambda change: next(iter(change)),
)
async def test_what_cannot_change_a_verdict_is_not_in_the_fingerprint(make: Make, change: dict[str, object]) -> None:
    assert make(**change).fingerprint == make().fingerprint


async def test_judges_with_one_cache_do_not_answer_for_each_other(make: Make, endpoint: FakeEndpoint) -> None:
    cache = MemoryCache()
    await make(cache=cache).judge(ITEM)
    assert (await make(cache=cache, model="m-2").judge(ITEM)).cached is False
    assert (await make(cache=cache).judge(ITEM)).cached is True


async def test_a_failure_is_not_remembered(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.usually = says("no")
    with pytest.raises(JudgeUnusableError):
        await judge.judge(ITEM)
    endpoint.usually = says()
    assert (await judge.judge(ITEM)).cached is False


async def test_what_replies_used_is_added_up_the_unusable_too(
    make: Make, endpoint: FakeEndpoint, counts: Counts
) -> None:
    judge = make(price=Price(1.0, 10.0, 0.1))
    endpoint.then(changed(lambda reply: reply["facts"].clear()))
    judged = await judge.judge(ITEM)
    assert judged.usage == Usage(
        input_tokens=6000, output_tokens=180, cached_tokens=2000, cost_usd=pytest.approx(2 * 0.003)
    )
    assert [usage.cost_usd for usage in counts.usages] == [pytest.approx(0.003)] * 2


async def test_what_was_used_in_vain_is_said_with_the_error(make: Make, endpoint: FakeEndpoint) -> None:
    judge = make(price=Price(1.0, 10.0, 0.1))
    endpoint.then(changed(lambda reply: reply["facts"].clear()), error(401))
    with pytest.raises(JudgeUnusableError) as caught:
        await judge.judge(ITEM)
    assert caught.value.usage is not None
    assert (caught.value.usage.output_tokens, caught.value.usage.cost_usd) == (90, pytest.approx(0.003))


async def test_what_was_used_before_the_deadline_is_said_too(make: Make, endpoint: FakeEndpoint) -> None:
    endpoint.then(changed(lambda reply: reply["facts"].clear()), hangs)
    with pytest.raises(JudgeDeadlineError) as caught:
        await make(deadline_seconds=2).judge(ITEM)
    assert caught.value.usage is not None
    assert caught.value.usage.output_tokens == 90


async def test_an_endpoint_that_answered_nothing_used_nothing(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.usually = error(401)
    with pytest.raises(JudgeUnusableError) as caught:
        await judge.judge(ITEM)
    assert caught.value.usage is None


async def test_an_unknown_price_is_null(judge: OpenAIJudge) -> None:
    assert (await judge.judge(ITEM)).usage.cost_usd is None


@pytest.mark.parametrize("form", ["responses", "chat_schema"])
async def test_missing_usage_is_unknown_not_nothing(make: Make, endpoint: FakeEndpoint, form: str) -> None:
    if form == "chat_schema":
        endpoint.refuse = {"responses": error(404)}
    endpoint.usually = says(usage=None)
    judged = await make(price=Price(1.0, 10.0)).judge(ITEM)
    assert judged.usage == Usage(input_tokens=None, output_tokens=None, cached_tokens=None, cost_usd=None)


@pytest.mark.parametrize("count", [-1, 1e15, "90", True, 10**15], ids=str)
async def test_usage_that_cannot_be_is_unknown(judge: OpenAIJudge, endpoint: FakeEndpoint, count: object) -> None:
    endpoint.usually = says(usage={"read": 3000, "written": count, "cached": 0})
    judged = await judge.judge(ITEM)
    assert (judged.usage.input_tokens, judged.usage.output_tokens) == (3000, None)
