"""Wait for several calls at once."""

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def whole(call: Coroutine[Any, Any, T]) -> T:
    """What a call gives that must not be left in the middle: who is cancelled meanwhile ends after it."""
    task = asyncio.create_task(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def together(calls: Iterable[Awaitable[T]]) -> list[T]:
    """What each call gives, in order. The first that fails ends the others, and its error is raised as it is."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
