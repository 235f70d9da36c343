"""The judge that asks a model: the one owner of retries, deadline, concurrency, cache and breaker."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from math import ceil
from time import monotonic

import msgspec

from befund.adapters.openai_judge.asking import Asking
from befund.adapters.openai_judge.breaker import Breaker
from befund.adapters.openai_judge.endpoint import Endpoint
from befund.adapters.openai_judge.failures import CallError, Kind
from befund.adapters.openai_judge.forms import FORMS, Ask, Reply
from befund.contract import Usage
from befund.core.configured import ModelJudge
from befund.core.empty import says_nothing
from befund.core.errors import JudgeDeadlineError, JudgeError, JudgeUnavailableError
from befund.core.judged import NO_USAGE, Judged, judged_by, nothing_said
from befund.core.judging import Item, Observation
from befund.core.rubric.prompt import RUBRIC, SYSTEM, Brief, brief_of
from befund.core.rubric.reply import SCHEMA, UnusableReplyError, exact_schema, read_reply
from befund.core.usage import priced, total
from befund.ports import Cache, CallOutcome, JudgeMeter

VARIED_TEMPERATURE = 0.7
"""Of the samples after the first, which vote with it; the first is as repeatable as the model allows."""

LONGEST_SHARED_PAUSE_SECONDS = 60.0
"""However long an endpoint asks to wait, after so long one of us looks again."""

ROOM, ROOM_A_FACT, ROOM_A_SENTENCE = 1_500, 150, 250
CERTAIN_WINDOW_WORDS = 1_500
"""Every model reads so much; where a longer text seems shorter to the endpoint, it was cut."""

_LOG = logging.getLogger(__name__)
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "api-key", "x-api-key"})
_OUTCOMES: Mapping[Kind, CallOutcome] = {
    "form": "rejected",
    "parameter": "rejected",
    "context": "context_exceeded",
    "cut": "context_exceeded",
    "refused": "refused",
    "rejected": "rejected",
    "limited": "limited",
    "unavailable": "unavailable",
    "garbled": "unusable",
    "malformed": "unusable",
    "unusable": "unusable",
    "truncated": "truncated",
}


class OpenAIJudge:
    """Asks a model by the rubric, and believes nothing that is not as asked.

    Args:
        configured: What it is.
        endpoint: Where it asks.
        cache: Where results are kept.
        meter: What counts its calls.
        clock: Seconds on a clock that only moves forward.
        pause: Waits for some seconds.
        chance: Gives a number from 0 to 1.
    """

    def __init__(
        self,
        configured: ModelJudge,
        endpoint: Endpoint,
        *,
        cache: Cache,
        meter: JudgeMeter,
        clock: Callable[[], float] = monotonic,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._configured = configured
        self._endpoint = endpoint
        self._cache = cache
        self._meter = meter
        self._clock = clock
        self._pause = pause
        self._chance = chance
        self._places = asyncio.Semaphore(configured.concurrency)
        self._breaker = Breaker(clock)
        self._resume_at = 0.0
        self.fingerprint = _fingerprint(configured)

    @property
    def name(self) -> str:
        """Its configured name."""
        return self._configured.name

    @property
    def model(self) -> str | None:
        """The model it asks."""
        return self._configured.model

    @property
    def models(self) -> Sequence[str]:
        """The model it asks."""
        return (self._configured.model,)

    @property
    def rubric(self) -> str | None:
        """The version of its rubric."""
        return RUBRIC

    @property
    def concurrency(self) -> int:
        """How many requests it makes at the same time."""
        return self._configured.concurrency

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        """Judge one answer; see `befund.ports.Judge`."""
        if says_nothing(item.answer, item.question):
            return judged_by(self.name, item, nothing_said(item))
        key = sha256(msgspec.json.encode((self.fingerprint, item, sample))).hexdigest()
        if use_cache and (held := await self._held(key)) is not None:
            return held
        seen, usage = await self._observe(item, sample)
        judged = judged_by(self.name, item, seen, usage=usage)
        if use_cache:
            await self._cache.put(key, msgspec.json.encode(judged))
        return judged

    async def ready(self) -> None:
        """Raise while the endpoint is left alone."""
        left = self._breaker.seconds_left()
        if left:
            raise self._left_alone(left)

    async def close(self) -> None:
        """Let go of the endpoint."""
        await self._endpoint.close()

    async def _held(self, key: str) -> Judged | None:
        held = await self._cache.get(key)
        self._meter.looked_up(found=held is not None)
        if held is None:
            return None
        return msgspec.structs.replace(msgspec.json.decode(held, type=Judged), usage=NO_USAGE, cached=True)

    async def _observe(self, item: Item, sample: int) -> tuple[Observation, Usage]:
        """Ask within the deadline, and tell the breaker how it went."""
        began: float | None = None
        spent: list[Usage] = []
        until = self._clock() + self._configured.deadline_seconds
        try:
            async with asyncio.timeout(self._configured.deadline_seconds), self._places:
                wait = self._breaker.admit()
                if wait:
                    raise self._left_alone(wait)
                began = self._clock()
                return await self._ask_until_usable(brief_of(item), sample, until, spent), total(spent)
        except TimeoutError as error:
            # Who got a place late says nothing about the endpoint.
            if began is not None and until - began >= self._configured.deadline_seconds / 2:
                self._breaker.failed()
            late = self._too_late()
            late.usage = total(spent) if spent else None
            raise late from error
        except JudgeError as error:
            if isinstance(error.__cause__, CallError) and error.__cause__.kind == "unavailable":
                self._breaker.failed()
            error.usage = total(spent) if spent else None
            raise

    async def _ask_until_usable(self, brief: Brief, sample: int, until: float, spent: list[Usage]) -> Observation:
        dialect, backoff = self._endpoint.dialect, self._configured.backoff_seconds
        asking = Asking(judge=self.name, dialect=dialect, backoff=backoff, form=dialect.form)
        while True:
            await self._wait_for_the_limit(asking, until)
            try:
                seen = await self._ask(brief, sample, asking, spent)
            except CallError as error:
                self._learn(error)
                seconds = asking.after(error, jitter=self._chance())
                if self._clock() + seconds >= until:
                    asking.give_up(error)
                self._meter.retried(self.name)
                await self._pause(seconds)
            else:
                dialect.settle(asking.form)
                return seen

    def _learn(self, error: CallError) -> None:
        """Remember what concerns all answers."""
        if error.kind == "limited":
            pause = min(error.retry_after or 0.0, LONGEST_SHARED_PAUSE_SECONDS)
            self._resume_at = max(self._resume_at, self._clock() + pause)
        if error.kind == "parameter":
            _LOG.warning("judge %s: its endpoint does not take %s; left out", self.name, error.parameter)

    async def _wait_for_the_limit(self, asking: Asking, until: float) -> None:
        """Nobody asks while the endpoint told one of us to wait; afterwards not all ask at once."""
        while (left := self._resume_at - self._clock()) > 0:
            if self._resume_at >= until:
                asking.give_up(CallError("limited", "it asked to wait", retry_after=left))
            await self._pause(left + self._chance() * self._configured.backoff_seconds)

    async def _ask(self, brief: Brief, sample: int, asking: Asking, spent: list[Usage]) -> Observation:
        """Ask once, count it, and read the reply."""
        started = self._clock()
        outcome: CallOutcome = "cancelled"
        self._meter.in_flight(1)
        try:
            reply = await self._endpoint.call(self._request(brief, sample, asking), form=asking.form)
            usage = priced(reply.usage, self._configured.price)
            spent.append(usage)
            self._meter.used(usage, judge=self.name, model=self._configured.model)
            self._breaker.succeeded()
            seen = _read(reply, brief)
            outcome = "ok"
        except CallError as error:
            outcome = _OUTCOMES[error.kind]
            raise
        finally:
            self._meter.in_flight(-1)
            seconds = self._clock() - started
            self._meter.called(outcome, judge=self.name, model=self._configured.model, seconds=seconds)
        return seen

    def _request(self, brief: Brief, sample: int, asking: Asking) -> Ask:
        asked = len(brief.fact_ids) + len(brief.reference_ids)
        room = ROOM + asked * ROOM_A_FACT + len(brief.sentences) * ROOM_A_SENTENCE
        return Ask(
            model=self._configured.model,
            system=brief.system,
            user=brief.after(asking.complaint) if asking.complaint else brief.user,
            schema=SCHEMA,
            exact_schema=exact_schema(brief),
            room=room * asking.room_factor if asking.with_room else None,
            parameters={"temperature": VARIED_TEMPERATURE if sample else 0.0, **self._configured.parameters},
        )

    def _too_late(self) -> JudgeDeadlineError:
        return JudgeDeadlineError(
            "judge-deadline",
            f"The judge {self.name!r} gave no verdict within {self._configured.deadline_seconds:g} seconds. "
            "Try again, ask less at the same time, or raise its deadline.",
        )

    def _left_alone(self, seconds: float) -> JudgeUnavailableError:
        return JudgeUnavailableError(
            "judge-unavailable",
            f"The judge {self.name!r} has been failing and is left alone for a while. Try again later.",
            retry_after=max(1, ceil(seconds)),
        )


def _read(reply: Reply, brief: Brief) -> Observation:
    if reply.ended == "length":
        raise CallError("truncated", "its reply was cut off")
    if reply.ended == "refused":
        raise CallError("refused", "the model or its content filter")
    words = len(brief.system.split()) + len(brief.user.split())
    read = reply.usage.input_tokens
    if read is not None and read + (reply.usage.cached_tokens or 0) < words and words > CERTAIN_WINDOW_WORDS:
        raise CallError("cut", f"it read {read} tokens of a text of {words} words")
    try:
        return read_reply(reply.text, brief)
    except UnusableReplyError as error:
        raise CallError("unusable" if error.well_formed else "malformed", f"its reply is unusable: {error}") from error


def _fingerprint(configured: ModelJudge) -> str:
    """A hash over everything that can change a verdict; secrets are left out."""
    headers = {name.lower(): value for name, value in configured.headers.items()}
    known = {
        "rubric": (RUBRIC, sha256(SYSTEM.encode()).hexdigest(), SCHEMA),
        "forms": FORMS,
        "model": configured.model,
        "url": configured.url,
        "parameters": configured.parameters,
        "headers": {name: value for name, value in headers.items() if name not in _SECRET_HEADERS},
        "sampling": VARIED_TEMPERATURE,
    }
    return f"sha256:{sha256(msgspec.json.encode(known, order='deterministic')).hexdigest()}"


def open_judge(configured: ModelJudge, *, cache: Cache, meter: JudgeMeter) -> OpenAIJudge:
    """A judge with an endpoint of its own."""
    endpoint = Endpoint(
        url=configured.url, key=configured.key, headers=configured.headers, connections=configured.concurrency
    )
    return OpenAIJudge(configured, endpoint, cache=cache, meter=meter)
