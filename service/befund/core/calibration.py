"""How a judge agrees with people."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.contract import Confusion, DimensionCalibration, JudgeCalibration
from befund.core.stats import FEWEST, RESAMPLES

ENOUGH = 100
"""Scored answers from which on a calibration is more than indicative."""


class Pair(Struct, frozen=True):
    """What people and the judge say of one answer; the judge's is None where it did not score it.

    Attributes:
        place: Its place among the answers.
        human: What people say.
        judged: What the judge says.
        group: Pairs of one group are resampled together.
    """

    place: int
    human: bool
    judged: bool | None
    group: str


def calibration_of(pairs: Sequence[Pair], *, confidence: float, seed: int) -> DimensionCalibration:
    """Compare a judge with people on one dimension.

    The interval of kappa is the percentile bootstrap over groups (`RESAMPLES` resamples); null under ten groups.

    >>> said = [(True, True), (True, False), (False, False), (True, None)]
    >>> pairs = [Pair(place, human, judged, str(place)) for place, (human, judged) in enumerate(said)]
    >>> found = calibration_of(pairs, confidence=0.95, seed=7)
    >>> found.sensitivity, found.specificity, found.accuracy, found.coverage, found.disagreements
    (0.5, 1.0, 0.6666666666666666, 0.75, [1])
    """
    scored = [pair for pair in pairs if pair.judged is not None]
    groups = list(dict.fromkeys(pair.group for pair in scored))
    row_of = {group: row for row, group in enumerate(groups)}
    table = np.zeros((len(groups), 4))
    for pair in scored:
        table[row_of[pair.group], 2 * (not pair.human) + (not pair.judged)] += 1
    true_positive, false_negative, false_positive, true_negative = map(int, table.sum(axis=0))
    sensitivity = _share(true_positive, true_positive + false_negative)
    specificity = _share(true_negative, true_negative + false_positive)
    return DimensionCalibration(
        n=len(pairs),
        scored=len(scored),
        coverage=len(scored) / len(pairs) if pairs else 0.0,
        accuracy=_share(true_positive + true_negative, len(scored)),
        balanced_accuracy=None if sensitivity is None or specificity is None else (sensitivity + specificity) / 2,
        sensitivity=sensitivity,
        specificity=specificity,
        kappa=_or_none(float(_kappa(table.sum(axis=0, keepdims=True))[0])),
        kappa_ci=_interval(table, confidence=confidence, seed=seed),
        confusion=Confusion(
            true_positive=true_positive,
            false_positive=false_positive,
            true_negative=true_negative,
            false_negative=false_negative,
        ),
        disagreements=[pair.place for pair in scored if pair.judged != pair.human],
        indicative=len(scored) < ENOUGH,
    )


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


def _kappa(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cohen's kappa (1960) of each row, true by people before false, then true by the judge before false; or NaN."""
    n = counts.sum(axis=1)
    tp, fn, fp, tn = counts.T
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (tp + tn) / n
        by_chance = ((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)) / n**2
        kappa: NDArray[np.float64] = (observed - by_chance) / (1 - by_chance)
    return kappa


def _interval(table: NDArray[np.float64], *, confidence: float, seed: int) -> tuple[float, float] | None:
    groups = len(table)
    if groups < FEWEST:
        return None
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=RESAMPLES).astype(np.float64)
    kappas = _kappa(np.einsum("rg,gc->rc", weights, table))
    kappas = kappas[np.isfinite(kappas)]
    if not len(kappas):
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(kappas, [tail, 1 - tail])
    return float(low), float(high)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
