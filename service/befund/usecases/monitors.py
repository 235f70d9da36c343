"""Monitors: listed, in figures by time, read entry by entry, deleted."""

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from befund.contract import MonitorAnswer, MonitorEntries, MonitorList, MonitorListing
from befund.core.errors import MalformedRequestError
from befund.core.monitors import Monitor, entry_read, period_of, window_of, windows_of
from befund.core.names import read_name
from befund.ports import Store

_CURSOR = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")

T = TypeVar("T")
Compute = Callable[[Callable[[], T]], Awaitable[T]]
"""Runs off the event loop what takes time."""


class Asked(Struct, frozen=True, kw_only=True):
    """Which time is asked for, as `befund.core.monitors.period_of` reads it."""

    since: str | None = None
    until: str | None = None
    window: int | None = None
    step: int | None = None


class Monitoring(Struct, frozen=True):
    """What can be done with monitors; `now` gives the present."""

    store: Store
    now: Callable[[], datetime]

    async def every(self) -> MonitorList:
        """Every monitor."""
        found = await self.store.monitors.every()
        return MonitorList(monitors=[_listing(monitor) for monitor in found])

    async def get(self, name: str, asked: Asked, *, compute: Compute[MonitorAnswer]) -> MonitorAnswer:
        """A time of a monitor in figures.

        Raises:
            NotFoundError: There is no such monitor.
            MalformedRequestError, ContradictionError: As `period_of`.
        """
        period = period_of(now=self.now(), **asdict(asked))
        monitor = await self.store.monitors.one(read_name(name))
        groups = await self.store.monitors.groups(name, period)
        judges = {group.shape.judge for group in groups if group.shape.judge is not None}
        calibrations = await self.store.calibrations(sorted(judges))

        def answer() -> MonitorAnswer:
            whole = window_of(groups, period.since, period.until, calibrations)
            cut = [] if asked.step is None else windows_of(groups, period.windows(), calibrations)
            return MonitorAnswer(
                **{field: getattr(whole, field) for field in whole.__struct_fields__},
                name=monitor.name,
                held=monitor.held,
                created=monitor.created,
                updated=monitor.updated,
                windows=cut,
            )

        return await compute(answer)

    async def entries(self, name: str, asked: Asked, *, limit: int, cursor: str | None) -> MonitorEntries:
        """A page of the entries of a time, the newest first; raises as `get`."""
        if cursor is not None and not _CURSOR.fullmatch(cursor):
            raise MalformedRequestError("The cursor cannot be used", "Give `next` of the page before, or none.")
        period = period_of(now=self.now(), **asdict(asked))
        page = await self.store.monitors.entries(read_name(name), period, limit=limit, before=cursor)
        return MonitorEntries(entries=[entry_read(kept) for kept in page.entries], next=page.next)

    async def delete(self, name: str) -> None:
        """Delete a monitor with all of its entries."""
        await self.store.monitors.delete(read_name(name))


def _listing(monitor: Monitor) -> MonitorListing:
    return MonitorListing(name=monitor.name, answers=monitor.held, created=monitor.created, updated=monitor.updated)
