"""Texts to vectors: wordllama's static vectors, which need no service, or any OpenAI-compatible endpoint."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from itertools import count
from time import time
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.adapters.static_vectors import DIMENSION, MODEL, static_vectors
from befund.core.errors import ContradictionError, DependencyError
from befund.ports import EmbedderIdentity, Vectors

COUNTS_REMEMBERED = 200_000

_SLICE = 256
_ROWS_AT_ONCE = 4096

TEXTS_A_REQUEST = 128
CHARACTERS_A_REQUEST = 200_000
_LONGEST_ADVICE_SECONDS = 3600
_RETRIED_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504})


class StaticEmbedder:
    """A text's vector is the mean of its tokens' vectors, which ship with wordllama; nothing is ever downloaded.

    The means are made here and not by the library, which pads every batch to its longest text: one text of a megabyte
    would take many gigabytes. A thread of its own works in slices, so that a question need not wait for an ingestion.
    """

    name = f"wordllama/{MODEL}"

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._counts: dict[tuple[int, int], int] = {}

    async def identity(self) -> EmbedderIdentity:
        """The model and its dimension."""
        return EmbedderIdentity(f"{self.name}/{DIMENSION}", DIMENSION)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 a text, in order."""
        refuse_blank(texts)
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for start, part in _slices(texts):
            vectors[start : start + len(part)] = await self._run(self._embed, part)
        return vectors

    async def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has.

        Counting takes longer than searching, and the same chunks come back again and again: counts are remembered.
        """
        keys = [(len(text), hash(text)) for text in texts]
        unknown = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._counts}
        counted = {key: self._counts[key] for key in keys if key in self._counts}
        for start, part in _slices(list(unknown.values())):
            counted.update(
                zip(list(unknown)[start : start + len(part)], await self._run(self._count, part), strict=True)
            )
        if len(self._counts) + len(unknown) > COUNTS_REMEMBERED:
            self._counts.clear()
        self._counts.update(counted)
        return [counted[key] for key in keys]

    async def load(self) -> None:
        """Read the model, which the first text would otherwise wait for."""
        await self._run(lambda _: static_vectors(), [])

    async def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _embed(self, texts: list[str]) -> Vectors:
        static = static_vectors()
        tokens = static.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return unit_vectors(np.stack([_sum_of_rows(static.table, encoded.ids) for encoded in tokens]))

    def _count(self, texts: list[str]) -> list[int]:
        tokens = static_vectors().tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [len(encoded) for encoded in tokens]

    async def _run(self, work: Callable[[list[str]], Any], texts: list[str]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, texts)


class EndpointEmbedder:
    """An OpenAI-compatible embeddings endpoint.

    Args:
        model: Its name there.
        url: Base URL, as `https://api.openai.com/v1`.
        key: Sent as a bearer token; None where the endpoint wants none.
        deadline_seconds: How long one request may take, its repetitions and waits included.
        attempt_seconds: How long one attempt may take.
        attempts: How often a request is tried.
        at_once: How many requests may be under way.
        chance: From 0 to 1, for the jitter of waits.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        model: str,
        *,
        url: str,
        key: str | None,
        deadline_seconds: float = 60.0,
        attempt_seconds: float = 20.0,
        attempts: int = 5,
        at_once: int = 4,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        import openai  # slow to import, and of no use to the static vectors

        self._openai = openai
        self._client = openai.AsyncOpenAI(api_key=key or "none", base_url=url, max_retries=0, timeout=attempt_seconds)
        self._model = model
        self._url = url
        self._deadline_seconds = deadline_seconds
        self._attempts = attempts
        self._places = asyncio.Semaphore(at_once)
        self._chance = chance
        self._sleep = sleep
        self._dimension: int | None = None

    async def identity(self) -> EmbedderIdentity:
        """The model and its dimension, which is asked for once."""
        if self._dimension is None:
            await self.embed(["dimension"])
        assert self._dimension is not None  # noqa: S101 - embed learns it or raises
        return EmbedderIdentity(f"{self._model}/{self._dimension}", self._dimension)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 a text, in order."""
        refuse_blank(texts)
        try:
            async with asyncio.TaskGroup() as group:
                parts = [group.create_task(self._embed(part)) for part in _requests(texts)]
        except* DependencyError as failures:
            raise failures.exceptions[0] from failures
        vectors = [part.result() for part in parts]
        return np.concatenate(vectors) if vectors else np.empty((0, self._dimension or 0), dtype=np.float32)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _embed(self, texts: list[str]) -> Vectors:
        async with self._places:
            content = await self._ask(texts)
        vectors = await asyncio.to_thread(_read_vectors, content, len(texts), self._url)
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise _unusable(self._url, f"vectors of {vectors.shape[1]} numbers after some of {self._dimension}")
        return vectors

    async def _ask(self, texts: list[str]) -> bytes:
        """Ask until there is an answer, the failure is final, or attempts or time are used up."""
        clock = asyncio.get_running_loop().time
        until = clock() + self._deadline_seconds
        for attempt in count(1):
            try:
                async with asyncio.timeout_at(until):
                    return await self._attempt(texts)
            except (self._openai.APIError, TimeoutError) as error:
                cause, failure = error, _failure_of(error)
            backoff = min(8.0, 0.25 * 2**attempt)
            asked = failure.retry_after
            wait = backoff * (0.5 + self._chance() / 2) if asked is None else asked + backoff * self._chance() / 2
            if failure.final or attempt == self._attempts or clock() + wait >= until:
                raise self._error(failure, attempt) from cause
            await self._sleep(wait)
        raise AssertionError("counting does not end")

    async def _attempt(self, texts: list[str]) -> bytes:
        answer = await self._client.embeddings.with_raw_response.create(
            input=texts, model=self._model, encoding_format="float"
        )
        return answer.content

    def _error(self, failure: "_Failure", attempts: int) -> DependencyError:
        what = f"The embedding endpoint {self._url} {failure.reason}"
        if failure.final:
            advice = "Check BEFUND_EMBEDDER, BEFUND_EMBEDDING_URL and BEFUND_EMBEDDING_KEY."
            return DependencyError("embedder-refused", f"{what}. {advice}")
        seconds = max(1, round(min(failure.retry_after or 5, _LONGEST_ADVICE_SECONDS)))
        return DependencyError("embedder-down", f"{what} ({attempts} attempts). Try again later.", retry_after=seconds)


class _Failure(Struct, frozen=True):
    """Why an attempt brought nothing, the wait the endpoint asked for, and whether asking again is in vain."""

    reason: str
    retry_after: float | None = None
    final: bool = False


class _Row(Struct):
    index: int
    embedding: list[float]


class _Answer(Struct):
    data: list[_Row]


_ANSWER = msgspec.json.Decoder(_Answer)


def refuse_blank(texts: Sequence[str]) -> None:
    """Refuse texts of which nothing but spaces would be embedded, which gives a vector of nothing or not a number."""
    for position, text in enumerate(texts):
        if not text.strip():
            raise ContradictionError.at(
                f"/{position}",
                "blank-text",
                f"Text {position + 1} of {len(texts)} is blank: there is nothing to embed.",
            )


def unit_vectors(vectors: NDArray[Any]) -> Vectors:
    """The vectors at length 1.

    Raises:
        ValueError: One is zero or not finite, so that it has no direction.
    """
    wide = vectors.astype(np.float64)
    largest = np.abs(wide).max(axis=1, keepdims=True, initial=0)
    if not np.isfinite(largest).all() or not largest.all():
        raise ValueError("a vector is zero or not finite")
    wide /= largest  # so that no square overflows
    unit: Vectors = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _slices(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    for start in range(0, len(texts), _SLICE):
        yield start, list(texts[start : start + _SLICE])


def _sum_of_rows(matrix: Vectors, rows: list[int]) -> Vectors:
    total = np.zeros(matrix.shape[1], dtype=np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        total += matrix[rows[start : start + _ROWS_AT_ONCE]].sum(axis=0)
    return total


def _requests(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in parts that an endpoint takes in one request."""
    part: list[str] = []
    characters = 0
    for text in texts:
        if part and (len(part) == TEXTS_A_REQUEST or characters + len(text) > CHARACTERS_A_REQUEST):
            yield part
            part, characters = [], 0
        part.append(text)
        characters += len(text)
    if part:
        yield part


def _read_vectors(content: bytes, wanted: int, url: str) -> Vectors:
    try:
        rows = sorted(_ANSWER.decode(content).data, key=lambda row: row.index)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unusable(url, f"what is no list of embeddings ({error})") from error
    if [row.index for row in rows] != list(range(wanted)):
        raise _unusable(url, f"{len(rows)} vectors for {wanted} texts, or not one a text")
    if len({len(row.embedding) for row in rows}) > 1:
        raise _unusable(url, "vectors of different lengths")
    try:
        return unit_vectors(np.array([row.embedding for row in rows]))
    except ValueError as error:
        raise _unusable(url, f"a useless vector: {error}") from error


def _unusable(url: str, what: str) -> DependencyError:
    return DependencyError(
        "embedder-unusable",
        f"The embedding endpoint {url} answered {what}. Check that BEFUND_EMBEDDER names an embedding model.",
    )


def _failure_of(error: Exception) -> _Failure:
    import openai

    if isinstance(error, openai.APIStatusError):
        code = f" ({error.code})" if isinstance(error.code, str) else ""
        return _Failure(
            f"answered {error.status_code}{code}",
            _retry_after(error.response.headers.get("retry-after", "")),
            final=error.status_code not in _RETRIED_STATUSES,
        )
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return _Failure("did not answer in time")
    return _Failure("cannot be reached")


def _retry_after(value: str) -> float | None:
    """Seconds that `Retry-After` asks for, given as a number or as a date; None where absent or unreadable."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (ValueError, OverflowError):
        return None
