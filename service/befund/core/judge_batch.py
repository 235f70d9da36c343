"""A batch of answers as the service reads it: what holds for all first, the answers one by one."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from befund.contract import JudgeBatchOptions
from befund.contract.closed_sets import with_allowed
from befund.core.decoding import decode, read_message
from befund.core.errors import ContradictionError, MalformedRequestError
from befund.core.jobs import JOB_ITEMS
from befund.core.repeated import refuse_repeated_fields, without

AT_ONCE = 200
"""Answers of one request that are judged before it is answered; more become a job."""


class LazyJudgeBatchRequest(JudgeBatchOptions, frozen=True, kw_only=True):
    """`JudgeBatchRequest` with its items unread."""

    items: Annotated[list[Raw], Meta(min_length=1)]


class Batch(Struct, frozen=True):
    """Answers, unread, and how they are to be judged."""

    items: list[Raw]
    options: JudgeBatchOptions


_REQUEST = msgspec.json.Decoder(LazyJudgeBatchRequest)


def read_batch(body: bytes) -> Batch:
    """A batch in one JSON document.

    Raises:
        MalformedRequestError: It does not decode, items aside.
        ContradictionError: `too-many-items`.
    """
    request = decode(body, _REQUEST)
    refuse_repeated_fields(without(body, request.items), LazyJudgeBatchRequest)
    _refuse_too_many(len(request.items))
    names = JudgeBatchOptions.__struct_fields__
    return Batch(request.items, JudgeBatchOptions(**{name: getattr(request, name) for name in names}))


def read_lines(body: bytes, query: Mapping[str, str]) -> Batch:
    """A batch with an answer a line; what holds for all stands in the query. Blank lines are passed over.

    Raises:
        MalformedRequestError: There is no line, or the query cannot be used.
        ContradictionError: `too-many-items`.
    """
    try:
        options = msgspec.convert(dict(query), JudgeBatchOptions, strict=False)
    except msgspec.ValidationError as error:
        what, place = read_message(with_allowed(error, JudgeBatchOptions))
        raise MalformedRequestError(
            f"The query parameter {place.strip('/') or 'given'} cannot be used: {what}",
            "GET /schema describes what is read here.",
        ) from error
    lines = [Raw(line) for line in body.split(b"\n") if line.strip()]
    if not lines:
        raise MalformedRequestError("The body has no line", "Send an answer a line.")
    _refuse_too_many(len(lines))
    return Batch(lines, options)


def _refuse_too_many(items: int) -> None:
    if items > JOB_ITEMS:
        raise ContradictionError.at(
            "/items", "too-many-items", f"There are {items} answers, more than {JOB_ITEMS}. Send them in parts."
        )
