"""Monitors: which time is looked at, what is kept of an answer, and a time in figures."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from befund.contract import Chunk, Content, JudgeCalibration, MonitorEntry, MonitorWindow, Usage
from befund.core.errors import ContradictionError, JudgeError, MalformedRequestError
from befund.core.judge_tasks import Outcome, Task, without_texts
from befund.core.judged_tally import JudgedTally, Shape, Times, shape_of, shape_of_failure
from befund.core.runs import CONFIDENCE

DAY_SECONDS = 86_400
MOST_WINDOWS = 1_000
MOST_SECONDS = 100 * 366 * DAY_SECONDS
LARGEST_CONFIG = 4 * 1024
"""Bytes of a configuration, as JSON: every answer of a monitor carries its own."""

_ENTRY = msgspec.json.Decoder(MonitorEntry)
_UNTIMED = datetime.fromtimestamp(0, UTC)
"""Stands where the store says the time."""


class Monitor(Struct, frozen=True, kw_only=True):
    """A stored monitor without its entries."""

    name: str
    held: int
    created: datetime
    updated: datetime


class Period(Struct, frozen=True):
    """A time from `since` to before `until`, cut into windows of `step`, of which the last may be shorter."""

    since: datetime
    until: datetime
    step: timedelta

    def windows(self) -> Iterator[tuple[datetime, datetime]]:
        """Begin and end of each, the oldest first."""
        since = self.since
        while since < self.until:
            yield since, min(since + self.step, self.until)
            since += self.step


class Entry(Struct, frozen=True, kw_only=True):
    """One answer on its way into a monitor.

    Attributes:
        key: Names it; what comes again with the same key takes its place, as when an interrupted job goes on.
        shape: What it adds to rates and tables.
        usage: What judging it used.
        judge_ms: How long that took; None where it failed.
        generation_ms: How long the answer took; None where nobody said.
        json: `MonitorEntry` without its time, for people.
    """

    key: str
    shape: Shape
    usage: Usage
    judge_ms: float | None
    generation_ms: float | None
    json: bytes


class Group(Struct, frozen=True, kw_only=True):
    """Answers of one shape in one window, the `window`-th from 0."""

    window: int
    shape: Shape
    answers: int
    usage: Usage
    judge: Times
    generation: Times


class KeptEntry(Struct, frozen=True):
    """An entry as it is stored; `place` orders those of the same moment."""

    place: int
    time: datetime
    json: bytes


def period_of(*, now: datetime, since: str | None, until: str | None, window: int | None, step: int | None) -> Period:
    """The time a query asks for: a day up to now, where it says nothing else.

    Args:
        now: The present.
        since: Its begin, as RFC 3339.
        until: Its end, likewise; None means now.
        window: Its length in seconds, instead of `since`.
        step: Length of the windows it is cut into, in seconds; None leaves it whole.

    Raises:
        MalformedRequestError: A time cannot be read.
        ContradictionError: `window-and-since`, `empty-period`, `too-many-windows`.
    """
    if since is not None and window is not None:
        raise ContradictionError.at("/window", "window-and-since", "window and since say the same. Send one of them.")
    end = now if until is None else _read(until, "until")
    begin = _earlier(end, window or DAY_SECONDS) if since is None else _read(since, "since")
    if begin >= end:
        raise ContradictionError.at(
            "/since", "empty-period", f"The period from {begin.isoformat()} to {end.isoformat()} is empty."
        )
    length = end - begin
    cut = length if step is None else timedelta(seconds=step)
    if -(-length // cut) > MOST_WINDOWS:
        raise ContradictionError.at(
            "/step",
            "too-many-windows",
            f"That would be {-(-length // cut):,} windows, more than {MOST_WINDOWS:,}. Make step longer.",
        )
    return Period(begin, end, cut)


def entry_of(
    outcome: Outcome, *, key: str, content: Content, config: Mapping[str, Any], judge: str | None
) -> Entry | None:
    """What a monitor keeps of an answer; None where no judge was asked, since what was sent is at fault.

    Args:
        outcome: What came of it.
        key: Names it.
        content: Whether texts are kept.
        config: What was running.
        judge: Fingerprint of the judge that was asked, for one that failed.
    """
    task, judgment, error = outcome.task, outcome.judgment, outcome.error
    if task is None or (judgment is None and not isinstance(error, JudgeError)):
        return None
    sent = task.sent
    used = judgment.usage if judgment is not None else error.usage if isinstance(error, JudgeError) else None
    return Entry(
        key=key,
        shape=shape_of_failure(task.item, judge=judge)
        if judgment is None
        else shape_of(judgment, sent.expected_behavior),
        usage=used or Usage(input_tokens=0, output_tokens=0, cached_tokens=0, cost_usd=0.0),
        judge_ms=None if judgment is None else judgment.latency_ms,
        generation_ms=sent.generation.latency_ms if sent.generation else None,
        json=msgspec.json.encode(_entry(task, outcome, content, config)),
    )


def entry_read(kept: KeptEntry) -> MonitorEntry:
    """An entry as callers see it."""
    return msgspec.structs.replace(_ENTRY.decode(kept.json), time=kept.time)


def key_of(*parts: str) -> str:
    """A key that the same parts always give.

    >>> key_of("job", "1") == key_of("job", "1"), key_of("job", "1") == key_of("job", "2"), len(key_of())
    (True, False, 32)
    """
    return sha256(msgspec.json.encode(parts)).hexdigest()[:32]


def windows_of(
    groups: Iterable[Group],
    windows: Iterable[tuple[datetime, datetime]],
    calibrations: Mapping[str, Mapping[str, JudgeCalibration]],
) -> list[MonitorWindow]:
    """Each window in figures; one without an answer too."""
    by_window: dict[int, list[Group]] = {}
    for group in groups:
        by_window.setdefault(group.window, []).append(group)
    return [window_of(by_window.get(i, []), since, until, calibrations) for i, (since, until) in enumerate(windows)]


def window_of(
    groups: Iterable[Group],
    since: datetime,
    until: datetime,
    calibrations: Mapping[str, Mapping[str, JudgeCalibration]],
) -> MonitorWindow:
    """All of these answers in figures."""
    tally, answers, failed = JudgedTally(), 0, 0
    judges: dict[str, int] = {}
    for group in groups:
        tally.count(group.shape, group.answers)
        tally.add_usage(group.usage)
        tally.add_times(judge=group.judge, generation=group.generation)
        answers += group.answers
        failed += group.answers - group.judge.n
        if group.shape.judge is not None:
            judges[group.shape.judge] = judges.get(group.shape.judge, 0) + group.answers
    return MonitorWindow(
        since=since,
        until=until,
        answers=answers,
        failed=failed,
        rates=tally.rates(CONFIDENCE),
        corrected=tally.corrected(calibrations, CONFIDENCE),
        correct_by_faithful=tally.correct_by_faithful,
        behavior=tally.behavior,
        usage=tally.usage(),
        timings=tally.timings(),
        judges=judges,
    )


def _entry(task: Task, outcome: Outcome, content: Content, config: Mapping[str, Any]) -> MonitorEntry:
    sent, judgment, full = task.sent, outcome.judgment, content == "full"
    context = sent.context
    if context is not None and not full:
        context = [Chunk(id=chunk.id) for chunk in context]
    return MonitorEntry(
        time=_UNTIMED,
        question_id=sent.question_id,
        question=sent.question if full else None,
        answer=sent.answer if full else None,
        expected_facts=sent.expected_facts if full else None,
        reference_answers=sent.reference_answers if full else None,
        context=context,
        expected_behavior=sent.expected_behavior,
        generation=sent.generation,
        config=dict(config),
        judgment=without_texts(judgment) if judgment is not None and not full else judgment,
        problem=None if outcome.error is None else outcome.error.code,
    )


def _read(text: str, name: str) -> datetime:
    """A time with its offset; a `+` that was not percent-encoded came as a blank."""
    try:
        moment = msgspec.convert(text.replace(" ", "+"), datetime)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (msgspec.ValidationError, OverflowError):
        pass
    raise MalformedRequestError(
        f"{name} is no time", "Write it with its offset, as 2026-11-30T08:00:00Z.", pointer=f"/{name}"
    )


def _earlier(moment: datetime, seconds: int) -> datetime:
    try:
        return moment - timedelta(seconds=seconds)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
