"""Adds judgments up to rates, tables, usage and timings."""

from array import array
from collections import Counter
from typing import Any

import msgspec

from befund.contract import Estimate, ExpectedBehavior, Judgment, JudgmentRecord, Usage
from befund.core.judging import Item
from befund.core.stats import FEWEST, wilson
from befund.core.usage import total
from befund.core.voting import DIMENSIONS

RATES = ("correct", "faithful", "faithful_given_claims", "behaved")
UNCLEAR = "unclear"
"""Stands for the behaviour of an answer that shows none: an empty one, or one the judge abstained on."""

_CELLS = {(True, True): "tt", (True, False): "tf", (False, True): "ft", (False, False): "ff"}
_RECORD = msgspec.json.Decoder(JudgmentRecord)


class JudgedTally:
    """Judged answers, added up one by one.

    Attributes:
        correct_by_faithful: Answers by both verdicts, where both were reached: `tf` is correct and not faithful.
        behavior: Expected behaviour, then observed behaviour, to answers.
    """

    def __init__(self) -> None:
        self.correct_by_faithful = dict.fromkeys(_CELLS.values(), 0)
        self.behavior: dict[str, dict[str, int]] = {}
        self._attempted, self._scored, self._true = Counter[str](), Counter[str](), Counter[str]()
        self._usage: Usage | None = None
        self._milliseconds = {"judge_ms": array("d"), "generation_ms": array("d")}

    def add_stored(self, record: bytes) -> None:
        """Take in a judgment as a run holds it."""
        stored = _RECORD.decode(record)
        latency = stored.generation.latency_ms if stored.generation else None
        self.add(stored.judgment, expected=stored.expected_behavior, generation_ms=latency)

    def add(self, judgment: Judgment, *, expected: ExpectedBehavior | None, generation_ms: float | None = None) -> None:
        """Take in a judgment."""
        for name in DIMENSIONS:
            if getattr(judgment.status, name) != "not_evaluable":
                self._count(name, getattr(judgment, name))
        if judgment.claims and judgment.status.faithful != "not_evaluable":
            self._count("faithful_given_claims", judgment.faithful)
        if judgment.correct is not None and judgment.faithful is not None:
            self.correct_by_faithful[_CELLS[judgment.correct, judgment.faithful]] += 1
        if expected is not None:
            row = self.behavior.setdefault(expected, {})
            observed = judgment.observed_behavior or UNCLEAR
            row[observed] = row.get(observed, 0) + 1
        self.add_usage(judgment.usage)
        self._milliseconds["judge_ms"].append(judgment.latency_ms)
        if generation_ms is not None:
            self._milliseconds["generation_ms"].append(generation_ms)

    def add_failure(self, item: Item | None) -> None:
        """Take in an answer that got no judgment; of one that could not be read nothing is known (None)."""
        evaluable = {
            "correct": item is None or bool(item.expected_facts or item.reference_answers),
            "faithful": item is None or item.context_is_known,
            "behaved": item is None or item.expected_behavior is not None,
        }
        self._attempted.update(name for name, is_evaluable in evaluable.items() if is_evaluable)

    def add_usage(self, usage: Usage) -> None:
        """Take in what was used, in vain too."""
        self._usage = usage if self._usage is None else total((self._usage, usage))

    def rates(self, confidence: float) -> dict[str, Estimate]:
        """Shares of the answers that were scored, with Wilson's interval."""
        return {name: self._rate(name, confidence) for name in RATES}

    def usage(self) -> Usage:
        """All that was used; unknown where nothing was judged."""
        return self._usage or Usage()

    def timings(self) -> dict[str, Any]:
        """Mean and largest time, where any is known."""
        return {
            name: {"mean": sum(values) / len(values), "max": max(values)}
            for name, values in self._milliseconds.items()
            if values
        }

    def _count(self, name: str, verdict: bool | None) -> None:
        self._attempted[name] += 1
        self._scored[name] += verdict is not None
        self._true[name] += verdict is True

    def _rate(self, name: str, confidence: float) -> Estimate:
        n, attempted = self._scored[name], self._attempted[name]
        enough = n >= FEWEST
        return Estimate(
            value=self._true[name] / n if n else None,
            ci=wilson(self._true[name], n, confidence=confidence) if enough else None,
            n=n,
            attempted=attempted,
            unscored=attempted - n,
            method="wilson" if enough else "too_few",
        )
