"""POST /judge and /judge/batch with a model judge."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from befund.app import create_app
from befund.core.configured import Judges, ModelJudge
from befund.core.usage import Price
from befund.settings import Settings

from .endpoint import Asked, FakeEndpoint, Step, Wire, error, hangs, says

pytestmark = pytest.mark.anyio

ITEM = {
    "question": "How long are webhooks retried?",
    "answer": "Webhooks are retried for 72 hours.",
    "expected_facts": ["72 hours"],
    "context": [{"id": "c1", "text": "Webhooks are retried for 72 hours. Then they are dropped."}],
    "expected_behavior": "answer",
}
Start = Callable[..., Any]


@pytest.fixture
async def start(endpoint: FakeEndpoint, tmp_path: Path) -> AsyncIterator[Start]:
    """Starts apps with a judge `openai` before the endpoint."""
    async with AsyncExitStack() as stack:

        async def started(**options: Any) -> Any:
            values: dict[str, Any] = {"name": "openai", "model": "gpt-4.1", "url": endpoint.url, "key": "k"}
            judge = ModelJudge(**values | {"backoff_seconds": 0.0, "price": Price(2.0, 8.0, 0.5)} | options)
            settings = Settings(
                data_dir=tmp_path, chroma_url="http://127.0.0.1:9", judges=Judges(default="openai", every=(judge,))
            )
            app: Any = create_app(settings, checks=[])
            await stack.enter_async_context(app.app.lifespan())
            return app

        yield started


@pytest.fixture
async def client(start: Start) -> httpx.AsyncClient:
    return speak_to(await start())


def speak_to(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://befund")


@pytest.mark.parametrize("path", ["/judge", "/judge/batch"])
async def test_a_model_cannot_be_forced(client: httpx.AsyncClient, endpoint: FakeEndpoint, path: str) -> None:
    body = ITEM if path == "/judge" else {"items": [ITEM | {"judge": "rules"}]}
    answer = await client.post(path, json=body | {"force_verdict": True})
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (422, "/problems/cannot-force")
    assert problem["errors"][0]["pointer"] == "/force_verdict"
    assert "'openai'" in problem["detail"]
    assert endpoint.asked == []


async def judge(client: httpx.AsyncClient, **changes: Any) -> httpx.Response:
    return await client.post("/judge", json=ITEM | changes)


async def test_the_configured_model_judges_by_default(client: httpx.AsyncClient) -> None:
    found = (await judge(client)).json()
    assert (found["correct"], found["faithful"], found["behaved"]) == (True, True, True)
    assert (found["judge"]["name"], found["judge"]["model"]) == ("openai", "gpt-4.1")
    assert found["usage"] == {"input_tokens": 3000, "output_tokens": 90, "cached_tokens": 1000, "cost_usd": 0.00522}


async def test_a_second_time_it_comes_from_the_cache_unless_that_is_not_wanted(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    cached = [(await judge(client, **more)).json()["cached"] for more in ({}, {}, {"use_cache": False})]
    assert (cached, len(endpoint.asked)) == ([False, True, False], 2)


async def test_votes_are_samples_of_their_own(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    assert (await judge(client, votes=3)).json()["agreement"] == 1.0
    assert len(endpoint.asked) == 3


async def test_an_empty_answer_asks_nobody(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    found = (await judge(client, answer="")).json()
    assert (found["correct"], found["flags"], endpoint.asked) == (False, ["EMPTY_ANSWER"], [])


async def test_rules_can_be_asked_beside_it(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    assert ((await judge(client, judge="rules")).json()["judge"]["name"], endpoint.asked) == ("rules", [])


@pytest.mark.parametrize(("model", "flags"), [("gpt-5-mini", ["SHARED_MODEL_FAMILY"]), ("llama-3", [])])
async def test_a_relative_of_the_generator_is_flagged(client: httpx.AsyncClient, model: str, flags: list[str]) -> None:
    assert (await judge(client, generation={"model": model})).json()["flags"] == flags


@pytest.mark.parametrize(
    ("step", "status", "code"),
    [
        (error(500), 503, "judge-unavailable"),
        (error(429), 503, "judge-limited"),
        (says("correct"), 502, "judge-output-unusable"),
        (error(401), 502, "judge-request-refused"),
    ],
)
async def test_a_judge_that_fails_is_an_error_never_a_verdict(
    start: Start, endpoint: FakeEndpoint, step: Step, status: int, code: str
) -> None:
    endpoint.usually = step
    client = speak_to(await start(deadline_seconds=20.0))
    answer = await judge(client)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{code}")
    counted = (await client.get("/metrics")).text
    labels = 'befund_judgments_total{caller="anonymous",dimension="correct",judge="openai",verdict="failed"} 1.0'
    assert labels in counted


async def test_a_judge_that_is_silent_is_504(start: Start, endpoint: FakeEndpoint) -> None:
    endpoint.usually = hangs
    answer = await judge(speak_to(await start(deadline_seconds=0.2)))
    assert (answer.status_code, answer.json()["type"]) == (504, "/problems/judge-deadline")


async def test_who_goes_away_is_not_judged_for(start: Start, endpoint: FakeEndpoint) -> None:
    app, gone = await start(), asyncio.Event()

    async def until_gone(asked: Asked, wire: Wire) -> None:
        await wire.caller_gone()
        gone.set()

    endpoint.usually = until_gone
    body = {"type": "http.request", "body": json.dumps(ITEM).encode(), "more_body": False}
    messages = iter([body])

    async def receive() -> Any:
        for message in messages:
            return message
        await endpoint.arrived.wait()
        return {"type": "http.disconnect"}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/judge", "raw_path": b"/judge", "query_string": b""}
    await app(scope | {"headers": headers, "client": None, "server": None, "scheme": "http"}, receive, send)
    assert sent[0]["status"] == 499
    async with asyncio.timeout(5):
        await gone.wait()


async def batch(client: httpx.AsyncClient, *items: Any, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await client.post("/judge/batch", json={"items": items, **options})).json()
    return found


async def test_in_a_batch_an_outage_is_the_problem_of_its_item(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    await judge(client)
    endpoint.usually = error(401)
    found = await batch(client, ITEM, ITEM | {"answer": "For 48 hours."})
    assert found["results"][0]["judgment"]["cached"] is True
    assert (found["results"][1]["judgment"], found["results"][1]["problem"]["status"]) == (None, 502)
    assert found["summary"]["rates"]["correct"]["unscored"] == 1


async def test_no_more_answers_are_under_way_than_the_judge_takes(start: Start, endpoint: FakeEndpoint) -> None:
    client = speak_to(await start(concurrency=2))
    pair, answers = asyncio.Barrier(2), says()

    async def both(asked: Asked, wire: Wire) -> None:
        await pair.wait()
        await answers(asked, wire)

    endpoint.usually = both
    found = await batch(client, *[ITEM | {"answer": f"For {hours} hours."} for hours in range(8)])
    assert all(result["judgment"] for result in found["results"])
    assert (len(endpoint.asked), endpoint.most_in_flight) == (8, 2)


async def test_a_batch_stops_before_it_costs_more_than_allowed(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    items = [ITEM | {"answer": f"For {hours} hours."} for hours in range(4)]
    found = await batch(client, *items, max_cost_usd=0.011)  # 0.00522 each
    assert [result["problem"] is None for result in found["results"]] == [True, True, False, False]
    problem = found["results"][2]["problem"]
    assert (problem["status"], problem["type"]) == (422, "/problems/cost-limit")
    assert "an answer costs up to $0.005220" in problem["detail"]
    assert (len(endpoint.asked), round(found["summary"]["usage"]["cost_usd"], 6)) == (2, 0.01044)


async def test_what_has_no_price_cannot_be_kept_under_a_limit(start: Start, endpoint: FakeEndpoint) -> None:
    client = speak_to(await start(price=None))
    found = await batch(client, ITEM, ITEM | {"answer": "For 48 hours."}, max_cost_usd=1.0)
    assert found["results"][1]["problem"]["type"] == "/problems/cost-unknown"
    assert len(endpoint.asked) == 1


async def test_a_judge_that_changed_is_another_run(start: Start) -> None:
    body = ITEM | {"dataset": "teralune", "question_id": "Q001", "run": "main"}
    client = speak_to(await start())
    assert (await client.post("/judge", json=body)).status_code == 200
    other = speak_to(await start(model="gpt-5"))
    refused = await other.post("/judge", json=body)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/run-conflict")
    assert "fingerprint of judge openai" in refused.json()["detail"]
    assert (await other.post("/judge", json=body | {"judge": "rules"})).status_code == 200
