import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from befund.api.arrival import Bodies
from befund.api.problems import Refusal

pytestmark = pytest.mark.anyio


def scope_of(length: int | None = None) -> Any:
    return {"headers": [] if length is None else [(b"content-length", b"%d" % length)]}


def sends(*parts: bytes, more: bool = False) -> Any:
    """A caller who sends these parts, the last of which ends the body unless there are to be `more`."""
    last = len(parts) - 1
    messages = iter(
        {"type": "http.request", "body": part, "more_body": more or number < last} for number, part in enumerate(parts)
    )

    async def receive() -> Any:
        for message in messages:
            return message
        return await asyncio.Event().wait()

    return receive


async def trickles() -> Any:
    await asyncio.sleep(0)
    return {"type": "http.request", "body": b"x", "more_body": True}


async def receive_all(receive: Any) -> None:
    while True:
        await receive()


async def refusal_of(receive: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await receive_all(receive)
    return caught.value


async def test_a_body_that_stops_arriving_is_408() -> None:
    bodies = Bodies(most_bytes=100, seconds=60, idle_seconds=0.01)
    with bodies.receiving(scope_of(), sends(b"{", more=True)) as receive:
        refusal = await refusal_of(receive)
    assert refusal.status == 408
    assert refusal.detail.startswith("Nothing of the body arrived for 0.01 s.")
    assert refusal.headers == {"Connection": "close"}


async def test_a_body_that_trickles_is_408_too() -> None:
    bodies = Bodies(most_bytes=10_000_000, seconds=0.01, idle_seconds=60)
    with bodies.receiving(scope_of(), trickles) as receive:
        refusal = await refusal_of(receive)
    assert refusal.status == 408
    assert refusal.detail.startswith("The body did not arrive within 0.01 s.")


async def test_bodies_still_arriving_are_bounded_together() -> None:
    bodies = Bodies(most_bytes=100, seconds=60)
    with ExitStack() as stack:
        first = stack.enter_context(bodies.receiving(scope_of(), sends(b"x" * 60, more=True)))
        second = stack.enter_context(bodies.receiving(scope_of(), sends(b"x" * 40, b"x")))
        await first()
        await second()
        refusal = await refusal_of(second)
    assert refusal.status == 503
    assert refusal.headers == {"Retry-After": "2"}


async def test_a_complete_body_counts_until_its_request_is_answered() -> None:
    bodies = Bodies(most_bytes=100, seconds=60)
    with bodies.receiving(scope_of(), sends(b"x" * 60)) as receive:
        await receive()
        with bodies.receiving(scope_of(41), sends(b"x" * 41)) as too_much:
            refusal = await refusal_of(too_much)
    with bodies.receiving(scope_of(100), sends(b"x" * 100)) as receive:
        assert (await receive())["body"] == b"x" * 100
    assert refusal.status == 503


async def test_a_claim_takes_no_room() -> None:
    bodies = Bodies(most_bytes=100, seconds=60)
    with (
        bodies.receiving(scope_of(100), sends(b"x", more=True)) as claims,
        bodies.receiving(scope_of(99), sends(b"x" * 99)) as receive,
    ):
        await claims()
        assert (await receive())["body"] == b"x" * 99


async def test_after_the_body_nothing_is_bounded() -> None:
    bodies = Bodies(most_bytes=1, seconds=0.01, idle_seconds=0.01)
    gone: Any = {"type": "http.disconnect"}

    async def leaves_late() -> Any:
        await asyncio.sleep(0.02)
        return gone

    receives = [sends(b"x"), leaves_late]
    with bodies.receiving(scope_of(), lambda: receives.pop(0)()) as receive:
        await receive()
        assert await receive() == gone
