"""What is known of one request on its way through the layers: its ids, and who sent it."""

import re
from collections.abc import MutableMapping
from typing import Any
from uuid import uuid4

from msgspec import Struct

from befund.telemetry import ANONYMOUS

_KEY = "exchange"
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")
_TRACEPARENT = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?P<more>-[\x21-\x7e]{1,256})?"
)


class Exchange(Struct):
    """One request. The middleware makes it, authentication names the caller, logs and problems read it.

    `scopes` are those of the caller's key, None where no key is asked for; `replayed` says that the answer is one that
    was given before.
    """

    request_id: str
    traceparent: str | None
    trace_id: str | None
    caller: str = ANONYMOUS
    scopes: frozenset[str] | None = None
    replayed: bool = False

    @classmethod
    def begin(cls, scope: MutableMapping[str, Any]) -> "Exchange":
        """Make the exchange of a request, from ids it brings where they are sane."""
        headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        sent_id = headers.get(b"x-request-id", b"")
        traceparent = headers.get(b"traceparent", b"")
        trace = _parse_traceparent(traceparent)
        exchange = cls(
            request_id=sent_id.decode("ascii") if _REQUEST_ID.fullmatch(sent_id) else uuid4().hex,
            traceparent=traceparent.decode("ascii") if trace else None,
            trace_id=trace,
        )
        scope.setdefault("state", {})[_KEY] = exchange
        return exchange

    @classmethod
    def of(cls, scope: Any) -> "Exchange":
        """The exchange the middleware began for this request."""
        exchange: Exchange = scope["state"][_KEY]
        return exchange

    def log_fields(self) -> dict[str, object]:
        """What ties a log line to the request."""
        return {"request_id": self.request_id, "trace_id": self.trace_id}

    def echo(self) -> list[tuple[bytes, bytes]]:
        """Response headers that give the ids back, and say whether the answer is an earlier one."""
        headers = [(b"x-request-id", self.request_id.encode())]
        if self.traceparent is not None:
            headers.append((b"traceparent", self.traceparent.encode()))
        if self.replayed:
            headers.append((b"idempotency-replayed", b"true"))
        return headers


def _parse_traceparent(value: bytes) -> str | None:
    """Give the trace id of a valid W3C traceparent. Version 00 has four parts; a later one may have more."""
    match = _TRACEPARENT.fullmatch(value)
    if match is None or (match["more"] and value.startswith(b"00")):
        return None
    return match["trace"].decode("ascii")
