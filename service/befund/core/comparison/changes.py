"""Each metric's change: over all questions, by tag, and question by question."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from befund.contract import (
    ChangedQuestion,
    Comparability,
    ComparedSlice,
    Estimate,
    JudgeCalibration,
    MetricComparison,
    MetricSide,
    SliceMetric,
)
from befund.core.comparison.columns import GROWING, Column
from befund.core.comparison.comparability import blocker_of
from befund.core.comparison.cut import cut_short
from befund.core.comparison.pairing import Mask, Paired
from befund.core.comparison.side import Side
from befund.core.correction import Sample, corrected_rate
from befund.core.metrics import Values
from befund.core.paired import Effect, Pair, effects, holm
from befund.core.retrieval.summary import MOST_SLICES
from befund.core.voting import DIMENSIONS

Calibrations = Mapping[str, Mapping[str, JudgeCalibration]]

MOST_CHANGED = 1_000
"""Questions shown one by one."""


def metric_comparisons(
    paired: Paired,
    columns: Sequence[Column],
    comparable: Comparability,
    *,
    calibrations: Calibrations,
    gated: Sequence[str],
    alpha: float,
    seed: int,
) -> list[MetricComparison]:
    """Every column compared; p-values of metrics that gates name are adjusted by Holm's method.

    Args:
        paired: The sides.
        columns: The metrics.
        comparable: In what the sides differ.
        calibrations: By fingerprint of a judge how it agrees with people, by dimension.
        gated: The metrics that gates name.
        alpha: Level of the tests.
        seed: Seed of resamples and sign flips.
    """
    pairs = [_pair(column) for column in columns]
    found = effects(pairs, alpha=alpha, seed=seed)
    blocked = {column.metric.name for column in columns if blocker_of(column.metric, comparable)}
    family = {
        column.metric.name: effect.p_value
        for column, effect in zip(columns, found, strict=True)
        if column.metric.name in gated and column.metric.name not in blocked and effect.p_value is not None
    }
    adjusted = dict(zip(family, holm(list(family.values())), strict=True))
    return [
        _comparison(
            paired,
            column,
            _corrected(paired, column, calibrations, confidence=1 - alpha),
            pair,
            effect,
            adjusted=adjusted.get(column.metric.name),
            alpha=alpha,
            comparable=column.metric.name not in blocked,
        )
        for column, pair, effect in zip(columns, pairs, found, strict=True)
    ]


def compared_slices(paired: Paired, columns: Sequence[Column]) -> dict[str, ComparedSlice]:
    """The same by tag, without tests, for the most frequent tags."""
    tagged = paired.tagged()
    frequent = sorted(tagged, key=lambda tag: (-len(tagged[tag]), tag))[:MOST_SLICES]
    found: dict[str, ComparedSlice] = {}
    for tag in sorted(frequent):
        mask = np.zeros(len(paired.ids), dtype=np.bool_)
        mask[tagged[tag]] = True
        parts = {column.metric.name: _slice(column, mask) for column in columns}
        n = max((part.n for part in parts.values()), default=0)
        if n:
            found[tag] = ComparedSlice(n=n, metrics={name: part for name, part in parts.items() if part.n})
    return found


def changed_questions(paired: Paired, columns: Sequence[Column]) -> list[ChangedQuestion]:
    """The questions that changed on any metric, with what they scored before and after."""
    changed = np.zeros(len(paired.ids), dtype=np.bool_)
    for column in columns:
        changed |= column.improved | column.fallen
    return [
        ChangedQuestion(
            id=paired.ids[place],
            baseline=_values_at(place, {column.metric.name: column.before for column in columns}),
            candidate=_values_at(place, {column.metric.name: column.after for column in columns}),
        )
        for place in np.flatnonzero(changed)[:MOST_CHANGED].tolist()
    ]


def is_nested(paired: Paired, column: Column) -> bool:
    """Whether every baseline list is the beginning of the candidate's, so that what grows with a list cannot fall."""
    before, after = column.metric.cutoffs
    if before is None or after is None or not column.attempted.any() or (column.attempted & ~column.scored).any():
        return False
    if paired.baseline.mapping != paired.candidate.mapping:
        return False
    baseline, candidate = paired.baseline.found, paired.candidate.found
    for question in paired.named(column.scored):
        old, new = baseline[question].top, candidate[question].top
        if old is None or new is None or list(new[:after][: len(old[:before])]) != list(old[:before]):
            return False
    return True


def _pair(column: Column) -> Pair:
    scored = column.scored
    return Pair(column.before[scored], column.after[scored], column.metric.is_yes_or_no)


def _comparison(
    paired: Paired,
    column: Column,
    corrected: tuple[Estimate | None, Estimate | None],
    pair: Pair,
    effect: Effect,
    *,
    adjusted: float | None,
    alpha: float,
    comparable: bool,
) -> MetricComparison:
    improved, regressed, decreased = column.improved, column.regressed, column.decreased
    changed = int((improved | regressed | decreased).sum())
    before, after = column.metric.cutoffs
    p_value = effect.p_value if comparable else None
    decisive = p_value if adjusted is None else adjusted
    family = column.metric.candidate.family if column.metric.candidate else None
    return MetricComparison(
        metric=column.metric.name,
        baseline=MetricSide(k=before, value=_mean(pair.before), corrected=corrected[0]),
        candidate=MetricSide(k=after, value=_mean(pair.after), corrected=corrected[1]),
        delta=effect.delta,
        ci=effect.ci if comparable else None,
        ci_method=effect.ci_method,
        p_value=p_value,
        p_adjusted=adjusted,
        significant=decisive is not None and decisive <= alpha,
        test=effect.test,
        p_value_t=effect.p_value_t if comparable else None,
        minimum_detectable_delta=effect.detectable,
        fewest_flips=effect.fewest_flips,
        n=effect.n,
        improved=paired.named(improved),
        regressed=paired.named(regressed),
        decreased=paired.named(decreased),
        unchanged=effect.n - changed,
        regression_possible=not (family in GROWING and is_nested(paired, column)),
        cut_short=cut_short(column.metric, paired) is not None,
        comparable=comparable,
    )


def _corrected(
    paired: Paired, column: Column, calibrations: Calibrations, *, confidence: float
) -> tuple[Estimate | None, Estimate | None]:
    """The rates of both sides, corrected for the error of their judges; None without a calibration."""
    dimension = column.metric.dimension
    if dimension not in DIMENSIONS:
        return None, None
    questions = paired.named(column.scored)
    attempted = int((column.attempted & paired.shared).sum())
    before, after = (
        corrected_rate(_samples(side, questions, dimension, calibrations), attempted=attempted, confidence=confidence)
        for side in (paired.baseline, paired.candidate)
    )
    return before, after


def _samples(side: Side, questions: Sequence[str], dimension: str, calibrations: Calibrations) -> list[Sample]:
    """What each judge of a side called true, of how many."""
    counts: dict[str, Counter[bool | None]] = {}
    for question in questions:
        answered = side.answered[question]
        counts.setdefault(answered.judge, Counter())[answered.verdicts[dimension].value] += 1
    return [
        Sample(count[True], count.total(), calibrations.get(judge, {}).get(dimension))
        for judge, count in counts.items()
    ]


def _slice(column: Column, mask: Mask) -> SliceMetric:
    scored = column.scored & mask
    before, after = _mean(column.before[scored]), _mean(column.after[scored])
    return SliceMetric(
        baseline=before,
        candidate=after,
        delta=None if before is None or after is None else after - before,
        n=int(scored.sum()),
        improved=int((column.improved & mask).sum()),
        regressed=int((column.regressed & mask).sum()),
    )


def _values_at(place: int, values: Mapping[str, Values]) -> dict[str, float]:
    return {name: float(each[place]) for name, each in values.items() if not np.isnan(each[place])}


def _mean(values: Values) -> float | None:
    return float(values.mean()) if len(values) else None
