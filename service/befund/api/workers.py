"""Where evaluations run: in a few threads, so that the event loop stays free.

Small ones too: evaluated on the loop, sixteen callers with 45 KB bodies kept /healthz waiting for 240 ms, in threads
75 ms at worst.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from litestar.types import Receive

from befund.api.problems import CALLER_GONE, Refusal
from befund.usecases.recording import Wait

T = TypeVar("T")


class Workers:
    """A few threads with a bounded line before them.

    Args:
        at_once: How many pieces of work run at the same time.
        places: How many may run or wait.
    """

    def __init__(self, *, at_once: int, places: int) -> None:
        self._threads = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="evaluation")
        self._places = places
        self._taken = 0

    async def run(self, work: Callable[[], T], *, receive: Receive) -> T:
        """Do the work. What still waits when its caller goes away is not begun."""
        if self._taken >= self._places:
            raise Refusal(503, "Too many evaluations are waiting. Try again shortly.", headers={"Retry-After": "2"})
        self._taken += 1
        try:
            return await _unless_caller_goes(self._threads.submit(work), receive)
        finally:
            self._taken -= 1

    def close(self) -> None:
        """Let the threads end with the work they are at."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def wait_on_loop() -> Wait:
    """From a thread, wait for what the event loop that runs now does."""
    loop = asyncio.get_running_loop()

    def wait(call: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(call, loop).result()

    return wait


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


async def unless_caller_goes(work: Coroutine[Any, Any, T], receive: Receive) -> T:
    """Do asynchronous work, which ends when its caller goes away."""
    job = asyncio.create_task(work)
    departure = asyncio.create_task(_departure(receive))
    try:
        first: set[asyncio.Task[Any]] = {job, departure}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not job.done():
            raise Refusal(CALLER_GONE, "The caller went away before the work was done.")
        return await job
    finally:
        departure.cancel()
        job.cancel()


async def _departure(receive: Receive) -> None:
    """Return when the caller closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
