"""How a judge agrees with people."""

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.contract import Confusion, DimensionCalibration, JudgeCalibration, RiskAtCoverage
from befund.core.stats import FEWEST, RESAMPLES, wilson

ENOUGH = 100
"""Scored answers from which on a calibration is more than indicative."""

Counts = NDArray[np.float64]
"""Answers a row: both true, people alone, the judge alone, neither."""


class Pair(Struct, frozen=True):
    """What people and the judge say of one answer; the judge's is None where it did not score it.

    Attributes:
        place: Its place among the answers.
        human: What people say.
        judged: What the judge says.
        group: Pairs of one group are resampled together.
        confidence: How sure the judge is; None where it does not say.
    """

    place: int
    human: bool
    judged: bool | None
    group: str
    confidence: float | None = None


def calibration_of(pairs: Sequence[Pair], *, confidence: float, seed: int) -> DimensionCalibration:
    """Compare a judge with people on one dimension.

    Intervals are the percentile bootstrap over groups (`RESAMPLES` resamples); null under ten groups. A bootstrap that
    only ever sees right answers, or wrong ones, says nothing: there they are Wilson's over groups.

    >>> said = [(True, True), (True, False), (False, False), (True, None)]
    >>> pairs = [Pair(place, human, judged, str(place)) for place, (human, judged) in enumerate(said)]
    >>> found = calibration_of(pairs, confidence=0.95, seed=7)
    >>> found.sensitivity, found.specificity, found.accuracy, found.coverage, found.disagreements
    (0.5, 1.0, 0.6666666666666666, 0.75, [1])
    """
    scored = [pair for pair in pairs if pair.judged is not None]
    table = _by_group(scored)
    true_positive, false_negative, false_positive, true_negative = map(int, table.sum(axis=0))
    whole = {name: _or_none(float(figure(table.sum(axis=0, keepdims=True))[0])) for name, figure in _FIGURES.items()}
    intervals = _intervals(table, confidence=confidence, seed=seed)
    return DimensionCalibration(
        n=len(pairs),
        scored=len(scored),
        coverage=len(scored) / len(pairs) if pairs else 0.0,
        accuracy=whole["accuracy"],
        balanced_accuracy=whole["balanced_accuracy"],
        sensitivity=whole["sensitivity"],
        specificity=whole["specificity"],
        kappa=whole["kappa"],
        kappa_ci=intervals.pop("kappa"),
        intervals=intervals,
        confusion=Confusion(
            true_positive=true_positive,
            false_positive=false_positive,
            true_negative=true_negative,
            false_negative=false_negative,
        ),
        disagreements=[pair.place for pair in scored if pair.judged != pair.human],
        indicative=len(scored) < ENOUGH,
        risk_coverage=risk_coverage(pairs),
    )


def risk_coverage(pairs: Sequence[Pair]) -> list[RiskAtCoverage] | None:
    """What would be wrong if only the surest verdicts counted: a point for each confidence there is, falling.

    None where no verdict was reached, or one of them says nothing of how sure it is.

    >>> seen = [Pair(0, True, True, "a", 0.9), Pair(1, False, True, "b", 0.6), Pair(2, True, None, "c")]
    >>> [(point.confidence, round(point.coverage, 2), point.risk) for point in risk_coverage(seen) or ()]
    [(0.9, 0.33, 0.0), (0.6, 0.67, 0.5)]
    """
    known = [(pair.confidence, pair.judged != pair.human) for pair in pairs if pair.judged is not None]
    sure = sorted(((sure, wrong) for sure, wrong in known if sure is not None), reverse=True)
    if not known or len(sure) < len(known):
        return None
    points: dict[float, RiskAtCoverage] = {}
    errors = 0
    for covered, (confidence, wrong) in enumerate(sure, start=1):
        errors += wrong
        points[confidence] = RiskAtCoverage(confidence=confidence, coverage=covered / len(pairs), risk=errors / covered)
    return list(points.values())


def in_short(found: DimensionCalibration) -> JudgeCalibration:
    """What of it rides along on verdicts."""
    counts = found.confusion
    return JudgeCalibration(
        sensitivity=found.sensitivity,
        specificity=found.specificity,
        n=found.scored,
        positives=counts.true_positive + counts.false_negative,
        negatives=counts.true_negative + counts.false_positive,
    )


def _by_group(scored: Sequence[Pair]) -> Counts:
    groups = dict.fromkeys(pair.group for pair in scored)
    row_of = {group: row for row, group in enumerate(groups)}
    table = np.zeros((len(groups), 4))
    for pair in scored:
        table[row_of[pair.group], 2 * (not pair.human) + (not pair.judged)] += 1
    return table


def _accuracy(counts: Counts) -> Counts:
    return _divided(counts[:, 0] + counts[:, 3], counts.sum(axis=1))


def _sensitivity(counts: Counts) -> Counts:
    return _divided(counts[:, 0], counts[:, 0] + counts[:, 1])


def _specificity(counts: Counts) -> Counts:
    return _divided(counts[:, 3], counts[:, 2] + counts[:, 3])


def _balanced_accuracy(counts: Counts) -> Counts:
    return (_sensitivity(counts) + _specificity(counts)) / 2


def _kappa(counts: Counts) -> Counts:
    """Cohen's kappa (1960) of each row."""
    n = counts.sum(axis=1)
    tp, fn, fp, tn = counts.T
    observed = _divided(tp + tn, n)
    by_chance = _divided((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn), n**2)
    return _divided(observed - by_chance, 1 - by_chance)


_FIGURES: dict[str, Callable[[Counts], Counts]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "sensitivity": _sensitivity,
    "specificity": _specificity,
    "kappa": _kappa,
}
"""Each of every row; NaN where it is not defined."""


def _intervals(table: Counts, *, confidence: float, seed: int) -> dict[str, tuple[float, float] | None]:
    groups = len(table)
    if groups < FEWEST:
        return dict.fromkeys(_FIGURES)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=RESAMPLES).astype(np.float64)
    resampled = weights @ table
    limits = {name: _percentiles(figure(resampled), confidence) for name, figure in _FIGURES.items()}
    columns = {"accuracy": [0, 1, 2, 3], "sensitivity": [0, 1], "specificity": [2, 3]}
    for name, counted in columns.items():
        if limits[name] in ((0.0, 0.0), (1.0, 1.0)):
            seen = int(table[:, counted].any(axis=1).sum())
            limits[name] = wilson(seen * (limits[name] == (1.0, 1.0)), seen, confidence=confidence)
    parts = (limits["sensitivity"], limits["specificity"])
    if limits["balanced_accuracy"] in ((0.0, 0.0), (1.0, 1.0)) and parts[0] and parts[1]:
        limits["balanced_accuracy"] = ((parts[0][0] + parts[1][0]) / 2, (parts[0][1] + parts[1][1]) / 2)
    return limits


def _percentiles(values: Counts, confidence: float) -> tuple[float, float] | None:
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _divided(part: Counts, whole: Counts) -> Counts:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: Counts = part / whole
    return shares


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
