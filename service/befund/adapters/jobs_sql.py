"""Jobs in a SQL database: a lease table, which any number of processes may work on."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Row, and_, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from befund.adapters.database import Database
from befund.adapters.moments import microseconds_in, moment_of, stored_moment
from befund.adapters.tables import job_items, jobs
from befund.contract import JobState
from befund.core.errors import ContradictionError, NotFoundError
from befund.core.jobs import FINAL, Job, JobAbout, JobCounts, JobItem
from befund.ports import NewJob

LEASE = timedelta(seconds=15)
"""How long a job waits for whoever works on it and no longer says so."""
PORTION = 500
_OPEN = ("queued", "running")


class SqlJobs:
    """`befund.ports.JobQueue`, which says what each method does, on SQLite or PostgreSQL.

    Args:
        database: Where the tables are.
        now: Microseconds since 1970.
    """

    def __init__(self, database: Database, now: Callable[[], int]) -> None:
        self._database = database
        self._now = now

    async def put(self, new: NewJob) -> Job:
        async with self._database.writing() as connection:
            if new.key is not None:
                same = and_(jobs.c.caller == new.caller, jobs.c.key == new.key)
                row = (await connection.execute(select(jobs).where(same))).one_or_none()
                if row is not None:
                    if row.request != new.request:
                        raise ContradictionError(
                            "idempotency-key-reused",
                            "This Idempotency-Key came with another request before. Give every request its own.",
                        )
                    return _job(row)
            now = self._now()
            values = {
                "id": new.id,
                "state": "queued",
                "caller": new.caller,
                "key": new.key,
                "request": new.request,
                "about": msgspec.json.encode(new.about),
                "total": len(new.items),
                "done": 0,
                "failed": 0,
                "spent": 0.0,
                "leased_until": 0,
                "created": now,
                "updated": now,
            }
            row = (await connection.execute(insert(jobs).values(values).returning(*jobs.c))).one()
            for start in range(0, len(new.items), PORTION):
                part = enumerate(new.items[start : start + PORTION], start=start)
                await connection.execute(
                    insert(job_items), [{"job_id": new.id, "place": place, "item": bytes(item)} for place, item in part]
                )
            return _job(row)

    async def job(self, job_id: str) -> Job:
        async with self._database.reading() as connection:
            row = (await connection.execute(select(jobs).where(jobs.c.id == job_id))).one_or_none()
        if row is None:
            raise _unknown(job_id)
        return _job(row)

    async def items(self, job_id: str, *, first: int = 0, most: int | None = None) -> list[JobItem]:
        query = select(job_items.c.place, job_items.c.item, job_items.c.result)
        wanted = query.where(job_items.c.job_id == job_id, job_items.c.place >= first)
        async with self._database.reading() as connection:
            rows = await connection.execute(wanted.order_by(job_items.c.place).limit(most))
            return [JobItem(*row) for row in rows]

    async def take(self, owner: str) -> Job | None:
        now = self._now()
        free = and_(jobs.c.state.in_(_OPEN), jobs.c.leased_until < now)
        first = select(jobs.c.id).where(free).order_by(jobs.c.created).limit(1)
        async with self._database.reading() as connection:  # who only looks keeps no writer waiting
            if (await connection.execute(first)).one_or_none() is None:
                return None
        oldest = first.scalar_subquery()
        async with self._database.writing() as connection:
            taken = await connection.execute(
                update(jobs)
                .where(jobs.c.id == oldest, free)
                .values(state="running", owner=owner, leased_until=now + microseconds_in(LEASE), updated=now)
                .returning(*jobs.c)
            )
            row = taken.one_or_none()
        return None if row is None else _job(row)

    async def keep(self, job_id: str, owner: str) -> bool:
        async with self._database.writing() as connection:
            return await self._hold(connection, job_id, owner, until=self._now() + microseconds_in(LEASE))

    async def release(self, job_id: str, owner: str) -> None:
        async with self._database.writing() as connection:
            await self._hold(connection, job_id, owner, until=0)

    async def spend(self, job_id: str, cost: float) -> None:
        async with self._database.writing() as connection:
            await connection.execute(
                update(jobs).where(jobs.c.id == job_id).values(spent=jobs.c.spent + cost, updated=self._now())
            )

    async def put_result(self, job_id: str, place: int, result: bytes, *, failed: bool, cost: float) -> None:
        async with self._database.writing() as connection:
            first = await connection.execute(
                update(job_items)
                .where(job_items.c.job_id == job_id, job_items.c.place == place, job_items.c.result.is_(None))
                .values(result=result)
            )
            counts = {"done": jobs.c.done + first.rowcount, "failed": jobs.c.failed + first.rowcount * failed}
            await connection.execute(
                update(jobs).where(jobs.c.id == job_id).values(**counts, spent=jobs.c.spent + cost, updated=self._now())
            )

    async def end(self, job_id: str, state: JobState, outcome: bytes | None) -> Job:
        async with self._database.writing() as connection:
            ended = await connection.execute(
                update(jobs)
                .where(jobs.c.id == job_id, jobs.c.state.in_(_OPEN))
                .values(state=state, outcome=outcome, leased_until=0, updated=self._now())
                .returning(*jobs.c)
            )
            row = ended.one_or_none()
            if row is not None:
                await connection.execute(update(job_items).where(job_items.c.job_id == job_id).values(item=b""))
        if row is not None:
            await self._database.forget()
            return _job(row)
        return await self.job(job_id)

    async def counts(self) -> JobCounts:
        now = self._now()
        async with self._database.reading() as connection:
            rows = await connection.execute(select(jobs.c.state, func.count()).group_by(jobs.c.state))
            by_state = {state: number for state, number in rows}
            free = and_(jobs.c.state.in_(_OPEN), jobs.c.leased_until < now)
            oldest = (await connection.execute(select(func.min(jobs.c.created)).where(free))).scalar_one_or_none()
        return JobCounts(by_state, 0.0 if oldest is None else (now - oldest) / 1_000_000)

    async def prune(self, *, before: datetime) -> int:
        old = and_(jobs.c.state.in_(FINAL), jobs.c.updated < stored_moment(before))
        async with self._database.reading() as connection:
            ids = list((await connection.execute(select(jobs.c.id).where(old))).scalars())
        if not ids:
            return 0
        async with self._database.writing() as connection:
            for job_id in ids:
                await connection.execute(delete(job_items).where(job_items.c.job_id == job_id))
                await connection.execute(delete(jobs).where(jobs.c.id == job_id))
        return len(ids)

    async def _hold(self, connection: AsyncConnection, job_id: str, owner: str, *, until: int) -> bool:
        ours = and_(jobs.c.id == job_id, jobs.c.owner == owner, jobs.c.state == "running")
        held = await connection.execute(update(jobs).where(ours).values(leased_until=until))
        return bool(held.rowcount)


def _unknown(job_id: str) -> NotFoundError:
    return NotFoundError("unknown-job", f"There is no job {job_id!r}. Jobs are kept for a day after their end.")


def _job(row: Row[Any]) -> Job:
    names: Sequence[str] = ("id", "state", "caller", "total", "done", "failed", "spent", "outcome")
    return Job(
        **{name: getattr(row, name) for name in names},
        about=msgspec.json.decode(row.about, type=JobAbout),
        created=moment_of(row.created),
        updated=moment_of(row.updated),
    )
