"""Limits, outages, hangs and cut replies: retried within the deadline, then said for what they are."""

import asyncio
import gzip
import json
from typing import Any

import pytest
from msgspec.structs import replace

from befund.adapters.openai_judge.judge import OpenAIJudge
from befund.core.errors import JudgeDeadlineError, JudgeUnavailableError, JudgeUnusableError
from befund.core.judging import Passage, scored

from .conftest import ITEM, Counts, Make
from .endpoint import (
    FakeEndpoint,
    Step,
    drips,
    envelope,
    error,
    floods,
    hangs,
    in_order,
    read_as_a_model,
    resets,
    says,
    sends,
)

pytestmark = pytest.mark.anyio


class Pauses:
    """Waits for nothing; remembers for how long it was asked to, and lets the clock run on."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.seconds: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


async def warm(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    """Let the judge find out what the endpoint takes."""
    await judge.judge(replace(ITEM, question="Warm-up?"))
    endpoint.asked.clear()


TRANSIENT: dict[str, Step] = {
    "429": error(429, "slow down"),
    "429 with seconds": error(429, "slow down", headers={"retry-after": "0"}),
    "500": error(500),
    "502": sends(b"<html>Bad gateway</html>", status=502, media="text/html"),
    "503": error(503, "loading model"),
    "529": error(529, "overloaded"),
    "reset": resets,
    "empty": sends(b""),
    "page": sends(b"<html>Sign in</html>", media="text/html"),
    "half": sends(b'{"output": [{"type": "mess'),
    "not UTF-8": sends(b'{"output": "\xff"}'),
    "a number": sends(b"1e15"),
    "flood": floods,
}


@pytest.mark.parametrize("trouble", TRANSIENT)
async def test_trouble_that_passes_is_waited_out(
    make: Make, endpoint: FakeEndpoint, counts: Counts, trouble: str
) -> None:
    judge = make()
    await warm(judge, endpoint)
    endpoint.then(TRANSIENT[trouble], TRANSIENT[trouble])
    assert (await judge.judge(ITEM)).verdicts.correct == scored(True)
    assert len(endpoint.asked) == 3
    assert counts.retries == 2


@pytest.mark.parametrize(
    ("trouble", "code", "calls"),
    [
        ("429", "judge-limited", 5),
        ("500", "judge-unavailable", 5),
        ("503", "judge-unavailable", 5),
        ("reset", "judge-unavailable", 5),
        ("empty", "judge-output-unusable", 5),
        ("page", "judge-output-unusable", 5),
        ("flood", "judge-output-unusable", 5),
    ],
)
async def test_trouble_that_stays_is_said(
    make: Make, endpoint: FakeEndpoint, trouble: str, code: str, calls: int
) -> None:
    judge = make()
    await warm(judge, endpoint)
    endpoint.usually = TRANSIENT[trouble]
    with pytest.raises((JudgeUnavailableError, JudgeUnusableError)) as caught:
        await judge.judge(ITEM)
    assert caught.value.code == code
    assert len(endpoint.asked) == calls


async def test_an_endpoint_that_is_not_there_is_unavailable(make: Make) -> None:
    judge = make(url="http://127.0.0.1:1/v1")
    with pytest.raises(JudgeUnavailableError) as caught:
        await judge.judge(ITEM)
    assert (caught.value.code, caught.value.retry_after) == ("judge-unavailable", 5)


async def test_retry_after_is_waited_for(make: Make, endpoint: FakeEndpoint, pauses: Pauses) -> None:
    judge = make(clock=pauses.clock, pause=pauses.pause, chance=lambda: 0.0)
    endpoint.then(error(429, headers={"retry-after": "7"}), error(503, headers={"retry-after-ms": "1500"}))
    await judge.judge(ITEM)
    assert pauses.seconds == [7.0, 1.5]


async def test_a_limit_that_outlasts_the_deadline_is_said_at_once(
    make: Make, endpoint: FakeEndpoint, pauses: Pauses
) -> None:
    judge = make(clock=pauses.clock, pause=pauses.pause, deadline_seconds=30)
    endpoint.usually = error(429, headers={"retry-after": "120"})
    with pytest.raises(JudgeUnavailableError) as caught:
        await judge.judge(ITEM)
    assert (caught.value.code, caught.value.retry_after) == ("judge-limited", 120)
    assert len(endpoint.asked) == 1
    assert pauses.seconds == []


async def test_nobody_asks_while_one_was_told_to_wait(make: Make, endpoint: FakeEndpoint, pauses: Pauses) -> None:
    judge = make(clock=pauses.clock, pause=pauses.pause, deadline_seconds=30)
    endpoint.usually = error(429, headers={"retry-after": "120"})
    with pytest.raises(JudgeUnavailableError):
        await judge.judge(ITEM)
    pauses.now += 20
    with pytest.raises(JudgeUnavailableError) as caught:
        await judge.judge(replace(ITEM, question="And now?"))
    assert (caught.value.code, caught.value.retry_after) == ("judge-limited", 40)
    assert len(endpoint.asked) == 1


async def test_pauses_grow_and_are_spread_by_chance(make: Make, endpoint: FakeEndpoint, pauses: Pauses) -> None:
    judge = make(clock=pauses.clock, pause=pauses.pause, chance=lambda: 0.5, backoff_seconds=1.0)
    await warm(judge, endpoint)
    endpoint.then(*[error(503)] * 4)
    await judge.judge(ITEM)
    assert pauses.seconds == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("trouble", [hangs, drips], ids=["hangs", "drips"])
async def test_an_answer_that_does_not_come_ends_at_the_deadline(
    make: Make, endpoint: FakeEndpoint, counts: Counts, trouble: Step
) -> None:
    judge = make(deadline_seconds=0.3)
    endpoint.usually = trouble
    with pytest.raises(JudgeDeadlineError) as caught:
        await judge.judge(ITEM)
    assert caught.value.code == "judge-deadline"
    assert counts.outcomes == {"cancelled": 1}
    assert counts.under_way == 0


async def test_a_wait_for_others_counts_towards_the_deadline(make: Make, endpoint: FakeEndpoint) -> None:
    judge = make(deadline_seconds=0.3, concurrency=1)
    endpoint.usually = hangs
    both = await asyncio.gather(
        judge.judge(ITEM), judge.judge(replace(ITEM, question="And now?")), return_exceptions=True
    )
    assert [type(error) for error in both] == [JudgeDeadlineError, JudgeDeadlineError]
    assert endpoint.most_in_flight == 1


async def test_a_reply_that_is_cut_off_gets_more_room(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.then(says('{"behavior": {"rat', finish="length"))
    assert (await judge.judge(ITEM)).verdicts.correct == scored(True)
    assert [asked.body["max_output_tokens"] for asked in endpoint.asked] == [1900, 7600]


@pytest.mark.parametrize("form", ["responses", "chat_schema"])
async def test_a_reply_that_stays_cut_off_is_called_so_even_if_it_reads_well(
    judge: OpenAIJudge, endpoint: FakeEndpoint, counts: Counts, form: str
) -> None:
    if form == "chat_schema":
        endpoint.refuse = {"responses": error(404)}
    endpoint.usually = says(finish="length")
    with pytest.raises(JudgeUnusableError) as caught:
        await judge.judge(ITEM)
    assert caught.value.code == "judge-output-truncated"
    assert counts.outcomes["truncated"] == 2


@pytest.mark.parametrize("form", ["responses", "chat_schema"])
@pytest.mark.parametrize(
    "refusal",
    [
        says(finish="refusal"),
        says('{"behavior": {"rationale": "It', finish="filter"),
        says(finish="filter"),
        error(400, "The response was filtered due to our content management policy.", code="content_filter"),
    ],
    ids=["refusal", "filter in the middle", "filter at the end", "filter as an error"],
)
async def test_a_refusal_is_called_so(
    judge: OpenAIJudge, endpoint: FakeEndpoint, counts: Counts, form: str, refusal: Step
) -> None:
    if form == "chat_schema":
        endpoint.refuse = {"responses": error(404)}
    endpoint.usually = refusal
    with pytest.raises(JudgeUnusableError) as caught:
        await judge.judge(ITEM)
    assert caught.value.code == "judge-refused"
    assert counts.outcomes["refused"] == 2


async def test_a_refusal_that_does_not_repeat_is_forgotten(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.then(says(finish="refusal"))
    assert (await judge.judge(ITEM)).verdicts.correct == scored(True)


TOO_LONG = error(
    400,
    "This model's maximum context length is 4096 tokens. However, you requested 6000 tokens.",
    code="context_length_exceeded",
)


async def test_a_text_longer_than_the_window_is_called_so(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.usually = TOO_LONG
    with pytest.raises(JudgeUnusableError) as caught:
        await judge.judge(ITEM)
    assert caught.value.code == "judge-context-exceeded"
    assert len(endpoint.asked) == 2


async def test_room_that_does_not_fit_the_window_is_not_asked_for(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.then(TOO_LONG)
    assert (await judge.judge(ITEM)).verdicts.correct == scored(True)
    assert "max_output_tokens" not in endpoint.asked[1].body


async def test_a_text_that_was_cut_silently_is_noticed(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    long = replace(ITEM, context=[*(ITEM.context or ()), Passage("c2", "word " * 3000)])
    endpoint.usually = says(usage={"read": 2048, "written": 90, "cached": 0})
    with pytest.raises(JudgeUnusableError) as caught:
        await judge.judge(long)
    assert caught.value.code == "judge-context-exceeded"
    endpoint.usually = says(usage={"read": 5000, "written": 90, "cached": 0})
    assert (await judge.judge(long)).verdicts.correct == scored(True)


@pytest.mark.parametrize("status", [401, 402, 403])
async def test_a_key_that_is_not_taken_is_not_tried_again(make: Make, endpoint: FakeEndpoint, status: int) -> None:
    judge = make(key="sk-secret")
    endpoint.usually = error(status, "Incorrect API key provided: sk-secret", code="invalid_api_key")
    with pytest.raises(JudgeUnusableError) as caught:
        await judge.judge(ITEM)
    assert caught.value.code == "judge-request-refused"
    assert "sk-secret" not in caught.value.detail
    assert len(endpoint.asked) == 1


async def test_a_redirect_is_not_followed(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    async def elsewhere(asked: Any, wire: Any) -> None:
        await wire.answer(307, b"", headers={"location": endpoint.url + "/elsewhere"})

    endpoint.usually = elsewhere
    with pytest.raises(JudgeUnusableError):
        await judge.judge(ITEM)
    assert {asked.path for asked in endpoint.asked} == {"/v1/responses", "/v1/chat/completions"}


async def test_a_compressed_answer_is_read(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:

    async def compressed(asked: Any, wire: Any) -> None:
        body = gzip.compress(json.dumps(envelope(asked, json.dumps(read_as_a_model(asked)))).encode())
        await wire.answer(200, body, headers={"content-encoding": "gzip"})

    endpoint.usually = compressed
    assert (await judge.judge(ITEM)).verdicts.correct == scored(True)


async def test_an_endpoint_that_keeps_failing_is_left_alone_and_tried_again(
    make: Make, endpoint: FakeEndpoint, pauses: Pauses
) -> None:
    judge = make(clock=pauses.clock, pause=pauses.pause)
    await warm(judge, endpoint)
    endpoint.usually = error(503)
    for number in range(5):
        await judge.ready()
        with pytest.raises(JudgeUnavailableError):
            await judge.judge(replace(ITEM, question=f"{number}?"))
    calls = len(endpoint.asked)
    endpoint.usually = says()
    with pytest.raises(JudgeUnavailableError, match="left alone") as caught:
        await judge.judge(ITEM)
    assert caught.value.retry_after == 5
    with pytest.raises(JudgeUnavailableError):
        await judge.ready()
    assert len(endpoint.asked) == calls
    pauses.now += 5
    assert (await judge.judge(ITEM)).verdicts.correct == scored(True)
    await judge.ready()


async def test_who_waited_too_long_for_a_place_does_not_speak_against_the_endpoint(
    make: Make, endpoint: FakeEndpoint
) -> None:
    judge = make(concurrency=1, deadline_seconds=0.3)
    endpoint.usually = hangs
    asked = [judge.judge(replace(ITEM, question=f"{number}?")) for number in range(8)]
    failed = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(error) for error in failed] == [JudgeDeadlineError] * 8
    await judge.ready()


async def test_an_endpoint_that_hangs_is_left_alone(make: Make, endpoint: FakeEndpoint) -> None:
    judge = make(deadline_seconds=0.3)
    endpoint.usually = hangs
    asked = [judge.judge(replace(ITEM, question=f"{number}?")) for number in range(5)]
    failed = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(error) for error in failed] == [JudgeDeadlineError] * 5
    with pytest.raises(JudgeUnavailableError):
        await judge.ready()


async def test_limits_and_bad_replies_do_not_make_an_endpoint_be_left_alone(make: Make, endpoint: FakeEndpoint) -> None:
    judge = make()
    endpoint.usually = in_order(*[error(429)] * 20, says("no"))
    for number in range(8):
        with pytest.raises((JudgeUnavailableError, JudgeUnusableError)):
            await judge.judge(replace(ITEM, question=f"{number}?"))
    await judge.ready()
