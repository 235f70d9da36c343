"""Batches of answers that are judged in the background, and go on where another process left off."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Protocol

import msgspec
import structlog
from msgspec import Raw, Struct
from msgspec.structs import replace

from befund.contract import JobAnswer, JudgeBatchOptions, JudgeBatchResponse, JudgeBatchResult, Problem, RunSummary
from befund.core.errors import BefundError, DependencyError
from befund.core.jobs import Job, JobAbout, JobCounts
from befund.core.judge_tasks import Outcome, without_texts
from befund.core.monitors import key_of as entry_key
from befund.core.together import whole
from befund.ports import JobQueue, NewJob
from befund.usecases.budget import Budget
from befund.usecases.canaries import Canaries, usage_of
from befund.usecases.judge import BatchTally, Judging, Waiting
from befund.usecases.repetition import Caller, request_hash

POLL_SECONDS = 2.0
"""How often is looked for jobs that another process left."""
HOLD_SECONDS = 4.0
"""How often who works on a job says so; a fraction of the lease."""
KEPT = timedelta(days=1)
PRUNED_EVERY_SECONDS = 3600.0

_RESULT = msgspec.json.Decoder(JudgeBatchResult)

ProblemOf = Callable[[BefundError, str], Problem]
"""Writes an error of the request with this id as callers see it."""
PORTION = 50
"""Answers of a job that are fetched at a time: how many there are makes no difference to memory."""


class Report(Protocol):
    """Told what is judged of jobs."""

    def of_job(self, job: Job, outcomes: Sequence[Outcome]) -> None:
        """Some answers of a job were judged."""
        ...

    def of_job_end(self, job: Job, *, answers: int, failed: int) -> None:
        """So many were judged by this process, and it goes on with no more of it."""
        ...


class Jobs(Struct, frozen=True):
    """What callers do with jobs."""

    queue: JobQueue
    judging: Judging
    new_id: Callable[[], str]
    wake: asyncio.Event

    async def put(self, items: Sequence[Raw], options: JudgeBatchOptions, caller: Caller, about: JobAbout) -> Job:
        """Store a batch to be judged; raises as `Lookup.check` does, before anything is stored."""
        await self.judging.lookup.check(items, options)
        # Beside the event loop: the hash of 50 MB takes long enough to be felt.
        request = await asyncio.to_thread(request_hash, "/judge/batch", msgspec.json.encode(options), *items)
        new = NewJob(
            id=self.new_id(),
            caller=caller.name,
            key=caller.idempotency_key,
            request=request,
            about=about,
            items=items,
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
        options, tally = job.about.options, BatchTally()
        answers = failures = 0
        judge = self._judging.judges.named(options.judge, forced=options.force_verdict)
        turn = asyncio.Lock()
        replaces = options.replace_run and job.done == 0
        canaries = Canaries(options, self._judging.count_canary)

        async def keep(waiting: Waiting, outcome: Outcome) -> None:
            nonlocal replaces, answers, failures
            place = waiting.place
            async with turn:
                now = replace(waiting.answers, options=replace(options, replace_run=replaces))
                await self._judging.keeping.keep(now, [outcome], key_of=lambda _: entry_key(job.id, str(place)))
                replaces = replaces and outcome.task is None
                result = self._result(job, place, outcome)
                failed = outcome.judgment is None
                await self._queue.put_result(job.id, place, result, failed=failed, cost=_cost(outcome))
            tally.add(outcome)
            self._report.of_job(job, [outcome])
            answers, failures = answers + 1, failures + failed

        async def told(waiting: Waiting, outcome: Outcome) -> None:
            if waiting.place >= job.total:  # a canary is no result of the job
                canaries.came(list(canaries.waiting)[waiting.place - job.total], outcome)
                await whole(self._queue.spend(job.id, _cost(outcome)))
                return
            await whole(keep(waiting, outcome))

        try:
            await self._judging.judge_each(
                self._waiting(job, tally, canaries),
                Budget(options.max_cost_usd, spent=job.spent),
                at_once=min(judge.concurrency, job.total),
                told=told,
            )
        finally:
            self._report.of_job_end(job, answers=answers, failed=failures)
        await whole(self._queue.end(job.id, "done", msgspec.json.encode(canaries.told_in(tally.summary()))))

    async def _waiting(self, job: Job, tally: BatchTally, canaries: Canaries) -> AsyncIterator[Waiting]:
        """What is still to be judged, fetched in portions, then canaries; what was judged before is only added up."""
        seen: set[str] = set()
        for first in range(0, job.total, PORTION):
            items = await whole(self._queue.items(job.id, first=first, most=PORTION))
            raw = [Raw(item.item) for item in items]
            prepared = self._judging.lookup.prepare(raw, job.about.options, first=first, seen=seen)
            answers, tasks = await whole(prepared)
            canaries.for_judges_of(answers)
            for item, task in zip(items, tasks, strict=True):
                if item.result is None:
                    yield Waiting(item.place, task, answers)
                else:
                    known = _RESULT.decode(item.result).judgment
                    tally.add(task if isinstance(task, Outcome) else Outcome(task, known))
        for place, (task, answers) in enumerate(canaries.waiting.values(), start=job.total):
            yield Waiting(place, task, answers)

    def _result(self, job: Job, place: int, outcome: Outcome) -> bytes:
        problem = None if outcome.error is None else self._problem_of(outcome.error, job.about.request_id)
        judgment = outcome.judgment
        if judgment is not None and self._judging.content == "ids":
            judgment = without_texts(judgment)
        return msgspec.json.encode(JudgeBatchResult(index=place, judgment=judgment, problem=problem))

    def _problem(self, job: Job, error: BefundError) -> bytes:
        return msgspec.json.encode(self._problem_of(error, job.about.request_id))


def _cost(outcome: Outcome) -> float:
    """In US dollars, of an answer that was judged in vain too; 0 where it is not known."""
    used = usage_of(outcome)
    return (used.cost_usd or 0.0) if used else 0.0


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
