"""Monitors: judgments of online traffic in figures."""

from functools import partial
from typing import Annotated, Any

from litestar import Controller, Request, delete, get
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter

from befund.api.auth import needs
from befund.api.problems import problem_specs
from befund.api.workers import Workers
from befund.contract import MonitorAnswer, MonitorEntries, MonitorList
from befund.core.monitors import DAY_SECONDS, MOST_SECONDS, MOST_WINDOWS
from befund.usecases.monitors import Asked, Monitoring

Since = Annotated[
    str | None, QueryParameter(max_length=64, description="Begin of the time, as RFC 3339; instead of window.")
]
Until = Annotated[str | None, QueryParameter(max_length=64, description="End of the time, likewise; else now.")]
Window = Annotated[
    int | None,
    QueryParameter(ge=1, le=MOST_SECONDS, description=f"Length of the time in seconds; else {DAY_SECONDS:,}, a day."),
]
Step = Annotated[
    int | None,
    QueryParameter(
        ge=1,
        le=MOST_SECONDS,
        description=f"Cut it into windows of so many seconds, of which there may be {MOST_WINDOWS:,}.",
    ),
]
Cursor = Annotated[str | None, QueryParameter(max_length=64, description="`next` of the page before.")]


class MonitorController(Controller):
    """Monitors by name: what was judged of online traffic."""

    path = "/monitors"

    @get(
        "/",
        opt=needs("read"),
        operation_id="list_monitors",
        summary="Which monitors are there?",
        response_description="Every monitor, by name",
        responses=problem_specs(503),
    )
    async def list_monitors(self, monitoring: NamedDependency[Monitoring]) -> MonitorList:
        """List monitors."""
        return await monitoring.every()

    @get(
        "/{name:str}",
        opt=needs("read"),
        operation_id="get_monitor",
        summary="How good are the answers of online traffic?",
        response_description="The time asked for in figures, and its windows",
        responses=problem_specs(400, 404, 422, 503),
    )
    async def get_monitor(
        self,
        request: Request[Any, Any, Any],
        name: FromPath[str],
        monitoring: NamedDependency[Monitoring],
        workers: NamedDependency[Workers],
        since: Since = None,
        until: Until = None,
        window: Window = None,
        step: Step = None,
    ) -> MonitorAnswer:
        """Give the rates of a time with their intervals, by default of the last day; with `step` window by window too.

        A window without an answer has null rates. An answer belongs to the time at which it was judged.
        """
        compute = partial(workers.run, receive=request.receive)
        asked = Asked(since=since, until=until, window=window, step=step)
        return await monitoring.get(name, asked, compute=compute)

    @get(
        "/{name:str}/entries",
        opt=needs("read"),
        operation_id="monitor_entries",
        summary="The answers of a monitor, one by one",
        response_description="A page of answers with their judgments, the newest first",
        responses=problem_specs(400, 404, 422, 503),
    )
    async def get_entries(
        self,
        name: FromPath[str],
        monitoring: NamedDependency[Monitoring],
        since: Since = None,
        until: Until = None,
        window: Window = None,
        limit: Annotated[int, QueryParameter(ge=1, le=500)] = 50,
        cursor: Cursor = None,
    ) -> MonitorEntries:
        """Give the answers of a time, by default of the last day, the newest first, by page."""
        asked = Asked(since=since, until=until, window=window)
        return await monitoring.entries(name, asked, limit=limit, cursor=cursor)

    @delete(
        "/{name:str}",
        opt=needs("admin"),
        operation_id="delete_monitor",
        summary="Delete a monitor",
        response_description="The monitor and its answers are gone",
        responses=problem_specs(400, 404, 503),
    )
    async def delete_monitor(self, name: FromPath[str], monitoring: NamedDependency[Monitoring]) -> None:
        """Delete a monitor with all of its answers."""
        await monitoring.delete(name)
