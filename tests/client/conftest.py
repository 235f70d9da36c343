"""A service played over a real socket: what it answers is a script, what it was asked is kept."""

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from befund_client import AsyncClient, Client, Retry

ESTIMATE = {"value": 0.75, "ci": None, "n": 4, "attempted": 4, "unscored": 0, "method": "too_few"}


def measured(**changes: Any) -> dict[str, Any]:
    """Build an answer of POST /retrieve-eval."""
    answer: dict[str, Any] = {
        "questions": {
            "total": 1,
            "eligible": 1,
            "excluded": {"behavior": [], "ground_truth": [], "mapping": [], "index": None},
            "missing_from_run": [],
            "unknown_in_run": 0,
        },
        "metrics": {"hit_rate@1": ESTIMATE},
        "slices": {},
        "per_question": [],
        "context": {"chunks_per_question": 1.0, "tokens_per_question": None, "tokenizer": None},
        "findings": [],
        "timings": {"embed_ms": None, "search_ms": None, "score_ms": 0.1},
        "intervals": {"confidence": 0.95, "seed": 7, "resamples": 2000, "unit": "question"},
        "config": {},
        "run": None,
    }
    return answer | changes


def problem(status: int, detail: str = "what is wrong", **changes: Any) -> dict[str, Any]:
    """Build a problem document."""
    return {
        "type": "/problems/some-code",
        "title": "Some title",
        "status": status,
        "detail": detail,
        "instance": "/retrieve-eval",
        "request_id": "r-1",
    } | changes


@dataclass
class Reply:
    """One scripted answer."""

    status: int = 200
    body: bytes | dict[str, Any] = b""
    headers: dict[str, str] = field(default_factory=dict)
    after_seconds: float = 0.0
    reset: bool = False

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Service(ThreadingHTTPServer):
    """Gives the scripted replies in order, the last one for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[Reply] = []
        self.asked: list[Asked] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def plays(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def next_reply(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hangs up is part of the play."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(Asked(self.command, self.path, headers, body))
        reply = self.server.next_reply()
        time.sleep(reply.after_seconds)
        if reply.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        content = reply.content()
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


QUICK = Retry(attempts=3, budget_seconds=5.0, first_delay=0.01, longest_delay=0.02)
Ask = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, service: Service) -> Ask:
    """Call one verb of either client: `ask("health")`."""

    def ask_sync(verb: str, *args: Any, client: dict[str, Any] | None = None, **keywords: Any) -> Any:
        with Client(**{"url": service.url, "retry": QUICK} | (client or {})) as made:
            return getattr(made, verb)(*args, **keywords)

    def ask_async(verb: str, *args: Any, client: dict[str, Any] | None = None, **keywords: Any) -> Any:
        async def run() -> Any:
            async with AsyncClient(**{"url": service.url, "retry": QUICK} | (client or {})) as made:
                return await getattr(made, verb)(*args, **keywords)

        return asyncio.run(run())

    return ask_sync if request.param == "sync" else ask_async


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BEFUND_URL", "BEFUND_API_KEY"):
        monkeypatch.delenv(name, raising=False)
