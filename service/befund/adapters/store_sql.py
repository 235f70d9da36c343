"""The store in a SQL database: the same statements for SQLite and PostgreSQL."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Row, Select, delete, func, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from befund.adapters.database import Database
from befund.adapters.jobs_sql import SqlJobs
from befund.adapters.tables import answers, calibrations, measurements, names, questions, results, runs, versions
from befund.contract import JudgeCalibration
from befund.core.datasets import Edition, KeptQuestion, Placed, Selection, StoredVersion, Version
from befund.core.errors import ConflictError, NotFoundError
from befund.core.runs import Identity, Record, Run, joined
from befund.ports import Answered, DatasetRemoved, DatasetWritten, RunPage, RunWrite

PORTION = 500
"""Rows a statement; PostgreSQL and SQLite both take their parameters."""
REMEMBERED = timedelta(days=1)
MOST_REMEMBERED = 1_000
SHORTEST_PREFIX = 8
_HASH = "sha256:"
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


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
            version_id, created = await self._put_version(connection, edition)
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
                found.setdefault(row.name, []).append(_version(row))
        return found

    async def dataset(self, reference: str) -> Edition:
        async with self._database.reading() as connection:
            return await _edition(connection, (await self._named(connection, reference))[0])

    async def dataset_version(self, version: str) -> Edition:
        async with self._database.reading() as connection:
            return await _edition(connection, await _version_row(connection, version))

    async def selection(self, reference: str, question_ids: Sequence[str]) -> Selection:
        async with self._database.reading() as connection:
            row = (await self._named(connection, reference))[0]
            return await _selection(connection, row, question_ids)

    async def selection_of_version(self, version: str, question_ids: Sequence[str]) -> Selection:
        async with self._database.reading() as connection:
            return await _selection(connection, await _version_row(connection, version), question_ids)

    async def delete_dataset(self, reference: str) -> DatasetRemoved:
        async with self._database.writing() as connection:
            name, _, fixed = reference.partition("@")
            rows = await self._named(connection, reference)
            lost = rows[:1] if fixed else rows
            ids = [row.id for row in lost]
            await connection.execute(delete(names).where(names.c.name == name, names.c.version_id.in_(ids)))
            used = await connection.execute(select(runs.c.version_id).where(runs.c.version_id.in_(ids)).distinct())
            kept = set(used.scalars())
            await _sweep(connection)
        await self._database.forget()
        return DatasetRemoved([row.hash for row in lost], [row.hash for row in lost if row.id in kept])

    async def write_run(
        self, write: RunWrite | None, *, answered: Answered | None = None, measured_test_of: str | None = None
    ) -> None:
        async with self._database.writing() as connection:
            if answered is not None:
                await self._remember(connection, answered)
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
            await _sweep(connection)
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
            query = select(answers.c.caller, answers.c.key, answers.c.request, answers.c.answer)
            recent = answers.c.created > self._now() - _microseconds(REMEMBERED)
            found = await connection.execute(query.where(answers.c.caller == caller, answers.c.key == key, recent))
            row = found.one_or_none()
        return None if row is None else Answered(*row)

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
            old = await connection.execute(select(runs.c.id).where(runs.c.updated < _from_datetime(before)))
            ids = list(old.scalars())
            if ids:
                await _delete_runs(connection, ids)
                await _sweep(connection)
        if ids:
            await self._database.forget()
        return len(ids)

    def _now(self) -> int:
        return int(self._clock() * 1_000_000)

    async def _named(self, connection: AsyncConnection, reference: str) -> Sequence[Row[Any]]:
        """The versions a reference names, newest first; one or more."""
        name, _, prefix = reference.partition("@")
        query = select(versions).join(names, names.c.version_id == versions.c.id).where(names.c.name == name)
        rows = (await connection.execute(query.order_by(names.c.turn.desc()))).all()
        if not rows:
            raise NotFoundError(
                "unknown-dataset", f"There is no data set {name!r}. GET /datasets lists those there are."
            )
        digits = prefix.removeprefix(_HASH)
        fixed = [row for row in rows if row.hash.removeprefix(_HASH).startswith(digits)] if prefix else rows
        if prefix and (len(digits) < SHORTEST_PREFIX or len(fixed) != 1):
            raise NotFoundError(
                "unknown-dataset",
                f"Data set {name!r} has {len(fixed)} versions whose hash begins with {digits!r}. Give the whole hash, "
                f"or at least {SHORTEST_PREFIX} characters that only one begins with; GET /datasets lists them.",
            )
        return fixed

    async def _put_version(self, connection: AsyncConnection, edition: Edition) -> tuple[int, datetime]:
        """Store a version where it is not stored yet, or only without the texts that are given now.

        What is stored without texts may have come with a hash that nobody could verify: a verified edition takes its
        place.
        """
        version = edition.version
        query = select(versions.c.id, versions.c.content, versions.c.created).where(versions.c.hash == version.hash)
        row = (await connection.execute(query)).one_or_none()
        if row is not None and (row.content == "full" or not edition.verified):
            return row.id, _datetime(row.created)
        if row is not None and version.content == "ids":
            held = await connection.execute(
                select(questions.c.question_id, questions.c.json).where(questions.c.version_id == row.id)
            )
            if {each.question_id: each.json for each in held} == {each.id: each.json for each in edition.questions}:
                return row.id, _datetime(row.created)
        now = self._now()
        if row is None:
            values = _version_values(version) | {"created": now}
            version_id = (
                await connection.execute(insert(versions).values(values).returning(versions.c.id))
            ).scalar_one()
        else:
            version_id, now = row.id, row.created
            same = versions.c.id == version_id
            await connection.execute(update(versions).where(same).values(_version_values(version)))
            await connection.execute(delete(questions).where(questions.c.version_id == version_id))
        for start in range(0, len(edition.questions), PORTION):
            await connection.execute(
                insert(questions),
                [
                    {
                        "version_id": version_id,
                        "position": start + i,
                        "question_id": question.id,
                        "hash": question.hash,
                        "json": question.json,
                    }
                    for i, question in enumerate(edition.questions[start : start + PORTION])
                ],
            )
        return version_id, _datetime(now)

    async def _write(self, connection: AsyncConnection, write: RunWrite) -> None:
        query = select(runs.c.id, runs.c.identity).where(runs.c.name == write.name).with_for_update()
        row = (await connection.execute(query)).one_or_none()
        identity = write.identity
        if row is not None and not write.replace:
            identity = joined(write.name, msgspec.json.decode(row.identity, type=Identity), identity)
        if write.edition is not None:
            version_id, _ = await self._put_version(connection, write.edition)
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
            created = now if write.created is None else _from_datetime(write.created)
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
                await _sweep(connection)
        else:
            run_id = row.id
            changes = {"updated": now, "identity": msgspec.json.encode(identity)}
            await connection.execute(update(runs).where(runs.c.id == run_id).values(changes))
        is_new = row is None or write.replace
        for portion in write.records:
            await _write_records(connection, run_id, portion, is_new=is_new)

    async def _remember(self, connection: AsyncConnection, answered: Answered) -> None:
        now = self._now()
        await connection.execute(delete(answers).where(answers.c.created <= now - _microseconds(REMEMBERED)))
        oldest = select(answers.c.created).order_by(answers.c.created.desc()).offset(self._most_remembered - 1).limit(1)
        await connection.execute(delete(answers).where(answers.c.created <= oldest.scalar_subquery()))
        try:
            await connection.execute(insert(answers).values(**msgspec.structs.asdict(answered), created=now))
        except IntegrityError as error:
            raise ConflictError(
                "answered-meanwhile", "The same request is being answered. Send it again to get that answer."
            ) from error


async def _edition(connection: AsyncConnection, row: Row[Any]) -> Edition:
    query = select(questions.c.question_id, questions.c.hash, questions.c.json)
    found = await connection.execute(query.where(questions.c.version_id == row.id).order_by(questions.c.position))
    return Edition(_version(row).version, [KeptQuestion(*question) for question in found])


async def _version_row(connection: AsyncConnection, version: str) -> Row[Any]:
    row = (await connection.execute(select(versions).where(versions.c.hash == version))).one_or_none()
    if row is None:
        raise NotFoundError("unknown-dataset", f"There is no data set version {version!r} any more.")
    return row


async def _selection(connection: AsyncConnection, row: Row[Any], ids: Sequence[str]) -> Selection:
    found: dict[str, Placed] = {}
    columns = (questions.c.question_id, questions.c.position, questions.c.hash, questions.c.json)
    for start in range(0, len(ids), PORTION):
        wanted = questions.c.question_id.in_(ids[start : start + PORTION])
        rows = await connection.execute(select(*columns).where(questions.c.version_id == row.id, wanted))
        found.update({each.question_id: Placed(each.position, KeptQuestion(each[0], *each[2:])) for each in rows})
    return Selection(_version(row).version, found)


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


async def _sweep(connection: AsyncConnection) -> None:
    """Delete the data set versions that neither a name nor a run needs any more."""
    needed = select(names.c.version_id).union(select(runs.c.version_id))
    unused = select(versions.c.id).where(versions.c.id.not_in(needed))
    ids = list((await connection.execute(unused)).scalars())
    for version_id in ids:
        await connection.execute(delete(questions).where(questions.c.version_id == version_id))
        await connection.execute(delete(versions).where(versions.c.id == version_id))


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
        dataset=_version(row),
        questions=row.held,
        records=row.records,
        created=_datetime(row.run_created),
        updated=_datetime(row.run_updated),
    )


def _version(row: Row[Any]) -> StoredVersion:
    version = Version(
        hash=row.hash,
        questions_hash=row.questions_hash,
        mapping_hash=row.mapping_hash,
        generated=row.generated,
        evidence_mapping=row.evidence_mapping,
        questions=row.questions,
        splits=msgspec.json.decode(row.splits),
        behaviors=msgspec.json.decode(row.behaviors),
        content=row.content,
    )
    return StoredVersion(version, _datetime(row.created))


def _version_values(version: Version) -> dict[str, Any]:
    values = msgspec.structs.asdict(version)
    encoded = {name: msgspec.json.encode(values[name]) for name in ("splits", "behaviors")}
    return values | encoded


def _datetime(microseconds: int) -> datetime:
    """As it was stored; what no calendar holds, as the first or last day of ours, so that it can be listed."""
    within = min(max(microseconds, _from_datetime(_FIRST)), _from_datetime(_LAST))
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=within)


def _from_datetime(moment: datetime) -> int:
    return _microseconds(moment - datetime(1970, 1, 1, tzinfo=UTC))


def _microseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)
