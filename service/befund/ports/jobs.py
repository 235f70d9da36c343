"""Where work for later waits."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Raw, Struct

from befund.contract import JobState
from befund.core.jobs import Job, JobAbout, JobCounts, JobItem


class NewJob(Struct, frozen=True, kw_only=True):
    """A job to be stored; `key` and `request` (a hash) tell a repetition of what the caller sent before."""

    id: str
    caller: str
    key: str | None
    request: str
    about: JobAbout
    items: Sequence[Raw]


class JobQueue(Protocol):
    """Work in the background, which outlives the process that does it.

    Every method raises DependencyError `store-unavailable` where the store does not answer; those that name a job
    NotFoundError `unknown-job`.
    """

    async def put(self, new: NewJob) -> Job:
        """Store a job; the same request with the same key again gives the job that there is.

        Raises:
            ContradictionError: The key came with another request before.
        """
        ...

    async def job(self, job_id: str) -> Job:
        """One job."""
        ...

    async def items(self, job_id: str, *, first: int = 0, most: int | None = None) -> list[JobItem]:
        """Its answers from the `first` place on, in order, `most` of them, with what is known of them."""
        ...

    async def take(self, owner: str) -> Job | None:
        """The oldest job nobody works on, which is the owner's for a while; None where there is none."""
        ...

    async def keep(self, job_id: str, owner: str) -> bool:
        """Go on holding a job; whether it is still the owner's, and still wanted."""
        ...

    async def release(self, job_id: str, owner: str) -> None:
        """Let another one go on with a job."""
        ...

    async def spend(self, job_id: str, cost: float) -> None:
        """Add what something cost that is no answer of the job, in US dollars."""
        ...

    async def put_result(self, job_id: str, place: int, result: bytes, *, failed: bool, cost: float) -> None:
        """Keep what came of one answer, in US dollars what it cost; the first that comes stays."""
        ...

    async def end(self, job_id: str, state: JobState, outcome: bytes | None) -> Job:
        """End a job, unless it has ended; what was to be judged is deleted."""
        ...

    async def counts(self) -> JobCounts:
        """How many jobs there are."""
        ...

    async def prune(self, *, before: datetime) -> int:
        """Delete the jobs that ended before; how many these were."""
        ...
