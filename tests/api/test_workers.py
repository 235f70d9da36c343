import asyncio
import threading
from typing import Any

import pytest

from befund.api.problems import Refusal
from befund.api.workers import Workers, unless_caller_goes

pytestmark = pytest.mark.anyio


async def stays() -> Any:
    await asyncio.Event().wait()


async def leaves() -> Any:
    return {"type": "http.disconnect"}


def workers_with(*, at_once: int = 1, places: int = 10) -> Workers:
    return Workers(at_once=at_once, places=places)


async def run(workers: Workers, work: Any, receive: Any = stays) -> Any:
    return await workers.run(work, receive=receive)


async def test_work_leaves_the_event_loop_free() -> None:
    assert await run(workers_with(), threading.get_ident) != threading.get_ident()


async def test_no_more_run_at_once_than_allowed() -> None:
    workers = workers_with(at_once=2)
    running = threading.Semaphore(2)

    def work() -> bool:
        free = running.acquire(blocking=False)
        threading.Event().wait(0.01)
        running.release()
        return free

    assert all(await asyncio.gather(*(run(workers, work) for _ in range(8))))


async def test_what_waits_is_not_begun_when_its_caller_goes_away() -> None:
    workers = workers_with()
    gate = threading.Event()
    begun: list[str] = []
    first = asyncio.create_task(run(workers, gate.wait))
    await asyncio.sleep(0)
    with pytest.raises(Refusal) as caught:
        await run(workers, lambda: begun.append("gone"), receive=leaves)
    gate.set()
    assert await first is True
    assert caught.value.status == 499
    assert begun == []


async def test_what_has_begun_is_finished_though_its_caller_goes_away() -> None:
    assert await run(workers_with(), lambda: threading.Event().wait(0.05), receive=leaves) is False


async def test_a_full_line_is_503_with_retry_after() -> None:
    workers = workers_with(places=2)
    gate = threading.Event()
    tasks = [asyncio.create_task(run(workers, gate.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Refusal) as caught:
        await run(workers, gate.wait)
    gate.set()
    await asyncio.gather(*tasks)
    assert caught.value.status == 503
    assert caught.value.headers == {"Retry-After": "2"}
    assert await run(workers, gate.wait) is True


async def test_an_error_of_the_work_is_the_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        await run(workers_with(), lambda: 1 / 0)


async def test_asynchronous_work_ends_when_its_caller_goes_away() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def leaves_later() -> Any:
        await began.wait()
        return {"type": "http.disconnect"}

    with pytest.raises(Refusal) as caught:
        await unless_caller_goes(work(), leaves_later)
    assert caught.value.status == 499
    await asyncio.wait_for(ended.wait(), 10)


async def test_asynchronous_work_gives_its_result_and_its_errors() -> None:
    async def fail() -> None:
        raise KeyError("x")

    assert await unless_caller_goes(asyncio.sleep(0, "done"), stays) == "done"
    with pytest.raises(KeyError):
        await unless_caller_goes(fail(), stays)
