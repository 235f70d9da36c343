"""Monitors in a SQL database: figures from narrow rows, added up there; texts beside them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, delete, func, insert, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from befund.adapters.answers_sql import remember
from befund.adapters.database import Database
from befund.adapters.moments import microseconds_in, moment_of, stored_moment
from befund.adapters.tables import monitor_entries, monitor_shapes, monitor_texts, monitors
from befund.contract import Usage
from befund.core.errors import ContradictionError, NotFoundError
from befund.core.judged_tally import Shape, Times
from befund.core.monitors import Entry, Group, KeptEntry, Monitor, Period
from befund.ports import Answered, EntryPage

MOST_MONITORS = 1_000
PORTION = 500
"""Rows a statement, and a transaction that deletes: other writers get their turn in between."""

_C = monitor_entries.c
_SHAPE = msgspec.json.Decoder(Shape)
_USAGE = Usage.__struct_fields__
_TIMES = ("judge_ms", "generation_ms")


class SqlMonitors:
    """`befund.ports.Monitors`, which says what each method does, on SQLite or PostgreSQL.

    Args:
        database: Where the tables are.
        now: Microseconds since 1970.
        most_remembered: How many answers are remembered at most.
    """

    def __init__(self, database: Database, now: Callable[[], int], *, most_remembered: int) -> None:
        self._database = database
        self._now = now
        self._most_remembered = most_remembered

    async def append(self, name: str, entries: Sequence[Entry], *, answered: Answered | None = None) -> None:
        async with self._database.writing() as connection:
            if answered is not None:
                await remember(connection, answered, now=self._now(), most=self._most_remembered)
            if not entries:
                return
            monitor_id = await self._put(connection, name)
            taken = 0
            for start in range(0, len(entries), PORTION):
                portion = entries[start : start + PORTION]
                taken += await _take_out(connection, monitor_id, [entry.key for entry in portion])
                await self._insert(connection, monitor_id, portion)
            held = monitors.c.held + len(entries) - taken
            await connection.execute(update(monitors).where(monitors.c.id == monitor_id).values(held=held))

    async def every(self) -> list[Monitor]:
        async with self._database.reading() as connection:
            return [_monitor(row) for row in await connection.execute(select(monitors).order_by(monitors.c.name))]

    async def one(self, name: str) -> Monitor:
        async with self._database.reading() as connection:
            return _monitor(await _row(connection, name))

    async def groups(self, name: str, period: Period) -> list[Group]:
        since = stored_moment(period.since)
        window = ((_C.time - since) // microseconds_in(period.step)).label("piece")
        figures = [func.count().label("answers")]
        for column in (*_USAGE, *_TIMES):
            figures += [func.count(_C[column]).label(f"{column}_n"), func.sum(_C[column]).label(column)]
        figures += [func.max(_C[column]).label(f"{column}_max") for column in _TIMES]
        async with self._database.reading() as connection:
            row = await _row(connection, name)
            query = select(window, _C.shape_id, *figures).where(*_within(row.id, period))
            rows = (await connection.execute(query.group_by("piece", _C.shape_id))).all()
            shapes = await _shapes(connection, {each.shape_id for each in rows})
        return [_group(each, shapes[each.shape_id]) for each in rows]

    async def entries(self, name: str, period: Period, *, limit: int, before: str | None = None) -> EntryPage:
        columns = (_C.id, _C.time, monitor_texts.c.json)
        query = select(*columns).join(monitor_texts, monitor_texts.c.entry_id == _C.id)
        if before is not None:
            time, _, place = before.partition("-")
            query = query.where(tuple_(_C.time, _C.id) < (int(time), int(place)))
        async with self._database.reading() as connection:
            row = await _row(connection, name)
            query = query.where(*_within(row.id, period)).order_by(_C.time.desc(), _C.id.desc())
            rows = (await connection.execute(query.limit(limit + 1))).all()
        last = rows[limit - 1] if len(rows) > limit else None
        return EntryPage(
            [KeptEntry(each.id, moment_of(each.time), each.json) for each in rows[:limit]],
            None if last is None else f"{last.time}-{last.id}",
        )

    async def delete(self, name: str) -> None:
        async with self._database.reading() as connection:
            monitor_id = (await _row(connection, name)).id
        await self._delete_where(_C.monitor_id == monitor_id)
        async with self._database.writing() as connection:  # what came in meanwhile goes too
            await _delete_entries(connection, _C.monitor_id == monitor_id)
            await connection.execute(delete(monitors).where(monitors.c.id == monitor_id))
        await self._database.forget()

    async def prune(self, *, before: datetime | None, most: int) -> int:
        gone = 0
        for monitor in await self.every():
            async with self._database.reading() as connection:
                monitor_id = (await _row(connection, monitor.name)).id
                limit = await _limit(connection, monitor_id, most)
            old: list[ColumnElement[bool]] = [] if before is None else [_C.time < stored_moment(before)]
            if limit is not None:
                old.append(tuple_(_C.time, _C.id) <= tuple_(*limit))
            if old:
                gone += await self._delete_where(_C.monitor_id == monitor_id, or_(*old))
        async with self._database.writing() as connection:
            await connection.execute(delete(monitors).where(monitors.c.held == 0))
        if gone:
            await self._database.forget()
        return gone

    async def _put(self, connection: AsyncConnection, name: str) -> int:
        now = self._now()
        same = update(monitors).where(monitors.c.name == name).values(updated=now).returning(monitors.c.id)
        found: int | None = (await connection.execute(same)).scalar_one_or_none()
        if found is not None:
            return found
        if (await connection.execute(select(func.count()).select_from(monitors))).scalar_one() >= MOST_MONITORS:
            raise ContradictionError.at(
                "/monitor", "too-many-monitors", f"There are {MOST_MONITORS:,} monitors already. Delete one first."
            )
        values = {"name": name, "held": 0, "created": now, "updated": now}
        made: int = (await connection.execute(insert(monitors).values(values).returning(monitors.c.id))).scalar_one()
        return made

    async def _insert(self, connection: AsyncConnection, monitor_id: int, portion: Sequence[Entry]) -> None:
        now = self._now()
        await _put_shapes(connection, {_number(entry.shape): entry.shape for entry in portion})
        rows = [
            {
                "monitor_id": monitor_id,
                "key": entry.key,
                "time": now,
                "shape_id": _number(entry.shape),
                **msgspec.structs.asdict(entry.usage),
                "judge_ms": entry.judge_ms,
                "generation_ms": entry.generation_ms,
            }
            for entry in portion
        ]
        made = await connection.execute(insert(monitor_entries).returning(_C.id, sort_by_parameter_order=True), rows)
        ids = made.scalars().all()
        await connection.execute(
            insert(monitor_texts),
            [{"entry_id": id, "json": entry.json} for id, entry in zip(ids, portion, strict=True)],
        )

    async def _delete_where(self, *which: ColumnElement[bool]) -> int:
        """Delete entries, a portion a transaction."""
        gone = 0
        while True:
            async with self._database.writing() as connection:
                part = await connection.execute(select(_C.id, _C.monitor_id).where(*which).limit(PORTION))
                rows = part.all()
                if not rows:
                    return gone
                await _delete_entries(connection, _C.id.in_([row.id for row in rows]))
                held = monitors.c.held - len(rows)
                await connection.execute(update(monitors).where(monitors.c.id == rows[0].monitor_id).values(held=held))
            gone += len(rows)


async def _put_shapes(connection: AsyncConnection, wanted: Mapping[int, Shape]) -> None:
    """Store the shapes that are not stored yet."""
    known = await _shapes(connection, wanted)
    new = [{"id": number, "json": msgspec.json.encode(wanted[number])} for number in wanted.keys() - known.keys()]
    if new:
        await connection.execute(insert(monitor_shapes), new)


async def _shapes(connection: AsyncConnection, numbers: Iterable[int]) -> dict[int, Shape]:
    ids, found = list(numbers), dict[int, Shape]()
    for start in range(0, len(ids), PORTION):
        query = select(monitor_shapes).where(monitor_shapes.c.id.in_(ids[start : start + PORTION]))
        found |= {row.id: _SHAPE.decode(row.json) for row in await connection.execute(query)}
    return found


def _number(shape: Shape) -> int:
    """A number that follows from the shape, with 62 bits, so that writers need not agree on one."""
    return int.from_bytes(sha256(msgspec.json.encode(shape)).digest()[:8]) >> 2


async def _take_out(connection: AsyncConnection, monitor_id: int, keys: Sequence[str]) -> int:
    """Make room for entries that come again; how many there were."""
    found = await connection.execute(select(_C.id).where(_C.monitor_id == monitor_id, _C.key.in_(keys)))
    ids = list(found.scalars())
    if ids:
        await _delete_entries(connection, _C.id.in_(ids))
    return len(ids)


async def _delete_entries(connection: AsyncConnection, which: ColumnElement[bool]) -> None:
    await connection.execute(delete(monitor_texts).where(monitor_texts.c.entry_id.in_(select(_C.id).where(which))))
    await connection.execute(delete(monitor_entries).where(which))


async def _limit(connection: AsyncConnection, monitor_id: int, most: int) -> tuple[int, int] | None:
    """Time and id of the newest entry beyond so many; None where there are no more."""
    newest = _C.time.desc(), _C.id.desc()
    query = select(_C.time, _C.id).where(_C.monitor_id == monitor_id).order_by(*newest)
    row = (await connection.execute(query.offset(most).limit(1))).one_or_none()
    return None if row is None else (row.time, row.id)


async def _row(connection: AsyncConnection, name: str) -> Row[Any]:
    row = (await connection.execute(select(monitors).where(monitors.c.name == name))).one_or_none()
    if row is None:
        raise NotFoundError("unknown-monitor", f"There is no monitor {name!r}. GET /monitors lists those there are.")
    return row


def _within(monitor_id: int, period: Period) -> tuple[ColumnElement[bool], ...]:
    since, until = stored_moment(period.since), stored_moment(period.until)
    return _C.monitor_id == monitor_id, _C.time >= since, _C.time < until


def _monitor(row: Row[Any]) -> Monitor:
    return Monitor(name=row.name, held=row.held, created=moment_of(row.created), updated=moment_of(row.updated))


def _group(row: Row[Any], shape: Shape) -> Group:
    found = row._asdict()
    return Group(
        window=row.piece,
        shape=shape,
        answers=row.answers,
        # what one answer does not know is not known of all
        usage=Usage(**{part: found[part] if found[f"{part}_n"] == row.answers else None for part in _USAGE}),
        judge=_times(found, "judge_ms"),
        generation=_times(found, "generation_ms"),
    )


def _times(found: Mapping[str, Any], column: str) -> Times:
    n = found[f"{column}_n"]
    return Times(n, found[column], found[f"{column}_max"]) if n else Times()
