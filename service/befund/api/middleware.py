"""The outermost layer: request ids, one access line, request metrics, and bounds on what callers send.

It stands outside Litestar, so that what matches no route is seen too.
"""

import asyncio
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import structlog
from litestar import Litestar
from litestar.types import Message, Receive, Send

from befund.api.arrival import Bodies, malformation
from befund.api.exchange import Exchange
from befund.api.jobs import Ending
from befund.api.problems import Refusal, send_problem
from befund.telemetry import UNMATCHED, Metrics, method_label

LARGEST_HEAD_BYTES = 64 * 1024
"""Request line and headers together."""
HEAD_TOO_LARGE = f"Request line and headers are over {LARGEST_HEAD_BYTES} bytes. Send fewer or shorter headers."

_LOGGED_PATH = 256


class Boundary:
    """The service as the server sees it.

    Args:
        app: The routes.
        metrics: Where requests are counted.
        bodies: What is held of bodies.
        claim: Takes what only one process may have; raises DependencyError where another has it.
        ending: Tells long answers that the service ends.
    """

    def __init__(
        self,
        app: Litestar,
        *,
        metrics: Metrics,
        bodies: Bodies,
        claim: Callable[[], None] = lambda: None,
        ending: Ending | None = None,
    ) -> None:
        self.app = app
        self.claim = claim
        self.ending = ending or Ending()
        self._bodies = bodies
        self._metrics = metrics
        self._paths = frozenset(route.path for route in app.routes)
        self._log = structlog.get_logger()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Pass one request on and report it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = perf_counter()
        exchange = Exchange.begin(scope)
        sender = _Sender(send, exchange, is_head=scope["method"] == "HEAD")
        scope["path"] = _origin_form(scope["path"])
        # HEAD is GET without its body; Litestar routes only what a handler names.
        inner: Any = {**scope, "method": "GET"} if sender.is_head else scope
        try:
            refusal = malformation(scope) or _unreadable(scope)
            if refusal is not None:
                await send_problem(scope, refusal, sender)
                return
            with self._bodies.receiving(scope, receive) as bounded:
                await self.app(inner, bounded, sender)
        except asyncio.CancelledError:  # the server stops and its time to finish is over
            if sender.status is not None:
                raise
            detail = "The service stopped before it came to this request. Send it again."
            await send_problem(scope, Refusal(503, detail, headers={"Retry-After": "2"}), sender)
        finally:
            self._report(scope, inner, exchange, status=sender.status or 500, seconds=perf_counter() - began)

    def _report(self, scope: Any, inner: Any, exchange: Exchange, *, status: int, seconds: float) -> None:
        route = self._route_of(inner)
        self._metrics.http_request(
            route=route, method=method_label(scope["method"]), status=status, caller=exchange.caller, seconds=seconds
        )
        self._log.info(
            "request",
            **exchange.log_fields(),
            method=scope["method"],
            path=scope["path"][:_LOGGED_PATH],
            route=route,
            status=status,
            caller=exchange.caller,
            duration_ms=round(seconds * 1000, 3),
        )

    def _route_of(self, scope: Any) -> str:
        """Give the route's template. A method a path does not answer leaves none, though the path may be known."""
        template: str | None = scope.get("path_template")
        if template is not None:
            return template
        return scope["path"] if scope["path"] in self._paths else UNMATCHED


def _origin_form(target: str) -> str:
    """Take scheme and host off a path that a caller sent as if to a proxy, as HTTP/1.1 asks of servers."""
    if not target.startswith(("http://", "https://")):
        return target
    return "/" + target.partition("://")[2].partition("/")[2]


def _unreadable(scope: Any) -> Refusal | None:
    """Refuse what the server lets through: another HTTP, a length said twice, a large head that came in one piece."""
    if not scope.get("http_version", "1.1").startswith("1."):
        return Refusal(505, "HTTP/1.1 is spoken here. Send the request in it.", headers={"Connection": "close"})
    names = {name for name, _ in scope["headers"]}
    if names >= {b"content-length", b"transfer-encoding"}:
        detail = "A body has Content-Length or Transfer-Encoding, not both. Send one of them."
        return Refusal(400, detail, headers={"Connection": "close"})
    size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if size + len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LARGEST_HEAD_BYTES:
        return Refusal(431, HEAD_TOO_LARGE)
    return None


class _Sender:
    """Sends an answer with the headers every answer has; one to HEAD without its body."""

    def __init__(self, send: Send, exchange: Exchange, *, is_head: bool) -> None:
        self._send = send
        self._exchange = exchange
        self.is_head = is_head
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        changed: Any = message
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*_allowing_head(message["headers"]), *self._exchange.echo(), _NO_SNIFFING]
            changed = {**message, "headers": headers}
        elif message["type"] == "http.response.body" and self.is_head:
            changed = {**message, "body": b""}
        await self._send(changed)


_NO_SNIFFING = (b"x-content-type-options", b"nosniff")


def _allowing_head(headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    """Name HEAD in `Allow` wherever GET stands there."""
    for name, value in headers:
        is_allow = name.lower() == b"allow" and b"GET" in value
        yield (name, value.replace(b"GET", b"GET, HEAD")) if is_allow else (name, value)
