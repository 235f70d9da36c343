"""A call to the service without its input and output: what to send, when to try again, how to read the answer.

`Client` and `AsyncClient` differ only in how they send and wait; everything decided about a call is decided here.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Generic, NoReturn, TypeVar

import msgspec

from befund.contract import Problem
from befund_client._errors import ConflictError, NotFoundError, ProblemError, ResponseError, TransportError

T = TypeVar("T")

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
PROBLEM_CLASSES: Mapping[int, type[ProblemError]] = {404: NotFoundError, 409: ConflictError}


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how long a call is tried.

    Attributes:
        attempts: Attempts in all; 1 never retries.
        budget_seconds: No attempt begins later than this after the first; a `Retry-After` beyond it ends the call at
            once instead of waiting in vain.
        first_delay: Seconds before the second attempt, doubled for each later one, with jitter.
        longest_delay: What that doubling ends at; a `Retry-After` may ask for more.
    """

    attempts: int = 4
    budget_seconds: float = 60.0
    first_delay: float = 0.5
    longest_delay: float = 8.0


class Call(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One request and how its answer is read.

    `accepted` are the statuses whose body `read` understands, `media_type` is that of the content, `headers` are sent
    beside those that every call has.
    """

    method: str
    path: str
    read: Callable[[bytes], T]
    content: bytes | None = None
    media_type: str = "application/json"
    accepted: frozenset[int] = frozenset({200})
    headers: Mapping[str, str] = {}


class Answer(msgspec.Struct, frozen=True):
    """What came back. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Failure(msgspec.Struct, frozen=True):
    """Why nothing came back, what to do about it, and whether asking again may help."""

    reason: str
    advice: str
    retryable: bool
    cause: Exception


Outcome = Answer | Failure


class Exchange(Generic[T]):
    """One call from its first attempt to its last."""

    def __init__(
        self,
        call: Call[T],
        retry: Retry,
        *,
        request_id: str,
        started: float,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._call = call
        self._retry = retry
        self._request_id = request_id
        self._started = started
        self._chance = chance
        self._attempts = 0

    def delay(self, outcome: Outcome, *, now: float) -> float | None:
        """Seconds to wait before the next attempt, or None when `outcome` is final."""
        self._attempts += 1
        if not self._worth_repeating(outcome) or self._attempts >= self._retry.attempts:
            return None
        backoff = min(self._retry.longest_delay, self._retry.first_delay * 2 ** (self._attempts - 1))
        # A wait the service asked for is kept in full, and jitter goes on top of it.
        asked = retry_after(outcome.headers) if isinstance(outcome, Answer) else None
        wait = backoff * (0.5 + self._chance() / 2) if asked is None else asked + backoff * self._chance() / 2
        return wait if now - self._started + wait <= self._retry.budget_seconds else None

    def result(self, outcome: Outcome) -> T:
        """Read the final outcome: the typed answer, or one of the errors of this package."""
        if isinstance(outcome, Failure):
            tries = f" after {self._attempts} attempts" if self._attempts > 1 else ""
            raise TransportError(f"{outcome.reason}{tries}: {outcome.advice}", self._request_id) from outcome.cause
        if outcome.status not in self._call.accepted:
            self._raise_problem(outcome)
        try:
            return self._call.read(outcome.body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._unexpected(outcome, f"the body is not the answer the contract describes ({error})") from error

    def _worth_repeating(self, outcome: Outcome) -> bool:
        if isinstance(outcome, Failure):
            return outcome.retryable
        return outcome.status in RETRIED_STATUSES - self._call.accepted

    def _raise_problem(self, answer: Answer) -> NoReturn:
        if 300 <= answer.status < 400:
            where = answer.headers.get("location", "elsewhere")
            raise self._unexpected(answer, f"it redirects to {where}; give the service's own address as url")
        try:
            problem = msgspec.json.decode(answer.body, type=Problem)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            start = answer.body[:80].decode("utf-8", "replace")
            raise self._unexpected(answer, f"the body is no problem document but begins {start!r}") from error
        raise PROBLEM_CLASSES.get(answer.status, ProblemError)(problem)

    def _unexpected(self, answer: Answer, what: str) -> ResponseError:
        message = (
            f"{self._call.method} {self._call.path} answered {answer.status} and {what}: is this a Befund service?"
        )
        return ResponseError(message, answer.status, answer.headers.get("x-request-id", self._request_id))


def retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Seconds that `Retry-After` asks for, given as a number or as an HTTP date; None where absent or unreadable."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    from email.utils import parsedate_to_datetime  # slow to load, and few services send a date

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now())
    except (ValueError, OverflowError):
        return None
