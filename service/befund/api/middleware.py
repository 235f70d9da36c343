"""The outermost layer: request ids, one access line, request metrics, and bounds on slow callers.

It stands outside Litestar, so that what matches no route is seen too.
"""

import asyncio
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import structlog
from litestar import Litestar
from litestar.types import Message, Receive, Send

from befund.api.exchange import Exchange
from befund.api.problems import CALLER_GONE, Refusal
from befund.telemetry import UNMATCHED, Metrics, method_label

_LOGGED_PATH = 256


class Boundary:
    """The service as the server sees it.

    Args:
        app: The routes.
        metrics: Where requests are counted.
        body_idle_seconds: How long a caller may send nothing in the middle of a body.
        claim: Takes what only one process may have; raises DependencyError where another has it.
    """

    def __init__(
        self,
        app: Litestar,
        *,
        metrics: Metrics,
        body_idle_seconds: float = 30.0,
        claim: Callable[[], None] = lambda: None,
    ) -> None:
        self.app = app
        self.claim = claim
        self._body_idle_seconds = body_idle_seconds
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
        # HEAD is GET without its body; Litestar routes only what a handler names.
        inner: Any = {**scope, "method": "GET"} if sender.is_head else scope
        try:
            await self.app(inner, _receive_body_in_time(receive, exchange, self._body_idle_seconds), sender)
        finally:
            self._report(scope, inner, exchange, status=sender.status, seconds=perf_counter() - began)

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


class _Sender:
    """Sends an answer with the headers every answer has; one to HEAD without its body."""

    def __init__(self, send: Send, exchange: Exchange, *, is_head: bool) -> None:
        self._send = send
        self._exchange = exchange
        self.is_head = is_head
        self.status = 500

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


def _receive_body_in_time(receive: Receive, exchange: Exchange, idle_seconds: float) -> Receive:
    """Give up on a caller who stops in the middle of a body, or goes away there."""

    async def receive_in_time() -> Any:
        if exchange.body_read:
            return await receive()
        try:
            async with asyncio.timeout(idle_seconds):
                message: Any = await receive()
        except TimeoutError:
            detail = f"Nothing of the body arrived for {idle_seconds:g} s. Send the request again."
            raise Refusal(408, detail, headers={"Connection": "close"}) from None
        if message["type"] == "http.disconnect":
            raise Refusal(CALLER_GONE, "The caller went away before the body was complete.")
        exchange.body_read = not message.get("more_body", False)
        return message

    return receive_in_time
