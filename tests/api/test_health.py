import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import befund
from befund.api.health import Check

pytestmark = pytest.mark.anyio


async def answers() -> None: ...


async def refuses() -> None:
    raise ConnectionRefusedError("postgres://user:password@db")


async def test_the_address_alone_names_what_is_served(client: httpx.AsyncClient) -> None:
    answer = await client.get("/")
    assert answer.status_code == 200
    assert answer.json() == {
        "service": "befund",
        "version": befund.__version__,
        "paths": ["/schema", "/healthz", "/readyz", "/metrics"],
    }


async def test_alive_tells_the_version(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz")
    assert answer.json() == {"status": "ok", "version": "0.1.0"}


async def test_ready_with_a_store_that_answers(kept: httpx.AsyncClient) -> None:
    answer = await kept.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ready", "dependencies": {"store": {"state": "ok", "detail": None}}}


async def test_unready_while_the_store_does_not_answer(kept: httpx.AsyncClient, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "data" / "befund.sqlite")
    connection.execute("ALTER TABLE dataset_versions RENAME TO mislaid")
    connection.close()
    answer = await kept.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["dependencies"]["store"] == {"state": "down", "detail": "store-unavailable"}


async def test_unready_while_something_vital_is_down(serve_kept: Callable[..., Any]) -> None:
    answer = await (await serve_kept(checks=[Check("cache", refuses), Check("index", answers)])).get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "unready",
        "dependencies": {
            "store": {"state": "ok", "detail": None},
            "cache": {"state": "down", "detail": "ConnectionRefusedError"},
            "index": {"state": "ok", "detail": None},
        },
    }


async def test_what_is_not_vital_is_shown_and_does_not_unready(serve_kept: Callable[..., Any]) -> None:
    answer = await (await serve_kept(checks=[Check("judge", refuses, vital=False)])).get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["dependencies"]["judge"]["state"] == "down"


async def test_a_dependency_that_hangs_is_down(serve_kept: Callable[..., Any]) -> None:
    async def hangs() -> None:
        await asyncio.sleep(60)

    answer = await (await serve_kept(checks=[Check("cache", hangs, seconds=0.05)])).get("/readyz")
    assert answer.json()["dependencies"]["cache"] == {"state": "down", "detail": "no answer within 0.05 s"}


async def test_metrics_name_their_charset_once(client: httpx.AsyncClient) -> None:
    answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=1.0.0; charset=utf-8"
