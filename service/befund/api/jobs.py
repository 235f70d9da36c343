"""Jobs: how far they are, what came of them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from litestar import Controller, delete, get
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import FromPath
from litestar.response import Stream
from msgspec import Struct

from befund.api.auth import needs
from befund.api.problems import problem_specs
from befund.contract import JobAnswer
from befund.core.errors import DependencyError
from befund.core.jobs import FINAL
from befund.usecases.jobs import Jobs, described

EVENTS = "text/event-stream"
LOOK_SECONDS = 0.25
QUIET_LOOKS = 60
"""After so many looks without news a comment is sent, so that nobody takes the connection for dead."""


class Ending(Struct):
    """Whether the service has been asked to end; streams that would go on for long end then."""

    begun: bool = False


class JobController(Controller):
    """Jobs by id."""

    path = "/jobs/{job_id:str}"

    @get(
        "/",
        opt=needs("read"),
        operation_id="get_job",
        summary="How far is a job?",
        response_description="Its state and, once it is done, its result",
        responses=problem_specs(404, 503),
    )
    async def get_job(self, job_id: FromPath[str], jobs: NamedDependency[Jobs]) -> JobAnswer:
        """Give the state of a job and, once it is done, its result; jobs are kept for a day after their end."""
        return await jobs.get(job_id)

    @get(
        "/events",
        opt=needs("read"),
        operation_id="job_events",
        summary="Follow a job",
        media_type=EVENTS,
        responses={
            200: ResponseSpec(str, generate_examples=False, media_type=EVENTS, description="An event a change"),
            **problem_specs(404, 503),
        },
    )
    async def job_events(
        self, job_id: FromPath[str], jobs: NamedDependency[Jobs], ending: NamedDependency[Ending]
    ) -> Stream:
        """Send an event `progress` with the job whenever it gets on, until it ends, or the service does."""
        await jobs.queue.job(job_id)
        return Stream(_events(job_id, jobs, ending), media_type=EVENTS, headers={"Cache-Control": "no-store"})

    @delete(
        "/",
        status_code=200,
        opt=needs("admin"),
        operation_id="cancel_job",
        summary="Cancel a job",
        response_description="The job, which has ended",
        responses=problem_specs(404, 503),
    )
    async def cancel_job(self, job_id: FromPath[str], jobs: NamedDependency[Jobs]) -> JobAnswer:
        """End a job; nothing more is begun for it, and what was judged of it stays in its run."""
        return await jobs.cancel(job_id)


async def _events(job_id: str, jobs: Jobs, ending: Ending) -> AsyncIterator[bytes]:
    sent: Any = None
    looks = 0
    while not ending.begun:
        try:
            job = await jobs.queue.job(job_id)
        except DependencyError:
            return
        seen = (job.state, job.done)
        if seen != sent:
            sent, looks = seen, 0
            yield b"event: progress\ndata: " + msgspec.json.encode(described(job)) + b"\n\n"
        if job.state in FINAL:
            return
        looks += 1
        if looks % QUIET_LOOKS == 0:
            yield b": still going\n\n"
        await asyncio.sleep(LOOK_SECONDS)
