"""Requests that may come twice: the answer is remembered under the caller's key and given again."""

import zlib
from hashlib import sha256

import msgspec
from msgspec import Raw, Struct

from befund.core.errors import ContradictionError
from befund.ports import Answered, Store

LONGEST_ANSWER = 1024 * 1024
"""Bytes, compressed; a longer answer is not kept, and a repetition is carried out again, to the same end."""


class AlreadyAnswered(Exception):
    """The request was answered before; `answer` is that answer."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


class Caller(Struct, frozen=True):
    """Who asks, and the key by which a repetition is known."""

    name: str
    idempotency_key: str | None = None


def request_hash(path: str, *parts: bytes | Raw) -> str:
    """Tells a request, which may come in parts, from others."""
    whole = sha256(path.encode())
    for part in parts:
        whole.update(sha256(part).digest())
    return f"sha256:{whole.hexdigest()}"


async def unanswered(store: Store, caller: Caller, request: str) -> Answered | None:
    """What is to be remembered of the request with this hash once it is answered; None where nothing is.

    Raises:
        AlreadyAnswered: It was carried out before.
        ContradictionError: Its idempotency key belongs to another request.
    """
    key = caller.idempotency_key
    if key is None:
        return None
    found = await store.answered(caller.name, key)
    if found is None:
        return Answered(caller.name, key, request, None)
    if found.request != request:
        raise ContradictionError(
            "idempotency-key-reused",
            "This Idempotency-Key came with another request before. Give every request a key of its own.",
        )
    if found.answer is not None:
        raise AlreadyAnswered(zlib.decompress(found.answer))
    return None


async def refuse_answered_meanwhile(store: Store, request: Answered | None) -> None:
    """After a conflict: raise AlreadyAnswered where the same request was answered in the meantime."""
    if request is None:
        return
    found = await store.answered(request.caller, request.key)
    if found is not None and found.answer is not None and found.request == request.request:
        raise AlreadyAnswered(zlib.decompress(found.answer))


def answered_with(request: Answered | None, answer: bytes) -> Answered | None:
    """The request with its answer, unless that is too long to keep."""
    if request is None:
        return None
    compressed = zlib.compress(answer, 1)
    return msgspec.structs.replace(request, answer=compressed if len(compressed) <= LONGEST_ANSWER else None)
