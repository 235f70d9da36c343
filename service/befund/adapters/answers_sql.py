"""Answers to requests that may come again, for a day, and not too many of them."""

from datetime import timedelta

import msgspec
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from befund.adapters.moments import microseconds_in
from befund.adapters.tables import answers
from befund.core.errors import ConflictError
from befund.ports import Answered

REMEMBERED = timedelta(days=1)


async def recall(connection: AsyncConnection, caller: str, key: str, *, now: int) -> Answered | None:
    """What was answered to the request with this key."""
    query = select(answers.c.caller, answers.c.key, answers.c.request, answers.c.answer)
    recent = answers.c.created > now - microseconds_in(REMEMBERED)
    row = (
        await connection.execute(query.where(answers.c.caller == caller, answers.c.key == key, recent))
    ).one_or_none()
    return None if row is None else Answered(*row)


async def remember(connection: AsyncConnection, answered: Answered, *, now: int, most: int) -> None:
    """Keep an answer, and at most so many.

    Raises:
        ConflictError: `answered-meanwhile`.
    """
    await connection.execute(delete(answers).where(answers.c.created <= now - microseconds_in(REMEMBERED)))
    oldest = select(answers.c.created).order_by(answers.c.created.desc()).offset(most - 1).limit(1)
    await connection.execute(delete(answers).where(answers.c.created <= oldest.scalar_subquery()))
    try:
        await connection.execute(insert(answers).values(**msgspec.structs.asdict(answered), created=now))
    except IntegrityError as error:
        raise ConflictError(
            "answered-meanwhile", "The same request is being answered. Send it again to get that answer."
        ) from error
