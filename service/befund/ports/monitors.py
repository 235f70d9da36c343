"""Where judgments of online traffic are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from befund.core.monitors import Entry, Group, KeptEntry, Monitor, Period
from befund.ports.answered import Answered


class EntryPage(Struct, frozen=True):
    """Some entries of a monitor, and the cursor of the next page; None on the last."""

    entries: list[KeptEntry]
    next: str | None


class Monitors(Protocol):
    """Judgments of online traffic by name and time. What a call wrote is safe when the call returns.

    Every method raises DependencyError `store-unavailable` where the store does not answer; those that name a monitor
    NotFoundError `unknown-monitor` where there is none.
    """

    async def append(self, name: str, entries: Sequence[Entry], *, answered: Answered | None = None) -> None:
        """Append entries to a monitor, which is made if it does not exist, and remember the answer: all, or nothing.

        Raises:
            ContradictionError: `too-many-monitors`.
            ConflictError: `answered-meanwhile`.
        """
        ...

    async def every(self) -> list[Monitor]:
        """Every monitor, by name."""
        ...

    async def one(self, name: str) -> Monitor:
        """One monitor."""
        ...

    async def groups(self, name: str, period: Period) -> list[Group]:
        """The entries of a period, counted by window and shape."""
        ...

    async def entries(self, name: str, period: Period, *, limit: int, before: str | None = None) -> EntryPage:
        """A page of the entries of a period, the newest first."""
        ...

    async def delete(self, name: str) -> None:
        """Delete a monitor and its entries."""
        ...

    async def prune(self, *, before: datetime | None, most: int) -> int:
        """Delete entries that are older, and the oldest of monitors that hold more; how many these were."""
        ...
