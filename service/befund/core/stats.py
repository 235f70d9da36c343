"""Intervals for means over questions. Randomness comes in as a seed: the same seed gives the same figures."""

import math
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.contract import IntervalMethod
from befund.core.proportions import FEWEST as FEWEST
from befund.core.proportions import wilson as wilson

RESAMPLES = 2_000
ENOUGH_FOR_STUDENT = 2_000
_BLOCK_DRAWS = 1 << 17


class Interval(Struct, frozen=True):
    """Limits of an interval and the method behind it; `limits` is None where there are too few questions."""

    limits: tuple[float, float] | None
    method: IntervalMethod


def mean_intervals(
    columns: list[NDArray[np.float64]], *, yes_or_no: list[bool], confidence: float, seed: int
) -> list[Interval]:
    """Intervals for the means of several metrics, all in 0..1, measured on the same questions.

    Wilson's for 0/1 metrics; for the others the percentile bootstrap over questions (`RESAMPLES` resamples, the same
    ones for every metric of a call), Student's from 2,000 questions on; none below ten.

    Args:
        columns: For each metric one value a question, all of the same length, no NaN.
        yes_or_no: For each metric whether it can only be 0 or 1.
        confidence: Level of the intervals, between 0 and 1.
        seed: Seed of the resamples; a metric's interval does not depend on which others are asked for with it.
    """
    n = len(columns[0]) if columns else 0
    if n < FEWEST:
        return [Interval(None, "too_few")] * len(columns)
    by_column: dict[int, Interval] = {}
    for i, values in enumerate(columns):
        if yes_or_no[i]:
            by_column[i] = Interval(wilson(int(values.sum()), n, confidence=confidence), "wilson")
        elif n >= ENOUGH_FOR_STUDENT:
            low, high = student(values, confidence=confidence)
            by_column[i] = Interval((max(0.0, low), min(1.0, high)), "student")
    rest = [i for i in range(len(columns)) if i not in by_column]
    limits = bootstrap([columns[i] for i in rest], confidence=confidence, seed=seed) if rest else []
    by_column.update({i: Interval(pair, "bootstrap") for i, pair in zip(rest, limits, strict=True)})
    return [by_column[i] for i in range(len(columns))]


def student(values: NDArray[np.float64], *, confidence: float) -> tuple[float, float]:
    """Student's interval of a mean; for large n (the quantile's expansion is good to 1e-9 from 2,000 on)."""
    n = len(values)
    half = student_quantile(0.5 + confidence / 2, n - 1) * float(values.std(ddof=1)) / n**0.5
    mean = float(values.mean())
    return mean - half, mean + half


def student_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t from the normal one (Abramowitz and Stegun 26.7.5).

    >>> round(student_quantile(0.975, 1999), 6)
    1.961151
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))


def bootstrap(columns: list[NDArray[np.float64]], *, confidence: float, seed: int) -> list[tuple[float, float]]:
    """Percentile bootstrap of means over questions (Efron 1979): `RESAMPLES` resamples of whole questions.

    All metrics share the resamples, which are drawn in blocks of bounded memory.
    """
    values = np.stack(columns)
    rng = np.random.default_rng(seed)
    n = values.shape[1]
    means = np.empty((len(values), RESAMPLES))
    block = max(1, _BLOCK_DRAWS // n)
    for start in range(0, RESAMPLES, block):
        rows = min(block, RESAMPLES - start)
        draws = rng.integers(0, n, size=(rows, n), dtype=np.uint32) + np.arange(rows, dtype=np.uint32)[:, None] * n
        weights = np.bincount(draws.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        means[:, start : start + rows] = np.einsum("mq,rq->mr", values, weights) / n  # one thread, the same everywhere
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=1)
    return list(zip(low.tolist(), high.tolist(), strict=True))
