"""The store in a SQL database: the same statements for SQLite and PostgreSQL."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Row, Select, delete, func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from befund.adapters.answers_sql import recall, remember
from befund.adapters.database import Database
from befund.adapters.jobs_sql import SqlJobs
from befund.adapters.moments import moment_of, stored_moment
from befund.adapters.monitors_sql import SqlMonitors
from befund.adapters.tables import calibrations, measurements, names, results, runs, versions
from befund.adapters.versions_sql import (
    edition_of_row,
    named_versions,
    put_version,
    selection_of_row,
    stored_version,
    sweep,
    version_row,
)
from befund.contract import JudgeCalibration
from befund.core.datasets import Edition, Selection, StoredVersion
from befund.core.errors import NotFoundError
from befund.core.runs import Identity, Record, Run, joined
from befund.ports import Answered, DatasetRemoved, DatasetWritten, RunPage, RunWrite

MOST_REMEMBERED = 1_000


class SqlStore:
    """`befund.ports.Store`, which says what each method does, on SQLite or PostgreSQL.

    Args:
        place: The file of a SQLite database, or the URL of any database.
        clock: Seconds since 1970.
        most_remembered: How many answers are remembered at most.
    """

    def __init__(
        self, place: Path | str, *, clock: Callable[[], float] = time.time, most_remembered: int = MOST_REMEMBERED
    ) -> None:
        self._database = Database(place)
        self._clock = clock
        self._most_remembered = most_remembered
        self.jobs = SqlJobs(self._database, self._now)
        self.monitors = SqlMonitors(self._database, self._now, most_remembered=most_remembered)

    async def open(self) -> None:
        await self._database.open()

    async def close(self) -> None:
        await self._database.close()

    async def ask(self) -> None:
        self._database.refuse_lost_file()
        async with self._database.reading() as connection:
            await connection.execute(select(versions.c.id).limit(1))

    async def put_dataset(self, name: str, edition: Edition) -> DatasetWritten:
        async with self._database.writing() as connection:
            version_id, created = await put_version(connection, edition, now=self._now())
            turn = select(func.coalesce(func.max(names.c.turn), 0) + 1).where(names.c.name == name)
            turned = await connection.execute(
                update(names)
                .where(names.c.name == name, names.c.version_id == version_id)
                .values(turn=turn.scalar_subquery())
            )
            if not turned.rowcount:
                await connection.execute(
                    insert(names).values(name=name, version_id=version_id, turn=turn.scalar_subquery())
                )
            return DatasetWritten(StoredVersion(edition.version, created), is_new=not turned.rowcount)

    async def datasets(self) -> dict[str, list[StoredVersion]]:
        query = (
            select(names.c.name, *versions.c)
            .join(versions, versions.c.id == names.c.version_id)
            .order_by(names.c.name, names.c.turn.desc())
        )
        found: dict[str, list[StoredVersion]] = {}
        async with self._database.reading() as connection:
            for row in await connection.execute(query):
                found.setdefault(row.name, []).append(stored_version(row))
        return found

    async def dataset(self, reference: str) -> Edition:
        async with self._database.reading() as connection:
            return await edition_of_row(connection, (await named_versions(connection, reference))[0])

    async def dataset_version(self, version: str) -> Edition:
        async with self._database.reading() as connection:
            return await edition_of_row(connection, await version_row(connection, version))

    async def selection(self, reference: str, question_ids: Sequence[str]) -> Selection:
        async with self._database.reading() as connection:
            row = (await named_versions(connection, reference))[0]
            return await selection_of_row(connection, row, question_ids)

    async def selection_of_version(self, version: str, question_ids: Sequence[str]) -> Selection:
        async with self._database.reading() as connection:
            return await selection_of_row(connection, await version_row(connection, version), question_ids)

    async def delete_dataset(self, reference: str) -> DatasetRemoved:
        async with self._database.writing() as connection:
            name, _, fixed = reference.partition("@")
            rows = await named_versions(connection, reference)
            lost = rows[:1] if fixed else rows
            ids = [row.id for row in lost]
            await connection.execute(delete(names).where(names.c.name == name, names.c.version_id.in_(ids)))
            used = await connection.execute(select(runs.c.version_id).where(runs.c.version_id.in_(ids)).distinct())
            kept = set(used.scalars())
            await sweep(connection)
        await self._database.forget()
        return DatasetRemoved([row.hash for row in lost], [row.hash for row in lost if row.id in kept])

    async def write_run(
        self, write: RunWrite | None, *, answered: Answered | None = None, measured_test_of: str | None = None
    ) -> None:
        async with self._database.writing() as connection:
            if answered is not None:
                await remember(connection, answered, now=self._now(), most=self._most_remembered)
            if measured_test_of is not None:
                await _count(connection, measured_test_of)
            if write is not None:
                await self._write(connection, write)
        if write is not None and write.replace:
            await self._database.forget()

    async def runs(self, *, limit: int, before: str | None = None) -> RunPage:
        query = _select_runs().order_by(runs.c.updated.desc(), runs.c.id.desc()).limit(limit + 1)
        if before is not None:
            updated, _, run_id = before.partition("-")
            query = query.where(tuple_(runs.c.updated, runs.c.id) < (int(updated), int(run_id)))
        async with self._database.reading() as connection:
            rows = list(await connection.execute(query))
        last = rows[limit - 1] if len(rows) > limit else None
        return RunPage(
            [_run(row) for row in rows[:limit]], None if last is None else f"{last.run_updated}-{last.run_id}"
        )

    async def run(self, name: str) -> Run:
        async with self._database.reading() as connection:
            row = (await connection.execute(_select_runs().where(runs.c.name == name))).one_or_none()
        if row is None:
            raise _unknown_run(name)
        return _run(row)

    async def records(self, run: Run, *, after: int | None = None, limit: int) -> list[Record]:
        async with self._database.reading() as connection:
            wanted = [results.c.run_id == run.key, results.c.position > (-1 if after is None else after)]
            page = select(results.c.position).where(*wanted).distinct().order_by(results.c.position).limit(limit)
            last = max((await connection.execute(page)).scalars(), default=-1)
            wanted.append(results.c.position <= last)
            rows = await connection.execute(
                select(results).where(*wanted).order_by(results.c.position, results.c.question_id, results.c.part)
            )
            held = [
                Record(
                    question_id=row.question_id,
                    question_hash=row.question_hash,
                    position=row.position,
                    part=row.part,
                    json=row.json,
                )
                for row in rows
            ]
            if not held:  # a run that was deleted or begun anew must not pass for one that ends here
                there = await connection.execute(select(runs.c.id).where(runs.c.id == run.key))
                if there.one_or_none() is None:
                    raise _unknown_run(run.name)
            return held

    async def delete_run(self, name: str) -> None:
        async with self._database.writing() as connection:
            await _delete_runs(connection, [await _run_id(connection, name)])
            await sweep(connection)
        await self._database.forget()

    async def delete_question(self, name: str, question_id: str) -> None:
        async with self._database.writing() as connection:
            run_id = await _run_id(connection, name)
            gone = await connection.execute(
                delete(results).where(results.c.run_id == run_id, results.c.question_id == question_id)
            )
            if not gone.rowcount:
                raise NotFoundError(
                    "unknown-question", f"Run {name!r} holds nothing about question {question_id!r}. Check the id."
                )
        await self._database.forget()

    async def answered(self, caller: str, key: str) -> Answered | None:
        async with self._database.reading() as connection:
            return await recall(connection, caller, key, now=self._now())

    async def test_measurements(self, dataset: str) -> int:
        async with self._database.reading() as connection:
            query = select(measurements.c.times).where(measurements.c.dataset_name == dataset)
            return (await connection.execute(query)).scalar_one_or_none() or 0

    async def put_calibration(self, name: str, fingerprint: str, found: Mapping[str, JudgeCalibration]) -> None:
        async with self._database.writing() as connection:
            await connection.execute(delete(calibrations).where(calibrations.c.name == name))
            values = {"name": name, "fingerprint": fingerprint, "json": msgspec.json.encode(found)}
            await connection.execute(insert(calibrations).values(**values, created=self._now()))

    async def calibrations(self, fingerprints: Sequence[str]) -> dict[str, dict[str, JudgeCalibration]]:
        query = select(calibrations.c.fingerprint, calibrations.c.json).order_by(calibrations.c.created)
        async with self._database.reading() as connection:
            rows = await connection.execute(query.where(calibrations.c.fingerprint.in_(fingerprints)))
            return {row.fingerprint: msgspec.json.decode(row.json, type=dict[str, JudgeCalibration]) for row in rows}

    async def prune(self, *, before: datetime) -> int:
        async with self._database.writing() as connection:
            old = await connection.execute(select(runs.c.id).where(runs.c.updated < stored_moment(before)))
            ids = list(old.scalars())
            if ids:
                await _delete_runs(connection, ids)
                await sweep(connection)
        if ids:
            await self._database.forget()
        return len(ids)

    def _now(self) -> int:
        return int(self._clock() * 1_000_000)

    async def _write(self, connection: AsyncConnection, write: RunWrite) -> None:
        query = select(runs.c.id, runs.c.identity).where(runs.c.name == write.name).with_for_update()
        row = (await connection.execute(query)).one_or_none()
        identity = write.identity
        if row is not None and not write.replace:
            identity = joined(write.name, msgspec.json.decode(row.identity, type=Identity), identity)
        if write.edition is not None:
            version_id, _ = await put_version(connection, write.edition, now=self._now())
        else:
            known = select(versions.c.id).where(versions.c.hash == write.identity.version)
            found = (await connection.execute(known)).scalar_one_or_none()
            if found is None:
                raise NotFoundError(
                    "unknown-dataset", "The data set was deleted while it was measured. Store it again."
                )
            version_id = found
        if row is not None and write.replace:
            await _delete_runs(connection, [row.id])
        now = self._now()
        if row is None or write.replace:
            created = now if write.created is None else stored_moment(write.created)
            values = {
                "name": write.name,
                "dataset_name": write.dataset_name,
                "version_id": version_id,
                "identity": msgspec.json.encode(identity),
                "created": created,
                "updated": now,
            }
            run_id = (await connection.execute(insert(runs).values(values).returning(runs.c.id))).scalar_one()
            if row is not None:
                await sweep(connection)
        else:
            run_id = row.id
            changes = {"updated": now, "identity": msgspec.json.encode(identity)}
            await connection.execute(update(runs).where(runs.c.id == run_id).values(changes))
        is_new = row is None or write.replace
        for portion in write.records:
            await _write_records(connection, run_id, portion, is_new=is_new)


async def _write_records(connection: AsyncConnection, run_id: int, records: Sequence[Record], *, is_new: bool) -> None:
    if not records:
        return
    if not is_new:
        for part in {record.part for record in records}:
            ids = [record.question_id for record in records if record.part == part]
            await connection.execute(
                delete(results).where(
                    results.c.run_id == run_id, results.c.part == part, results.c.question_id.in_(ids)
                )
            )
    await connection.execute(
        insert(results), [{"run_id": run_id, **msgspec.structs.asdict(record)} for record in records]
    )


async def _count(connection: AsyncConnection, dataset: str) -> None:
    counted = await connection.execute(
        update(measurements).where(measurements.c.dataset_name == dataset).values(times=measurements.c.times + 1)
    )
    if not counted.rowcount:
        await connection.execute(insert(measurements).values(dataset_name=dataset, times=1))


async def _delete_runs(connection: AsyncConnection, ids: Sequence[int]) -> None:
    for run_id in ids:
        await connection.execute(delete(results).where(results.c.run_id == run_id))
        await connection.execute(delete(runs).where(runs.c.id == run_id))


async def _run_id(connection: AsyncConnection, name: str) -> int:
    found: int | None = (await connection.execute(select(runs.c.id).where(runs.c.name == name))).scalar_one_or_none()
    if found is None:
        raise _unknown_run(name)
    return found


def _unknown_run(name: str) -> NotFoundError:
    return NotFoundError("unknown-run", f"There is no run {name!r}. GET /runs lists those there are.")


def _select_runs() -> Select[Any]:
    held = select(func.count(results.c.question_id.distinct())).where(results.c.run_id == runs.c.id)
    rows = select(func.count()).where(results.c.run_id == runs.c.id)
    return select(
        *versions.c,
        runs.c.id.label("run_id"),
        runs.c.name,
        runs.c.dataset_name,
        runs.c.identity,
        runs.c.created.label("run_created"),
        runs.c.updated.label("run_updated"),
        held.scalar_subquery().label("held"),
        rows.scalar_subquery().label("records"),
    ).join(versions, versions.c.id == runs.c.version_id)


def _run(row: Row[Any]) -> Run:
    return Run(
        key=row.run_id,
        name=row.name,
        dataset_name=row.dataset_name,
        identity=msgspec.json.decode(row.identity, type=Identity),
        dataset=stored_version(row),
        questions=row.held,
        records=row.records,
        created=moment_of(row.run_created),
        updated=moment_of(row.run_updated),
    )
