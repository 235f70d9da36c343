"""Batches of answers that are judged in the background, and go on where another process left off."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import msgspec
import structlog
from msgspec import Raw, Struct
from msgspec.structs import replace

from befund.contract import JobAnswer, JudgeBatchOptions, JudgeBatchResponse, JudgeBatchResult, Problem, RunSummary
from befund.core.errors import BefundError, DependencyError
from befund.core.jobs import Job, JobAbout, JobCounts, JobItem
from befund.core.judge_tasks import Outcome, Task, without_texts
from befund.core.together import whole
from befund.ports import JobQueue, NewJob
from befund.usecases.budget import Budget
from befund.usecases.judge import Judging, canaries_of
from befund.usecases.repetition import Caller

POLL_SECONDS = 2.0
"""How often is looked for jobs that another process left."""
HOLD_SECONDS = 4.0
"""How often who works on a job says so; a fraction of the lease."""
KEPT = timedelta(days=1)
PRUNED_EVERY_SECONDS = 3600.0

_RESULT = msgspec.json.Decoder(JudgeBatchResult)

ProblemOf = Callable[[BefundError, str], Problem]
"""Writes an error of the request with this id as callers see it."""
Report = Callable[[Job, Sequence[Outcome]], None]
"""Told what was judged of a job."""


class Jobs(Struct, frozen=True):
    """What callers do with jobs."""

    queue: JobQueue
    judging: Judging
    new_id: Callable[[], str]
    wake: asyncio.Event

    async def put(self, items: Sequence[Raw], options: JudgeBatchOptions, caller: Caller, about: JobAbout) -> Job:
        """Store a batch to be judged; raises as `Judging.prepare` does, before anything is stored."""
        await self.judging.prepare(items, options)
        encoded = msgspec.json.encode([options, *items])
        new = NewJob(
            id=self.new_id(),
            caller=caller.name,
            key=caller.idempotency_key,
            request=f"sha256:{sha256(encoded).hexdigest()}",
            about=about,
            items=[bytes(item) for item in items],
        )
        job = await self.queue.put(new)
        self.wake.set()
        return job

    async def get(self, job_id: str) -> JobAnswer:
        """One job, with its result once it is done."""
        job = await self.queue.job(job_id)
        if job.state != "done" or job.outcome is None:
            return described(job)
        results = [_RESULT.decode(item.result) for item in await self.queue.items(job_id) if item.result is not None]
        summary = msgspec.json.decode(job.outcome, type=RunSummary)
        return replace(described(job), result=JudgeBatchResponse(results=results, summary=summary))

    async def cancel(self, job_id: str) -> JobAnswer:
        """End a job; what was judged of it stays in its run."""
        return described(await self.queue.end(job_id, "cancelled", None))


class JobRunner:
    """Takes jobs and judges them, one after the other.

    Args:
        jobs: The jobs.
        owner: Names this runner among those of other processes.
        problem_of: Writes errors.
        report: Told what was judged.
    """

    def __init__(self, jobs: Jobs, *, owner: str, problem_of: ProblemOf, report: Report) -> None:
        self._jobs = jobs
        self._queue = jobs.queue
        self._judging = jobs.judging
        self._owner = owner
        self._problem_of = problem_of
        self._report = report

    async def run(self) -> None:
        """Work until cancelled; a job at hand is then released."""
        while True:
            self._jobs.wake.clear()
            try:
                job = await whole(self._queue.take(self._owner))
                if job is not None:
                    await self._do(job)
                    continue
            except DependencyError as error:
                structlog.get_logger().warning("jobs", code=error.code, detail=error.detail)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._jobs.wake.wait(), POLL_SECONDS)

    async def _do(self, job: Job) -> None:
        work, hold = asyncio.create_task(self._judge(job)), asyncio.create_task(self._hold(job))
        try:
            await asyncio.wait({work, hold}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
        except BefundError as error:
            if isinstance(error, DependencyError):
                raise
            await whole(self._queue.end(job.id, "failed", self._problem(job, error)))
        except Exception as error:
            structlog.get_logger().error("failed", job=job.id, error=type(error).__qualname__, exc_info=True)
            detail = "The service failed on this job. Its log holds the cause under this request_id."
            problem = self._problem(job, DependencyError("job-failed", detail))
            await whole(self._queue.end(job.id, "failed", problem))
        finally:
            for task in (work, hold):
                task.cancel()
            await asyncio.gather(work, hold, return_exceptions=True)
            with suppress(DependencyError):
                await whole(self._queue.release(job.id, self._owner))

    async def _hold(self, job: Job) -> None:
        """Return when the job is no longer ours, or no longer wanted."""
        while True:
            await asyncio.sleep(HOLD_SECONDS)
            if not await whole(self._queue.keep(job.id, self._owner)):
                return

    async def _judge(self, job: Job) -> None:
        items = await whole(self._queue.items(job.id))
        options = job.about.options
        answers, tasks = await whole(self._judging.prepare([Raw(item.item) for item in items], options))
        budget = Budget(options.max_cost_usd, spent=job.spent)
        fresh: list[Outcome] = []
        turn = asyncio.Lock()
        replaces = options.replace_run and job.done == 0
        canaries = canaries_of(answers)

        async def told(place: int, outcome: Outcome) -> None:
            if place < len(items):  # a canary is no result of the job
                await whole(keep(place, outcome))

        async def keep(place: int, outcome: Outcome) -> None:
            nonlocal replaces
            async with turn:
                now = replace(answers, options=replace(options, replace_run=replaces))
                await self._judging.keep(now, [outcome])
                replaces = replaces and outcome.judgment is None
                cost = outcome.judgment.usage.cost_usd if outcome.judgment else None
                result = self._result(job, place, outcome)
                failed = outcome.judgment is None
                await self._queue.put_result(job.id, place, result, failed=failed, cost=cost or 0.0)
                fresh.append(outcome)

        try:
            known = list(map(_known, items, tasks))
            for place, (item, task) in enumerate(zip(items, known, strict=True)):
                if item.result is None and isinstance(task, Outcome):
                    await told(place, task)
            every = await self._judging.judge_all([*known, *canaries.values()], answers, budget, told=told)
        finally:
            self._report(job, fresh)
        summary = self._judging.summary(every[: len(known)], canaries, every[len(known) :])
        await whole(self._queue.end(job.id, "done", msgspec.json.encode(summary)))

    def _result(self, job: Job, place: int, outcome: Outcome) -> bytes:
        problem = None if outcome.error is None else self._problem_of(outcome.error, job.about.request_id)
        judgment = outcome.judgment
        if judgment is not None and self._judging.content == "ids":
            judgment = without_texts(judgment)
        return msgspec.json.encode(JudgeBatchResult(index=place, judgment=judgment, problem=problem))

    def _problem(self, job: Job, error: BefundError) -> bytes:
        return msgspec.json.encode(self._problem_of(error, job.about.request_id))


async def count_jobs(queue: JobQueue, show: Callable[[JobCounts], None]) -> None:
    """Show how many jobs there are, every few seconds."""
    while True:
        with suppress(DependencyError):
            show(await whole(queue.counts()))
        await asyncio.sleep(POLL_SECONDS)


async def prune_jobs(queue: JobQueue, *, clock: Callable[[], float]) -> None:
    """Delete jobs that ended a day ago, now and every hour."""
    while True:
        with suppress(DependencyError):
            await whole(queue.prune(before=datetime.fromtimestamp(clock(), UTC) - KEPT))
        await asyncio.sleep(PRUNED_EVERY_SECONDS)


def described(job: Job) -> JobAnswer:
    """A job as callers see it, without its result."""
    return JobAnswer(
        id=job.id,
        state=job.state,
        done=job.done,
        total=job.total,
        failed=job.failed,
        spent_cost_usd=job.spent,
        estimated_cost_usd=job.spent / job.done * job.total if job.done else None,
        created=job.created,
        updated=job.updated,
        problem=msgspec.json.decode(job.outcome, type=Problem) if job.state == "failed" and job.outcome else None,
    )


def _known(item: JobItem, task: Task | Outcome) -> Task | Outcome:
    """The answer, or what came of it before."""
    if item.result is None or isinstance(task, Outcome):
        return task
    return Outcome(task, _RESULT.decode(item.result).judgment)
