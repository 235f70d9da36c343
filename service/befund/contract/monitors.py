"""Monitors: judgments of online traffic, appended, in figures by time."""

from datetime import datetime
from typing import Any

from befund.contract.base import Estimate, Response, Usage
from befund.contract.judging import Chunk, Generation, Judgment
from befund.contract.questions import ExpectedBehavior


class MonitorWindow(Response, frozen=True, kw_only=True):
    """The answers of some time in figures; what each means stands with `RunSummary`.

    Attributes:
        since: Its begin, in UTC.
        until: Its end, which no longer belongs to it.
        answers: How many answers it holds.
        failed: Those among them that the judge failed at; they count as unscored in the rates.
        rates: `correct`, `faithful`, `faithful_given_claims`, `behaved`.
        corrected: `correct`, `faithful` and `behaved` corrected for the judge's error, where it was calibrated.
        correct_by_faithful: Answers that are correct and faithful (`tt`), correct and not faithful (`tf`), ...
        behavior: Expected behaviour, then observed behaviour, to answers.
        usage: What judging used.
        timings: `judge_ms` and `generation_ms`, each with `mean` and `max`, where they are known.
        judges: Answers by the fingerprint of their judge; more than one: rates may differ because the judge does.
    """

    since: datetime
    until: datetime
    answers: int
    failed: int
    rates: dict[str, Estimate]
    corrected: dict[str, Estimate]
    correct_by_faithful: dict[str, int]
    behavior: dict[str, dict[str, int]]
    usage: Usage
    timings: dict[str, Any]
    judges: dict[str, int]


class MonitorListing(Response, frozen=True, kw_only=True):
    """A monitor: how many answers it holds, and the times of the first one it ever got and of the last, in UTC."""

    name: str
    answers: int
    created: datetime
    updated: datetime


class MonitorList(Response, frozen=True, kw_only=True):
    """Every monitor, by name."""

    monitors: list[MonitorListing]


class MonitorAnswer(MonitorWindow, frozen=True, kw_only=True):
    """Answer of GET /monitors/{name}: the whole time asked for in figures, then the windows it was cut into.

    Attributes:
        name: The monitor.
        held: How many answers it holds in all.
        created: When it got its first answer.
        updated: When it got its last one.
        windows: One after the other, the oldest first; the last may be shorter. Empty where no `step` was given.
    """

    name: str
    held: int
    created: datetime
    updated: datetime
    windows: list[MonitorWindow]


class MonitorEntry(Response, frozen=True, kw_only=True):
    """One answer as a monitor holds it; texts are null or empty where the store keeps none.

    Attributes:
        time: When it was judged, in UTC.
        question_id: The question of the data set, where one was named.
        question: What was asked.
        answer: What was judged.
        expected_facts: What should have been stated; null where nobody said.
        reference_answers: Alternatives; null where nobody said.
        context: The chunks the generator received, by their ids, with texts where they are kept; null where unknown.
        expected_behavior: What should have been done; null where nobody said.
        generation: How the answer came about.
        config: What was running, as it was sent.
        judgment: The judgment; null where the judge failed.
        problem: The code of its failure.
    """

    time: datetime
    question_id: str | None
    question: str | None
    answer: str | None
    expected_facts: list[str] | None
    reference_answers: list[str] | None
    context: list[Chunk] | None
    expected_behavior: ExpectedBehavior | None
    generation: Generation | None
    config: dict[str, Any]
    judgment: Judgment | None
    problem: str | None


class MonitorEntries(Response, frozen=True, kw_only=True):
    """Answers of a monitor, the newest first. `next` is the cursor of the following page; null on the last."""

    entries: list[MonitorEntry]
    next: str | None
