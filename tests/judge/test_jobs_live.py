"""A job survives the death of the process that works on it."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from .endpoint import Asked, FakeEndpoint, Wire, hangs, says

pytestmark = pytest.mark.anyio

ITEMS = 500
BEFORE_THE_KILL = 200
AT_ONCE = 16


def question(place: int) -> str:
    return f"How long is webhook {place} retried?"


def item(place: int) -> dict[str, Any]:
    said = f"Webhook {place} is retried for 72 hours."
    return {
        "question": question(place),
        "answer": said,
        "expected_facts": ["72 hours"],
        "context": [{"id": "c1", "text": said}],
    }


async def test_kill_9_in_the_middle_loses_nothing_and_asks_nothing_finished_again(
    endpoint: FakeEndpoint, serve: Callable[..., Any], tmp_path: Path
) -> None:
    settings = {
        "BEFUND_DATA_DIR": str(tmp_path),
        "BEFUND_JUDGE_MODEL": "m-1",
        "BEFUND_JUDGE_URL": endpoint.url,
        "BEFUND_JUDGE_KEY": "k",
        "BEFUND_JUDGE_CONCURRENCY": str(AT_ONCE),
    }
    in_the_middle, answers = asyncio.Event(), says()

    async def stops_in_the_middle(asked: Asked, wire: Wire) -> None:
        if len(endpoint.asked) > BEFORE_THE_KILL:
            in_the_middle.set()
            await hangs(asked, wire)
        else:
            await answers(asked, wire)

    endpoint.usually = stops_in_the_middle
    first = serve(**settings)
    body = {"items": [item(place) for place in range(ITEMS)], "monitor": "prod"}
    async with httpx.AsyncClient(base_url=first.url, timeout=60) as client:
        answer = await client.post("/judge/batch", json=body)
    assert answer.status_code == 202
    async with asyncio.timeout(120):
        await in_the_middle.wait()
    first.popen.kill()
    first.popen.wait()
    finished = finished_places(tmp_path / "befund.sqlite")
    assert 0 < len(finished) <= BEFORE_THE_KILL
    endpoint.usually = answers

    second = serve(**settings)
    async with httpx.AsyncClient(base_url=second.url, timeout=120) as client:
        told = (await client.get(f"{answer.headers['location']}/events")).text
        job = (await client.get(answer.headers["location"])).json()
        monitor = (await client.get("/monitors/prod")).json()
    assert '"state":"done"' in told
    assert (job["state"], job["done"], job["failed"]) == ("done", ITEMS, 0)
    assert [result["index"] for result in job["result"]["results"]] == list(range(ITEMS))
    assert all(result["judgment"]["correct"] for result in job["result"]["results"])
    assert (monitor["answers"], monitor["rates"]["correct"]["n"]) == (ITEMS, ITEMS)
    times = Counter(asked.data["question"] for asked in endpoint.asked)
    assert {times[question(place)] for place in finished} == {1}
    assert len(times) == ITEMS
    assert 0 < len(endpoint.asked) - ITEMS <= AT_ONCE


async def test_a_stream_of_events_ends_when_the_service_does(
    endpoint: FakeEndpoint, serve: Callable[..., Any], tmp_path: Path
) -> None:
    endpoint.usually = hangs
    service = serve(
        BEFUND_DATA_DIR=str(tmp_path),
        BEFUND_JUDGE_MODEL="m-1",
        BEFUND_JUDGE_URL=endpoint.url,
        BEFUND_JUDGE_KEY="k",
    )
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        headers = {"prefer": "respond-async"}
        sent = await client.post("/judge/batch", json={"items": [item(1)]}, headers=headers)
        async with client.stream("GET", f"{sent.headers['location']}/events") as answer:
            lines = answer.aiter_lines()
            assert await anext(lines) == "event: progress"
            service.popen.terminate()
            rest = [line async for line in lines]
    assert json.loads(rest[0].removeprefix("data: "))["done"] == 0
    code, _ = await asyncio.to_thread(service.end)
    assert code == 0


def finished_places(store: Path) -> list[int]:
    with sqlite3.connect(store) as connection:
        rows = connection.execute("SELECT place FROM job_items WHERE result IS NOT NULL").fetchall()
    connection.close()
    return [place for (place,) in rows]
