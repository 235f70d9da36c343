"""Metrics of both sides, as columns over the questions they share."""

from collections.abc import Iterable, Sequence
from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.core.comparison.names import JUDGED
from befund.core.comparison.pairing import Mask, Paired
from befund.core.comparison.side import NO_ROW, Side
from befund.core.errors import ContradictionError
from befund.core.metrics import AT_CUTOFF, EVIDENCE_LEVEL, STANDARD, WHOLE_RANKING, Metric, Values, metric_named

GROWING = frozenset({"hit_rate", "recall", "mrr", "map"})
"""What cannot fall where a list only gets longer."""
WORSE = 1e-9
"""What rounding may make of two equal values of one question."""


class State(IntEnum):
    """What one side says of one question on one metric."""

    SCORED = 0
    UNSCORED = 1
    """It was to be scored and is not: no ranking, the judge abstained or failed."""
    NOT_EVALUABLE = 2
    """It cannot be scored there."""
    MISSING = 3
    """The side does not hold it."""


class Compared(Struct, frozen=True):
    """A metric and what it is called here: at one cutoff for both sides, or at each side's own.

    Attributes:
        name: As callers write it.
        baseline: The metric as the baseline is measured by; None for a judged one.
        candidate: The same for the candidate.
        dimension: Of the judgment; None for a retrieval metric.
    """

    name: str
    baseline: Metric | None = None
    candidate: Metric | None = None
    dimension: str | None = None

    @property
    def is_yes_or_no(self) -> bool:
        """Whether it can only be 0 or 1 on either side."""
        sides = (self.baseline, self.candidate)
        return self.dimension is not None or all(metric is not None and metric.is_yes_or_no for metric in sides)

    @property
    def kind(self) -> str:
        """`retrieval` or `judgments`."""
        return "retrieval" if self.dimension is None else "judgments"

    @property
    def cutoffs(self) -> tuple[int | None, int | None]:
        """The baseline's and the candidate's."""
        before, after = self.baseline, self.candidate
        return None if before is None else before.k, None if after is None else after.k


class Column(Struct, frozen=True):
    """One metric over all paired questions; a value is NaN where it is not scored.

    Attributes:
        metric: Which.
        before: The baseline's values.
        after: The candidate's.
        before_state: What the baseline says.
        after_state: What the candidate says.
        after_same_cut: The candidate's values at the baseline's cutoff; None where the cutoffs are the same.
    """

    metric: Compared
    before: Values
    after: Values
    before_state: NDArray[np.int8]
    after_state: NDArray[np.int8]
    after_same_cut: Values | None = None

    @property
    def scored(self) -> Mask:
        """Where both sides are scored."""
        scored: Mask = (self.before_state == State.SCORED) & (self.after_state == State.SCORED)
        return scored

    @property
    def attempted(self) -> Mask:
        """Where either side is scored or was to be."""
        attempted: Mask = (self.before_state <= State.UNSCORED) | (self.after_state <= State.UNSCORED)
        return attempted

    @property
    def improved(self) -> Mask:
        """Where the candidate is better."""
        with np.errstate(invalid="ignore"):
            is_better: Mask = self.after > self.before + WORSE
        return self.scored & is_better

    @property
    def fallen(self) -> Mask:
        """Where the candidate is lower, for whatever reason."""
        with np.errstate(invalid="ignore"):
            is_lower: Mask = self.after < self.before - WORSE
        return self.scored & is_lower

    @property
    def decreased(self) -> Mask:
        """Where it is lower only because its list is cut later: at the baseline's cutoff it is not."""
        if self.after_same_cut is None:
            return np.zeros(len(self.before), dtype=np.bool_)
        with np.errstate(invalid="ignore"):
            is_as_good: Mask = self.after_same_cut >= self.before - WORSE
        return self.fallen & is_as_good

    @property
    def regressed(self) -> Mask:
        """Where the candidate is worse."""
        return self.fallen & ~self.decreased


def default_metrics(paired: Paired) -> list[str]:
    """The names of all that was measured on either side: at the cutoffs given, else at those both were measured at."""
    baseline, candidate = paired.baseline, paired.candidate
    names: list[str] = []
    if baseline.found or candidate.found:
        families = [family for family in STANDARD if family in _families(paired)]
        if baseline.k_given or candidate.k_given:
            same = baseline.k == candidate.k
            names += [f"{each}@{candidate.k}" if same and each in AT_CUTOFF else each for each in families]
        else:
            shared = sorted(set(baseline.cutoffs).intersection(candidate.cutoffs)) or [min(baseline.k, candidate.k)]
            names += [name for each in families for name in _at_cutoffs(each, shared)]
    answered = [*baseline.answered.values(), *candidate.answered.values()]
    return names + [name for name in JUDGED if any(each.verdicts[name].status != "not_evaluable" for each in answered)]


def compared(name: str, paired: Paired, *, pointer: str) -> Compared:
    """The metric that is written so.

    Raises:
        ContradictionError: `unknown-metric`.
    """
    if name in JUDGED:
        return Compared(name, dimension=name)
    families = _families(paired)
    written = metric_named(name)
    if written is not None and written.family in families:
        return Compared(name, written, written)
    if name in families:
        return Compared(name, Metric(name, paired.baseline.k), Metric(name, paired.candidate.k))
    raise ContradictionError.at(
        pointer,
        "unknown-metric",
        f"There is no metric {name!r} at level {paired.candidate.measured.level}. There are {', '.join(families)} "
        f"(those with a cutoff also as in hit_rate@5) and {', '.join(JUDGED)}.",
    )


def columns(paired: Paired, metrics: Sequence[Compared]) -> dict[str, Column]:
    """Each metric over all paired questions, by name."""
    retrieval = [metric for metric in metrics if metric.dimension is None]
    before = _Retrieval(paired.baseline, paired.ids, [each.baseline for each in retrieval])
    cut_earlier = [each.baseline for each in retrieval if _cut_later(each)]
    after = _Retrieval(paired.candidate, paired.ids, [*(each.candidate for each in retrieval), *cut_earlier])
    found: dict[str, Column] = {}
    for metric in metrics:
        if metric.dimension is not None:
            old, old_state = _judged(paired.baseline, paired.ids, metric.dimension)
            new, new_state = _judged(paired.candidate, paired.ids, metric.dimension)
            found[metric.name] = Column(metric, old, new, old_state, new_state)
        elif metric.baseline is not None and metric.candidate is not None:
            old, old_state = before.of(metric.baseline)
            new, new_state = after.of(metric.candidate)
            same_cut = after.of(metric.baseline)[0] if _cut_later(metric) else None
            found[metric.name] = Column(metric, old, new, old_state, new_state, same_cut)
    return found


class _Retrieval:
    """Retrieval metrics of one side, over the paired questions."""

    def __init__(self, side: Side, ids: Sequence[str], metrics: Iterable[Metric | None]) -> None:
        wanted = list(dict.fromkeys(metric for metric in metrics if metric is not None))
        self._values = side.ranked.values(wanted)
        found = [side.found.get(question) for question in ids]
        self._row = np.array([NO_ROW if each is None else each.row for each in found], dtype=np.int64)
        self._state = np.array(
            [
                State.MISSING
                if each is None
                else State.NOT_EVALUABLE
                if each.excluded is not None
                else State.UNSCORED
                if each.row == NO_ROW
                else State.SCORED
                for each in found
            ],
            dtype=np.int8,
        )

    def of(self, metric: Metric) -> tuple[Values, NDArray[np.int8]]:
        """Values, and what they are; a metric that is not defined for a ranking is not evaluable."""
        values = np.full(len(self._row), np.nan)
        has_row = self._row != NO_ROW
        values[has_row] = self._values[metric][self._row[has_row]]
        undefined = (self._state == State.SCORED) & np.isnan(values)
        return values, np.where(undefined, np.int8(State.NOT_EVALUABLE), self._state)


_STATE_OF = {
    "scored": State.SCORED,
    "abstained": State.UNSCORED,
    "failed": State.UNSCORED,
    "not_evaluable": State.NOT_EVALUABLE,
}


def _judged(side: Side, ids: Sequence[str], dimension: str) -> tuple[Values, NDArray[np.int8]]:
    values = np.full(len(ids), np.nan)
    states = np.full(len(ids), State.MISSING, dtype=np.int8)
    for place, question in enumerate(ids):
        answered = side.answered.get(question)
        if answered is None:
            continue
        verdict = answered.verdicts[dimension]
        states[place] = _STATE_OF[verdict.status]
        if verdict.value is not None:
            values[place] = verdict.value
    return values, states


def _families(paired: Paired) -> Sequence[str]:
    level = paired.candidate.measured.level
    return EVIDENCE_LEVEL if level == "evidence" else (*AT_CUTOFF, *WHOLE_RANKING)


def _at_cutoffs(family: str, cutoffs: Sequence[int]) -> list[str]:
    return [f"{family}@{k}" for k in cutoffs] if family in AT_CUTOFF else [family]


def _cut_later(metric: Compared) -> bool:
    before, after = metric.cutoffs
    return before is not None and after is not None and before < after
