"""An answer whose verdicts are known, sent along with a batch; and relatives of the generator among several judges."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from befund.app import create_app
from befund.core.configured import Cascade, Judges, Jury, ModelJudge
from befund.core.usage import Price
from befund.settings import Settings

from .endpoint import Asked, FakeEndpoint, Wire, changed, error, says
from .test_api import ITEM

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(endpoint: FakeEndpoint, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    models = [
        ModelJudge(name=name, model=model, url=endpoint.url, backoff_seconds=0.0, price=Price(2.0, 8.0, 0.5))
        for name, model in (("a", "gpt-4.1"), ("b", "qwen3-8b"))
    ]
    panels = (Jury("panel", ("a", "b", "rules")), Cascade("careful", ("rules", "b")))
    judges = Judges(default="a", every=(*models, *panels))
    app: Any = create_app(Settings(data_dir=tmp_path, chroma_url="http://127.0.0.1:9", judges=judges), checks=[])
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.app.lifespan())
        transport = httpx.ASGITransport(app)
        yield await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://befund"))


async def batch(client: httpx.AsyncClient, *items: Any, **options: Any) -> dict[str, Any]:
    answer = await client.post("/judge/batch", json={"items": items or [ITEM], "canary": True, **options})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def codes(found: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in found["summary"]["findings"]]


async def counted(client: httpx.AsyncClient, judge: str) -> dict[str, int]:
    shown = (await client.get("/metrics")).text
    outcomes = ("failed", "passed", "unjudged")
    name = "befund_judge_canaries_total"
    lines = dict(line.rsplit(" ", 1) for line in shown.splitlines() if line.startswith(name))
    return {each: int(float(lines[f'{name}{{judge="{judge}",outcome="{each}"}}'])) for each in outcomes}


def about_the_canary(step: Any) -> Any:
    """Do this when asked about the canary, else answer well."""

    async def chosen(asked: Asked, wire: Wire) -> None:
        await (step if "archive" in asked.data["question"] else says())(asked, wire)

    return chosen


WAVES_THROUGH = changed(
    lambda reply: reply["facts"][0].update(verdict="stated", quote="Deleted reports are kept in the archive")
)


async def test_nothing_is_sent_along_unless_it_is_wanted(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    assert codes(await batch(client, canary=False)) == []
    assert len(endpoint.asked) == 1


async def test_a_judge_that_knows_it_passes_without_a_word(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    found = await batch(client)
    assert (codes(found), len(found["results"]), found["summary"]["questions"]) == ([], 1, 1)
    assert len(endpoint.asked) == 2
    assert await counted(client, "a") == {"failed": 0, "passed": 1, "unjudged": 0}


async def test_a_judge_that_misses_it_is_told_and_no_verdict_is_changed(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    endpoint.usually = about_the_canary(WAVES_THROUGH)
    found = await batch(client)
    assert codes(found) == ["CANARY_FAILED"]
    (finding,) = found["summary"]["findings"]
    assert "'a' missed an answer whose verdicts are known (correct is true)" in finding["message"]
    assert found["results"][0]["judgment"]["correct"] is True
    assert found["summary"]["rates"]["correct"]["n"] == 1
    assert await counted(client, "a") == {"failed": 1, "passed": 0, "unjudged": 0}


async def test_a_judge_that_fails_at_it_alone_leaves_it_unjudged(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    endpoint.usually = about_the_canary(error(401))
    assert codes(await batch(client)) == ["CANARY_UNJUDGED"]
    assert await counted(client, "a") == {"failed": 0, "passed": 0, "unjudged": 1}


async def test_it_is_never_taken_from_the_cache_and_what_it_costs_is_told(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    await batch(client)
    found = await batch(client)
    assert found["results"][0]["judgment"]["cached"] is True
    assert len(endpoint.asked) == 3
    assert found["summary"]["usage"]["input_tokens"] == 3000


async def test_every_judge_of_the_batch_gets_one(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    await batch(client, ITEM, ITEM | {"judge": "rules"}, ITEM | {"judge": "a"})
    assert (await counted(client, "a"))["passed"] == 1
    assert (await counted(client, "rules"))["passed"] == 1


async def test_a_job_sends_one_along_too(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    endpoint.usually = about_the_canary(WAVES_THROUGH)
    body = {"items": [ITEM, ITEM], "canary": True}
    put = await client.post("/judge/batch", json=body, headers={"prefer": "respond-async"})
    await client.get(f"{put.headers['location']}/events")
    job = (await client.get(put.headers["location"])).json()
    assert (job["state"], job["done"], len(job["result"]["results"])) == ("done", 2, 2)
    assert codes(job["result"]) == ["CANARY_FAILED"]


async def test_what_it_cost_is_among_what_a_job_spent(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    spent = {}
    for canary in (False, True):
        body = {"items": [ITEM], "canary": canary, "use_cache": False}
        put = await client.post("/judge/batch", json=body, headers={"prefer": "respond-async"})
        await client.get(f"{put.headers['location']}/events")
        job = (await client.get(put.headers["location"])).json()
        spent[canary] = job["spent_cost_usd"]
        assert spent[canary] == pytest.approx(job["result"]["summary"]["usage"]["cost_usd"])
    assert (spent[False], spent[True]) == (pytest.approx(0.00522), pytest.approx(0.01044))


@pytest.mark.parametrize(
    ("judge", "generator", "flags"),
    [
        ("panel", "gpt-5-mini", ["SHARED_MODEL_FAMILY"]),
        ("panel", "qwen2.5-72b", ["SHARED_MODEL_FAMILY"]),
        ("panel", "claude-sonnet-4", []),
        ("careful", "qwen2.5-72b", ["SHARED_MODEL_FAMILY"]),
        ("careful", "gpt-5-mini", []),
    ],
)
async def test_a_relative_of_the_generator_among_several_judges_is_flagged(
    client: httpx.AsyncClient, judge: str, generator: str, flags: list[str]
) -> None:
    answer = await client.post("/judge", json=ITEM | {"judge": judge, "generation": {"model": generator}})
    assert answer.json()["flags"] == flags


async def test_several_judges_name_the_models_they_may_ask(client: httpx.AsyncClient) -> None:
    told = (await client.post("/judge", json=ITEM | {"judge": "panel"})).json()["judge"]
    assert (told["model"], told["models"]) == (None, ["gpt-4.1", "qwen3-8b"])
