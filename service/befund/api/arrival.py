"""Bodies on their way in: bounded in time each, and together in how much memory they take.

What callers claim to send is not counted, only what has arrived: a claim costs nothing, and nobody can reserve room.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from litestar.types import Receive

from befund.api.problems import CALLER_GONE, Refusal

MALFORMED = "befund.malformed"
"""Key in a scope's `extensions`: what the connection could not read of the request, as a `Refusal`."""


class Bodies:
    """The bodies held in memory, each from its first byte until its request is answered.

    Args:
        most_bytes: How large they may be together.
        seconds: How long one may take to arrive.
        idle_seconds: How long nothing of one may arrive.
    """

    def __init__(self, *, most_bytes: int, seconds: float, idle_seconds: float = 30.0) -> None:
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._held = 0

    @contextmanager
    def receiving(self, scope: Any, receive: Receive) -> Iterator[Receive]:
        """Give a `receive` that refuses a body beyond the bounds, and one that breaks off."""
        taken = 0
        complete = False
        until = asyncio.get_running_loop().time() + self._seconds

        async def receive_within_bounds() -> Any:
            nonlocal taken, complete
            if complete:
                return await receive()
            if taken == 0:
                self._refuse_beyond(_claimed_length(scope))
            message = await self._next(receive, until)
            if message["type"] == "http.disconnect":
                raise Refusal(CALLER_GONE, "The caller went away before the body was complete.")
            refusal = malformation(scope)
            if refusal is not None:
                raise refusal
            size = len(message.get("body", b""))
            self._refuse_beyond(size)
            self._held += size
            taken += size
            complete = not message.get("more_body", False)
            return message

        try:
            yield receive_within_bounds
        finally:
            self._held -= taken

    def _refuse_beyond(self, size: int) -> None:
        if self._held + size > self._most_bytes:
            detail = "The bodies of the requests under way take all the room there is. Try again shortly."
            raise Refusal(503, detail, headers={"Retry-After": "2"})

    async def _next(self, receive: Receive, until: float) -> Any:
        idle_until = asyncio.get_running_loop().time() + self._idle_seconds
        try:
            async with asyncio.timeout_at(min(until, idle_until)):
                return await receive()
        except TimeoutError:
            if idle_until <= until:
                detail = f"Nothing of the body arrived for {self._idle_seconds:g} s. Send the request again."
            else:
                detail = (
                    f"The body did not arrive within {self._seconds:g} s. Send it faster or in parts, "
                    "or raise BEFUND_BODY_TIMEOUT_SECONDS."
                )
            raise Refusal(408, detail, headers={"Connection": "close"}) from None


def malformation(scope: Any) -> Refusal | None:
    """What the connection could not read of this request, if there is anything."""
    refusal: Refusal | None = (scope.get("extensions") or {}).get(MALFORMED)
    return refusal


def _claimed_length(scope: Any) -> int:
    value = dict(scope["headers"]).get(b"content-length", b"")
    return int(value) if value.isdigit() else 0
