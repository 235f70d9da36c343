"""Versions of data sets in a SQL database: by content, by name, and gone once nobody needs them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from befund.adapters.moments import moment_of
from befund.adapters.tables import names, questions, runs, versions
from befund.core.datasets import Edition, KeptQuestion, Placed, Selection, StoredVersion, Version
from befund.core.errors import NotFoundError

PORTION = 500
"""Rows a statement; PostgreSQL and SQLite both take their parameters."""
SHORTEST_PREFIX = 8
_HASH = "sha256:"


async def named_versions(connection: AsyncConnection, reference: str) -> Sequence[Row[Any]]:
    """The versions a reference names, newest first; one or more."""
    name, _, prefix = reference.partition("@")
    query = select(versions).join(names, names.c.version_id == versions.c.id).where(names.c.name == name)
    rows = (await connection.execute(query.order_by(names.c.turn.desc()))).all()
    if not rows:
        raise NotFoundError("unknown-dataset", f"There is no data set {name!r}. GET /datasets lists those there are.")
    digits = prefix.removeprefix(_HASH)
    fixed = [row for row in rows if row.hash.removeprefix(_HASH).startswith(digits)] if prefix else rows
    if prefix and (len(digits) < SHORTEST_PREFIX or len(fixed) != 1):
        raise NotFoundError(
            "unknown-dataset",
            f"Data set {name!r} has {len(fixed)} versions whose hash begins with {digits!r}. Give the whole hash, "
            f"or at least {SHORTEST_PREFIX} characters that only one begins with; GET /datasets lists them.",
        )
    return fixed


async def put_version(connection: AsyncConnection, edition: Edition, *, now: int) -> tuple[int, datetime]:
    """Store a version where it is not stored yet, or only without the texts that are given now.

    What is stored without texts may have come with a hash that nobody could verify: a verified edition takes its
    place.
    """
    version = edition.version
    query = select(versions.c.id, versions.c.content, versions.c.created).where(versions.c.hash == version.hash)
    row = (await connection.execute(query)).one_or_none()
    if row is not None and (row.content == "full" or not edition.verified):
        return row.id, moment_of(row.created)
    if row is not None and version.content == "ids":
        held = await connection.execute(
            select(questions.c.question_id, questions.c.json).where(questions.c.version_id == row.id)
        )
        if {each.question_id: each.json for each in held} == {each.id: each.json for each in edition.questions}:
            return row.id, moment_of(row.created)
    created = now if row is None else row.created
    if row is None:
        values = _version_values(version) | {"created": created}
        version_id = (await connection.execute(insert(versions).values(values).returning(versions.c.id))).scalar_one()
    else:
        version_id = row.id
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
    return version_id, moment_of(created)


async def edition_of_row(connection: AsyncConnection, row: Row[Any]) -> Edition:
    """One version with its questions."""
    query = select(questions.c.question_id, questions.c.hash, questions.c.json)
    found = await connection.execute(query.where(questions.c.version_id == row.id).order_by(questions.c.position))
    return Edition(stored_version(row).version, [KeptQuestion(*question) for question in found])


async def version_row(connection: AsyncConnection, version: str) -> Row[Any]:
    """The version of this hash, whatever it is called."""
    row = (await connection.execute(select(versions).where(versions.c.hash == version))).one_or_none()
    if row is None:
        raise NotFoundError("unknown-dataset", f"There is no data set version {version!r} any more.")
    return row


async def selection_of_row(connection: AsyncConnection, row: Row[Any], ids: Sequence[str]) -> Selection:
    """Some questions of one version; ids it does not have are passed over."""
    found: dict[str, Placed] = {}
    columns = (questions.c.question_id, questions.c.position, questions.c.hash, questions.c.json)
    for start in range(0, len(ids), PORTION):
        wanted = questions.c.question_id.in_(ids[start : start + PORTION])
        rows = await connection.execute(select(*columns).where(questions.c.version_id == row.id, wanted))
        found.update({each.question_id: Placed(each.position, KeptQuestion(each[0], *each[2:])) for each in rows})
    return Selection(stored_version(row).version, found)


async def sweep(connection: AsyncConnection) -> None:
    """Delete the data set versions that neither a name nor a run needs any more."""
    needed = select(names.c.version_id).union(select(runs.c.version_id))
    unused = select(versions.c.id).where(versions.c.id.not_in(needed))
    ids = list((await connection.execute(unused)).scalars())
    for version_id in ids:
        await connection.execute(delete(questions).where(questions.c.version_id == version_id))
        await connection.execute(delete(versions).where(versions.c.id == version_id))


def stored_version(row: Row[Any]) -> StoredVersion:
    """One version without its questions."""
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
    return StoredVersion(version, moment_of(row.created))


def _version_values(version: Version) -> dict[str, Any]:
    values = msgspec.structs.asdict(version)
    encoded = {name: msgspec.json.encode(values[name]) for name in ("splits", "behaviors")}
    return values | encoded
