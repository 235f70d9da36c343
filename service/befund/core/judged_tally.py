"""Adds judgments up to rates, tables, usage and timings."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from befund.contract import Estimate, ExpectedBehavior, JudgeCalibration, JudgeStatus, Judgment, JudgmentRecord, Usage
from befund.core.correction import Sample, corrected_rate
from befund.core.judging import Item
from befund.core.stats import FEWEST, wilson
from befund.core.usage import total
from befund.core.voting import DIMENSIONS

RATES = ("correct", "faithful", "faithful_given_claims", "behaved")
UNCLEAR = "unclear"
"""Stands for the behaviour of an answer that shows none: an empty one, or one the judge abstained on."""

Mark = Literal["true", "false", "abstained", "not_evaluable", "failed"]
"""What came of one dimension of one answer, in one word."""

_CELLS = {("true", "true"): "tt", ("true", "false"): "tf", ("false", "true"): "ft", ("false", "false"): "ff"}
_RECORD = msgspec.json.Decoder(JudgmentRecord)


class Shape(Struct, frozen=True, kw_only=True):
    """All that one answer adds to rates and tables; answers of one shape are counted together.

    Attributes:
        judge: Fingerprint of the judge; None where an answer got no judgment and it is not known.
        correct: What came of the dimension, likewise `faithful` and `behaved`.
        claims: Whether the answer claims anything.
        expected: The behaviour that was expected; None where nobody said, or the answer got no judgment.
        observed: What the answer does; None where it is not clear.
    """

    judge: str | None
    correct: Mark
    faithful: Mark
    behaved: Mark
    claims: bool = False
    expected: ExpectedBehavior | None = None
    observed: ExpectedBehavior | None = None


class Times(Struct, frozen=True):
    """Times of so many answers, in milliseconds; all 0 for none."""

    n: int = 0
    total: float = 0.0
    longest: float = 0.0

    def __add__(self, other: "Times") -> "Times":
        return Times(self.n + other.n, self.total + other.total, max(self.longest, other.longest))


def time_of(milliseconds: float | None) -> Times:
    """The time of one answer; of none where it is not known."""
    return Times() if milliseconds is None else Times(1, milliseconds, milliseconds)


def is_failed(judgment: Judgment) -> bool:
    """Whether a run holds an attempt here that gave no judgment."""
    status = judgment.status
    return "failed" in (status.correct, status.faithful, status.behaved)


def shape_of(judgment: Judgment, expected: ExpectedBehavior | None) -> Shape:
    """What a judgment adds."""
    if is_failed(judgment):
        expected = None
    return Shape(
        judge=judgment.judge.fingerprint,
        correct=_mark(judgment, "correct"),
        faithful=_mark(judgment, "faithful"),
        behaved=_mark(judgment, "behaved"),
        claims=bool(judgment.claims),
        expected=expected,
        observed=judgment.observed_behavior,
    )


def shape_of_failure(item: Item | None, *, judge: str | None = None) -> Shape:
    """What an answer adds that got no judgment; of one that could not be read nothing is known (None)."""
    return Shape(
        judge=judge,
        correct=_failed(item is None or bool(item.expected_facts or item.reference_answers)),
        faithful=_failed(item is None or item.context_is_known),
        behaved=_failed(item is None or item.expected_behavior is not None),
    )


class JudgedTally:
    """Judged answers, added up one by one, or many of one shape together.

    Attributes:
        correct_by_faithful: Answers by both verdicts, where both were reached: `tf` is correct and not faithful.
        behavior: Expected behaviour, then observed behaviour, to answers.
    """

    def __init__(self) -> None:
        self.correct_by_faithful = dict.fromkeys(_CELLS.values(), 0)
        self.behavior: dict[str, dict[str, int]] = {}
        self._marks: dict[str, dict[str | None, Counter[Mark]]] = {name: {} for name in RATES}
        self._usage: Usage | None = None
        self._times = {"judge_ms": Times(), "generation_ms": Times()}

    @property
    def judges(self) -> list[str]:
        """Fingerprints of all who judged."""
        found = (judge for by_judge in self._marks.values() for judge in by_judge if judge is not None)
        return list(dict.fromkeys(found))

    def add_stored(self, record: bytes) -> None:
        """Take in a judgment as a run holds it."""
        stored = _RECORD.decode(record)
        latency = stored.generation.latency_ms if stored.generation else None
        self.add(stored.judgment, expected=stored.expected_behavior, generation_ms=latency)

    def add(self, judgment: Judgment, *, expected: ExpectedBehavior | None, generation_ms: float | None = None) -> None:
        """Take in a judgment."""
        self.count(shape_of(judgment, expected))
        self.add_usage(judgment.usage)
        took = None if is_failed(judgment) else judgment.latency_ms
        self.add_times(judge=time_of(took), generation=time_of(generation_ms))

    def add_failure(self, item: Item | None) -> None:
        """Take in an answer that got no judgment; of one that could not be read nothing is known (None)."""
        self.count(shape_of_failure(item))

    def count(self, shape: Shape, times: int = 1) -> None:
        """Take in so many answers of one shape."""
        for name in DIMENSIONS:
            self._count(name, shape.judge, getattr(shape, name), times)
        if shape.claims:
            self._count("faithful_given_claims", shape.judge, shape.faithful, times)
        cell = _CELLS.get((shape.correct, shape.faithful))
        if cell is not None:
            self.correct_by_faithful[cell] += times
        if shape.expected is not None:
            row = self.behavior.setdefault(shape.expected, {})
            observed = shape.observed or UNCLEAR
            row[observed] = row.get(observed, 0) + times

    def add_usage(self, usage: Usage) -> None:
        """Take in what was used, in vain too."""
        self._usage = usage if self._usage is None else total((self._usage, usage))

    def add_times(self, *, judge: Times, generation: Times) -> None:
        """Take in how long it took."""
        self._times["judge_ms"] += judge
        self._times["generation_ms"] += generation

    def rates(self, confidence: float) -> dict[str, Estimate]:
        """Shares of the answers that were scored, with Wilson's interval."""
        return {name: self._rate(name, confidence) for name in RATES}

    def corrected(
        self, calibrations: Mapping[str, Mapping[str, JudgeCalibration]], confidence: float
    ) -> dict[str, Estimate]:
        """Rates corrected for the error of the judges, where each that scored an answer was calibrated.

        Args:
            calibrations: By fingerprint of the judge, then by dimension.
            confidence: Level of the intervals.
        """
        found: dict[str, Estimate] = {}
        for name in DIMENSIONS:
            samples = [
                Sample(marks["true"], n, None if judge is None else calibrations.get(judge, {}).get(name))
                for judge, marks in self._marks[name].items()
                if (n := marks["true"] + marks["false"])
            ]
            rate = corrected_rate(samples, attempted=self._attempted(name), confidence=confidence)
            if rate is not None:
                found[name] = rate
        return found

    def usage(self) -> Usage:
        """All that was used; unknown where nothing was judged."""
        return self._usage or Usage()

    def timings(self) -> dict[str, Any]:
        """Mean and largest time, where any is known."""
        return {
            name: {"mean": times.total / times.n, "max": times.longest}
            for name, times in self._times.items()
            if times.n
        }

    def _count(self, name: str, judge: str | None, mark: Mark, times: int) -> None:
        if mark != "not_evaluable":
            self._marks[name].setdefault(judge, Counter())[mark] += times

    def _attempted(self, name: str) -> int:
        return sum(marks.total() for marks in self._marks[name].values())

    def _rate(self, name: str, confidence: float) -> Estimate:
        attempted = self._attempted(name)
        true = sum(marks["true"] for marks in self._marks[name].values())
        n = true + sum(marks["false"] for marks in self._marks[name].values())
        enough = n >= FEWEST
        return Estimate(
            value=true / n if n else None,
            ci=wilson(true, n, confidence=confidence) if enough else None,
            n=n,
            attempted=attempted,
            unscored=attempted - n,
            method="wilson" if enough else "too_few",
        )


def _mark(judgment: Judgment, name: Literal["correct", "faithful", "behaved"]) -> Mark:
    verdict: bool | None = getattr(judgment, name)
    status: JudgeStatus = getattr(judgment.status, name)
    if status == "not_evaluable" or (status != "scored" and verdict is None):
        return status
    return "failed" if verdict is None else "true" if verdict else "false"


def _failed(evaluable: bool) -> Mark:
    return "failed" if evaluable else "not_evaluable"
