"""A server that speaks the embeddings protocol over a real connection, and misbehaves as it is told."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[[list[str]], "Reply"]


class Reply:
    """A status, headers and a body; a body of None never comes."""

    def __init__(self, body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.status = status
        self.headers = headers or {}
        self.body = body


def vectors(*rows: list[Any]) -> Reply:
    """An answer as it should be."""
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    return Reply({"object": "list", "model": "small", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def of_lengths(texts: list[str]) -> Reply:
    """A vector a text that says how long it is."""
    return vectors(*([3.0, 4.0 * len(text)] for text in texts))


def failure(status: int, **headers: str) -> Reply:
    """An error as these services write them."""
    body = {"error": {"message": "no", "type": "x", "code": "some_code"}}
    return Reply(body, status=status, headers={name.replace("_", "-"): value for name, value in headers.items()})


class EmbeddingServer:
    """What it was asked, and where it is."""

    def __init__(self, replies: Iterator[Respond]) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.at_once = 0
        self.most_at_once = 0
        self.url = ""
        self.lock = threading.Lock()
        self.received = threading.Event()
        self.ended = threading.Event()
        self._replies = replies

    def next_reply(self) -> Respond:
        """How to answer the next request."""
        with self.lock:
            return next(self._replies)


@contextmanager
def embedding_server(replies: Iterator[Respond]) -> Iterator[EmbeddingServer]:
    """Run one until the end of the block."""
    state = EmbeddingServer(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with state.lock:
                state.asked.append(request)
                state.keys.append(self.headers["authorization"])
                state.at_once += 1
                state.most_at_once = max(state.most_at_once, state.at_once)
            state.received.set()
            reply = state.next_reply()(request["input"])
            with state.lock:
                state.at_once -= 1
            if reply.body is None:
                state.ended.wait(30)
                return
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
