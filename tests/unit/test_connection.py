"""Connections over real sockets in the test's own process, with little patience."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from befund.connection import Connection

pytestmark = pytest.mark.anyio

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[Any], AbstractAsyncContextManager[Streams]]
LIVE = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": sys.platform != "win32"}


async def answers(scope: Any, receive: Any, send: Any, *, body: bytes = b"ok") -> None:
    """Answer at once, whatever is still to be received."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def connected(app: Any, **bounds: Any) -> AsyncIterator[Streams]:
    """A connection to a server of this app."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", h11_max_incomplete_event_size=65_536)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(config=config, server_state=state, app_state={}, **bounds), "127.0.0.1", 0
    )
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            yield reader, writer
        finally:
            for transport in (writer.transport, *(connection.transport for connection in state.connections)):
                transport.abort()
            await asyncio.sleep(0.01)  # the loop closes what was aborted


async def test_a_head_that_does_not_arrive_in_time_ends_the_connection() -> None:
    async with connected(answers, patience_seconds=0.05) as (reader, writer):
        writer.write(LIVE[:-1])
        assert await reader.read() == b""


async def test_a_head_that_trickles_ends_the_connection_too() -> None:
    async with connected(answers, patience_seconds=0.05) as (reader, writer):
        end = asyncio.create_task(reader.read())
        writer.write(LIVE[:-2])
        while not end.done():
            writer.write(b"x: y\r\n")
            await asyncio.sleep(0.005)
        assert end.result() == b""


async def test_the_second_head_has_as_little_time() -> None:
    async with connected(answers, patience_seconds=0.05) as (reader, writer):
        writer.write(LIVE)
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.write(LIVE[:-1])
        assert await reader.read() == b""


async def test_between_requests_there_is_more_time() -> None:
    async with connected(answers, patience_seconds=0.01) as (reader, writer):
        for _ in range(2):
            await asyncio.sleep(0.05)
            writer.write(LIVE)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")


async def test_the_rest_of_a_body_that_was_answered_early_is_not_awaited_for_ever() -> None:
    async with connected(answers, patience_seconds=0.05) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n")
        await reader.readuntil(b"ok")
        end = asyncio.create_task(reader.read())
        while not end.done():
            writer.write(b"x")
            await asyncio.sleep(0.005)
        assert end.result() == b""


async def test_after_the_rest_of_such_a_body_the_connection_goes_on() -> None:
    async with connected(answers) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n")
        await reader.readuntil(b"ok")
        writer.write(b"xxxxx" + LIVE)
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")


async def test_a_caller_who_does_not_read_loses_the_answer() -> None:
    async def answers_much(scope: Any, receive: Any, send: Any) -> None:
        await answers(scope, receive, send, body=b"x" * 50_000_000)

    async with connected(answers_much, patience_seconds=0.05) as (reader, writer):
        writer.write(LIVE)
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.3)
        assert len(await reader.read()) < 50_000_000


async def test_a_caller_who_reads_slowly_gets_the_answer() -> None:
    async def answers_much(scope: Any, receive: Any, send: Any) -> None:
        await answers(scope, receive, send, body=b"x" * 20_000_000)

    async with connected(answers_much, patience_seconds=0.2) as (reader, writer):
        writer.write(LIVE)
        await reader.readuntil(b"\r\n\r\n")
        left = 20_000_000
        while left:
            left -= len(await reader.read(1_000_000))
            await asyncio.sleep(0.02)
