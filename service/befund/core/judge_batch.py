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


class Lines:
    r"""A body that comes in pieces, as lines with an answer each; blank ones are passed over. It is held once.

    >>> lines = Lines()
    >>> for piece in (b'{"answer": ', b'"a"}\n\n{"ans', b'wer": "b"}'):
    ...     lines.feed(piece)
    >>> [bytes(line) for line in lines.end()]
    [b'{"answer": "a"}', b'{"answer": "b"}']
    """

    def __init__(self) -> None:
        self._lines: list[Raw] = []
        self._begun: list[bytes] = []

    def feed(self, piece: bytes) -> None:
        """Take in the next piece.

        Raises:
            ContradictionError: `too-many-items`.
        """
        first, *others = piece.split(b"\n")
        self._begun.append(first)
        for other in others:
            self._finish()
            self._begun = [other]

    def end(self) -> list[Raw]:
        """Every line, once there is no further piece.

        Raises:
            MalformedRequestError: There is none.
            ContradictionError: `too-many-items`.
        """
        self._finish()
        if not self._lines:
            raise MalformedRequestError("The body has no line", "Send an answer a line.")
        return self._lines

    def _finish(self) -> None:
        line = b"".join(self._begun)
        self._begun = []
        if line and not line.isspace():
            self._lines.append(Raw(line))
            _refuse_too_many(len(self._lines))


def read_options(query: Mapping[str, str]) -> JudgeBatchOptions:
    """What holds for all answers that come as lines: it stands in the query.

    Raises:
        MalformedRequestError: The query cannot be used.
    """
    try:
        return msgspec.convert(dict(query), JudgeBatchOptions, strict=False)
    except msgspec.ValidationError as error:
        what, place = read_message(with_allowed(error, JudgeBatchOptions))
        raise MalformedRequestError(
            f"The query parameter {place.strip('/') or 'given'} cannot be used: {what}",
            "GET /schema describes what is read here.",
        ) from error


def _refuse_too_many(items: int) -> None:
    if items > JOB_ITEMS:
        raise ContradictionError.at(
            "/items", "too-many-items", f"There are more than {JOB_ITEMS:,} answers. Send them in parts."
        )
