"""Where evaluations run: small ones at once, large ones in a few threads, so that the event loop stays free."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from litestar.types import Receive

from befund.api.problems import CALLER_GONE, Refusal

T = TypeVar("T")

INLINE_BYTES = 64 * 1024
"""A body below this size is evaluated faster than a thread is woken."""


class Workers:
    """A few threads with a bounded line before them.

    Args:
        at_once: How many pieces of work run at the same time.
        waiting: How many more may wait; each holds its body in memory.
    """

    def __init__(self, *, at_once: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="evaluation")
        self._places = at_once + waiting
        self._taken = 0

    async def run(self, work: Callable[[], T], *, size: int, receive: Receive) -> T:
        """Do the work for a body of `size` bytes. Work still waiting when its caller goes away is not begun."""
        if size < INLINE_BYTES:
            return work()
        if self._taken >= self._places:
            raise Refusal(503, "Too many evaluations are waiting. Try again shortly.", headers={"Retry-After": "2"})
        self._taken += 1
        try:
            return await _unless_caller_goes(self._threads.submit(work), receive)
        finally:
            self._taken -= 1

    def close(self) -> None:
        """Let the threads end when their work is done."""
        self._threads.shutdown(wait=False)


async def _unless_caller_goes(job: Future[T], receive: Receive) -> T:
    result = asyncio.wrap_future(job)
    departure = asyncio.create_task(_departure(receive))
    try:
        first: set[asyncio.Future[Any]] = {result, departure}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not result.done() and job.cancel():
            raise Refusal(CALLER_GONE, "The caller went away before the evaluation began.")
        return await result
    finally:
        departure.cancel()


async def _departure(receive: Receive) -> None:
    """Return when the caller closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
