"""A batch of answers to be diagnosed as the service reads it: what holds for all first, the answers one by one."""

from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from befund.contract import DiagnoseBatchOptions
from befund.core.decoding import decode
from befund.core.errors import ContradictionError
from befund.core.repeated import refuse_repeated_fields, without

DIAGNOSED_AT_ONCE = 1_000
"""Answers of one request; they share one pass over a collection."""


class LazyDiagnoseBatchRequest(DiagnoseBatchOptions, frozen=True, kw_only=True):
    """`DiagnoseBatchRequest` with its items unread."""

    items: Annotated[list[Raw], Meta(min_length=1)]


class DiagnoseBatch(Struct, frozen=True):
    """Answers, unread, and how they are to be diagnosed."""

    items: list[Raw]
    options: DiagnoseBatchOptions


_REQUEST = msgspec.json.Decoder(LazyDiagnoseBatchRequest)


def read_diagnose_batch(body: bytes) -> DiagnoseBatch:
    """A batch in one JSON document.

    Raises:
        MalformedRequestError: It does not decode, items aside.
        ContradictionError: `too-many-items`.
    """
    request = decode(body, _REQUEST)
    refuse_repeated_fields(without(body, request.items), LazyDiagnoseBatchRequest)
    if len(request.items) > DIAGNOSED_AT_ONCE:
        detail = f"There are {len(request.items)} answers, more than {DIAGNOSED_AT_ONCE:,}. Send them in parts."
        raise ContradictionError.at("/items", "too-many-items", detail)
    names = DiagnoseBatchOptions.__struct_fields__
    return DiagnoseBatch(request.items, DiagnoseBatchOptions(**{name: getattr(request, name) for name in names}))
