"""What is kept is kept within bounds: runs and monitors lose what is too old, monitors what is too much."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog
from msgspec import Struct

from befund.core.errors import DependencyError
from befund.ports import Store

PRUNED_EVERY = timedelta(hours=1)


class Retention(Struct, frozen=True):
    """Deletes what is beyond the bounds.

    Attributes:
        store: Where it is.
        days: How long after its last write a run is kept, and an answer in a monitor; None: for ever.
        most_entries: How many answers a monitor keeps.
        clock: Seconds since 1970.
    """

    store: Store
    days: int | None
    most_entries: int
    clock: Callable[[], float]

    async def prune(self) -> None:
        """Do it once; a store that does not answer is tried again the next time."""
        log = structlog.get_logger()
        before = None
        if self.days is not None:
            before = datetime.fromtimestamp(self.clock(), UTC) - timedelta(days=self.days)
        try:
            runs = 0 if before is None else await self.store.prune(before=before)
            entries = await self.store.monitors.prune(before=before, most=self.most_entries)
        except DependencyError as error:
            log.warning("not pruned", detail=error.detail)
            return
        if before is not None or entries:
            log.info("pruned", runs=runs, monitor_entries=entries, older_than_days=self.days)

    async def prune_hourly(self) -> None:
        """Do it an hour from now, and every hour after."""
        while True:
            await asyncio.sleep(PRUNED_EVERY.total_seconds())
            await self.prune()
