"""The service in the test's own process, without a server before it."""

import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import structlog
from litestar import get

from befund.api.auth import needs
from befund.api.health import Check
from befund.app import create_app
from befund.settings import Settings, parse_api_keys
from befund.telemetry import configure_logging

KEYS = parse_api_keys("ci:ci-secret=evaluate,dashboard:dash-secret=read")


@get("/fail", opt=needs("read"), sync_to_thread=False)
def fail() -> None:
    raise KeyError("A private question?")


@get("/too-much", opt=needs("read"))
async def too_much() -> None:
    raise MemoryError


def connect_to(settings: Settings | None = None, **options: Any) -> httpx.AsyncClient:
    routes = [fail, too_much, *options.pop("routes", ())]
    app: Any = create_app(settings or Settings(), routes=routes, **{"checks": [], **options})
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://befund")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def connect() -> Callable[..., httpx.AsyncClient]:
    """Makes clients that speak directly to an app of these settings."""
    return connect_to


@pytest.fixture
def client() -> httpx.AsyncClient:
    """Without keys: everything is open."""
    return connect_to()


@pytest.fixture
def guarded() -> httpx.AsyncClient:
    """With the keys `ci` (evaluate) and `dashboard` (read)."""
    return connect_to(msgspec.structs.replace(Settings(), api_keys=KEYS))


@pytest.fixture
async def serve_kept(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts apps whose store is a file of this test's; they end with it."""
    async with AsyncExitStack() as stack:

        async def start(checks: Sequence[Check] = (), **settings: Any) -> httpx.AsyncClient:
            # Several of them may have the store's folder, but only one the index's: theirs is a server nobody asks.
            alone = Settings(data_dir=tmp_path / "data", chroma_url="http://127.0.0.1:9")
            chosen = msgspec.structs.replace(alone, **settings)
            app: Any = create_app(chosen, checks=checks)
            await stack.enter_async_context(app.app.lifespan())
            return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://befund")

        yield start


@pytest.fixture
async def kept(serve_kept: Callable[..., Any]) -> httpx.AsyncClient:
    """Without keys, with a store."""
    client: httpx.AsyncClient = await serve_kept()
    return client


@pytest.fixture
async def kept_guarded(serve_kept: Callable[..., Any]) -> httpx.AsyncClient:
    """With a store and the keys `ci` (evaluate), `dashboard` (read) and `ops` (admin)."""
    client: httpx.AsyncClient = await serve_kept(api_keys=(*KEYS, *parse_api_keys("ops:ops-secret=admin")))
    return client


@pytest.fixture
def example() -> dict[str, Any]:
    return {
        "dataset": {"questions": [{"id": "Q1", "question": "A private question?", "relevant": ["c1"]}]},
        "retrieval": {"rankings": {"Q1": ["c1", "c2"]}},
    }


@pytest.fixture
def logged() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What is logged while the test runs, line by line."""
    stream = io.StringIO()
    configure_logging("info", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    structlog.reset_defaults()
