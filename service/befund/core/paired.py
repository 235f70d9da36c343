"""Tests and intervals for two measurements of the same questions. Randomness comes in as a seed."""

import math
import sys
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.contract import DifferenceMethod, PairedTest
from befund.core.stats import ENOUGH_FOR_STUDENT, FEWEST, bootstrap, student, wilson
from befund.core.students_t import two_sided

Values = NDArray[np.float64]

FLIPS = 10_000
"""Random sign flips of the randomisation test where not all can be tried."""
MOST_ENUMERATED = 16
"""Up to so many differences all 2^m sign flips are tried."""
POWER = 0.8
SAME = 1e-12
"""What rounding may make of two equal means."""
_BLOCK = 8
_BLOCKS_AT_ONCE = 64
_SIGNS = np.where(np.arange(256)[:, None] >> np.arange(_BLOCK) & 1, 1.0, -1.0)


class Pair(Struct, frozen=True):
    """One metric on the same questions, before and after, in the same order, no NaN."""

    before: Values
    after: Values
    yes_or_no: bool

    @property
    def differences(self) -> Values:
        """After minus before, a question each."""
        return self.after - self.before


class Effect(Struct, frozen=True, kw_only=True):
    """What two measurements of the same questions say of a change.

    Attributes:
        n: Questions.
        delta: Mean difference; None without questions.
        ci: Its interval; None under ten questions.
        ci_method: How that was made.
        p_value: Of the main test: how likely so large a mean difference is where nothing changed.
        test: Which test that is.
        p_value_t: Of the paired t test, as a cross-check; None where the differences do not vary.
        detectable: The difference that would be found significant with 80 % power; None where differences do not vary.
        fewest_flips: For yes/no metrics, how many questions must change one way to reach alpha; None beyond `n`.
    """

    n: int
    delta: float | None
    ci: tuple[float, float] | None
    ci_method: DifferenceMethod
    p_value: float | None
    test: PairedTest
    p_value_t: float | None
    detectable: float | None
    fewest_flips: int | None


def effects(pairs: Sequence[Pair], *, alpha: float, seed: int, flips: int = FLIPS) -> list[Effect]:
    """Compare several metrics; those on equally many questions share their sign flips and resamples.

    Yes/no metrics: McNemar's exact test and Newcombe's paired interval. The others: Fisher's randomisation test on the
    mean difference, and the percentile bootstrap over questions, Student's interval from 2,000 questions on.

    Args:
        pairs: The metrics.
        alpha: Level of the tests; the intervals are at 1 - alpha.
        seed: Seed of the flips and resamples.
        flips: How many sign flips, where not all can be tried.
    """
    p_values = randomisation([pair.differences for pair in pairs if not pair.yes_or_no], seed=seed, flips=flips)
    intervals = _intervals(pairs, confidence=1 - alpha, seed=seed)
    sampled = iter(p_values)
    return [
        _effect(pair, mcnemar_of(pair) if pair.yes_or_no else next(sampled), interval, alpha=alpha)
        for pair, interval in zip(pairs, intervals, strict=True)
    ]


def difference_interval(
    pair: Pair, *, confidence: float, seed: int
) -> tuple[tuple[float, float] | None, DifferenceMethod]:
    """The interval of one mean difference, and how it was made; see `effects`."""
    return _intervals([pair], confidence=confidence, seed=seed)[0]


def randomisation(differences: Sequence[Values], *, seed: int, flips: int = FLIPS) -> list[float]:
    """Fisher's randomisation test (1935; Smucker et al. 2007) on mean differences, two-sided.

    Where nothing changed, each difference is as likely as its opposite: p is the share of sign flips whose mean is as
    far from 0 as the one observed. All 2^m flips of the m differences that are not 0 where m is at most 16, else
    `flips` random ones and p = (b + 1) / (flips + 1), which is never 0.

    >>> randomisation([np.array([0.5, 0.25, 1.0, 0.0])], seed=7), randomisation([np.zeros(3)], seed=7)
    ([0.25], [1.0])
    """
    found: dict[int, float] = {}
    sampled: dict[int, list[int]] = {}
    for i, each in enumerate(differences):
        changed = each[each != 0]
        if len(changed) <= MOST_ENUMERATED:
            found[i] = _enumerated(changed, len(each))
        else:
            sampled.setdefault(len(each), []).append(i)
    for together in sampled.values():
        columns = np.column_stack([differences[i] for i in together])
        found.update(zip(together, _sampled(columns, seed=seed, flips=flips), strict=True))
    return [found[i] for i in range(len(differences))]


def mcnemar(better: int, worse: int) -> float:
    """McNemar's exact test (1947), two-sided: is a changed question as likely to change to either side?

    >>> mcnemar(1, 0), mcnemar(6, 0), mcnemar(0, 0)
    (1.0, 0.03125, 1.0)
    """
    changed, least = better + worse, min(better, worse)
    term = total = 1
    for i in range(least):
        term = term * (changed - i) // (i + 1)
        total += term
    return min(1.0, max(sys.float_info.min, 2 * total / (1 << changed)))


def mcnemar_of(pair: Pair) -> float:
    """McNemar's exact test of a yes/no metric."""
    differences = pair.differences
    return mcnemar(int((differences > 0).sum()), int((differences < 0).sum()))


def newcombe(both: int, only_before: int, only_after: int, neither: int, *, confidence: float) -> tuple[float, float]:
    """Newcombe's interval for the difference of paired proportions, after minus before (1998, method 10).

    Wilson's limits of both, joined by the correlation of the pairs, whose positive estimate is corrected for
    continuity.

    >>> [round(limit, 3) for limit in newcombe(1, 1, 7, 12, confidence=0.95)]
    [0.026, 0.507]
    """
    n = both + only_before + only_after + neither
    before, after = both + only_before, both + only_after
    low_before, high_before = wilson(before, n, confidence=confidence)
    low_after, high_after = wilson(after, n, confidence=confidence)
    p_before, p_after = before / n, after / n
    margins = before * (n - before) * after * (n - after)
    agreement = both * neither - only_before * only_after
    corrected = max(0.0, agreement - n / 2) if agreement > 0 else float(agreement)
    phi = corrected / math.sqrt(margins) if margins else 0.0
    below = _joined(p_after - low_after, high_before - p_before, phi)
    above = _joined(high_after - p_after, p_before - low_before, phi)
    delta = (only_after - only_before) / n
    return max(-1.0, delta - below), min(1.0, delta + above)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false alarm among all is held (Holm 1979), in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted


def detectable_difference(differences: Values, *, alpha: float) -> float | None:
    """The mean difference found significant with 80 % power, (z(1 - alpha/2) + z(0.8)) sd / sqrt(n); None at sd 0."""
    if len(differences) < 2:
        return None
    deviation = float(differences.std(ddof=1))
    if deviation <= SAME:
        return None
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(POWER)) * deviation / math.sqrt(len(differences))


def fewest_flips(n: int, *, alpha: float) -> int | None:
    """How many questions must change, all one way, for McNemar's test to reach alpha; None if more than there are.

    >>> fewest_flips(13, alpha=0.05), fewest_flips(5, alpha=0.05)
    (6, None)
    """
    fewest = math.ceil(1 - math.log2(alpha) - SAME)
    return fewest if fewest <= n else None


def paired_t(differences: Values) -> float | None:
    """The two-sided p-value of the paired t test; None where the differences do not vary."""
    n = len(differences)
    deviation = float(differences.std(ddof=1)) if n > 1 else 0.0
    if deviation <= SAME:
        return None
    t = float(differences.mean()) / (deviation / math.sqrt(n))
    return two_sided(t, n - 1)


def _effect(
    pair: Pair, p_value: float, interval: tuple[tuple[float, float] | None, DifferenceMethod], *, alpha: float
) -> Effect:
    differences = pair.differences
    n = len(differences)
    return Effect(
        n=n,
        delta=float(pair.after.mean() - pair.before.mean()) if n else None,
        ci=interval[0],
        ci_method=interval[1],
        p_value=p_value if n else None,
        test="mcnemar_exact" if pair.yes_or_no else "fisher_randomization",
        p_value_t=paired_t(differences),
        detectable=detectable_difference(differences, alpha=alpha),
        fewest_flips=fewest_flips(n, alpha=alpha) if pair.yes_or_no else None,
    )


def _intervals(
    pairs: Sequence[Pair], *, confidence: float, seed: int
) -> list[tuple[tuple[float, float] | None, DifferenceMethod]]:
    found: dict[int, tuple[tuple[float, float] | None, DifferenceMethod]] = {}
    bootstrapped: dict[int, list[int]] = {}
    for i, pair in enumerate(pairs):
        n = len(pair.before)
        if n < FEWEST:
            found[i] = (None, "too_few")
        elif pair.yes_or_no:
            found[i] = (_newcombe_of(pair, confidence=confidence), "newcombe")
        elif n >= ENOUGH_FOR_STUDENT:
            low, high = student(pair.differences, confidence=confidence)
            found[i] = ((max(-1.0, low), min(1.0, high)), "student")
        else:
            bootstrapped.setdefault(n, []).append(i)
    for together in bootstrapped.values():
        limits = bootstrap([pairs[i].differences for i in together], confidence=confidence, seed=seed)
        found.update({i: (pair, "bootstrap") for i, pair in zip(together, limits, strict=True)})
    return [found[i] for i in range(len(pairs))]


def _newcombe_of(pair: Pair, *, confidence: float) -> tuple[float, float]:
    before, after = pair.before > 0, pair.after > 0
    both, neither = int((before & after).sum()), int((~before & ~after).sum())
    only_before, only_after = int((before & ~after).sum()), int((~before & after).sum())
    return newcombe(both, only_before, only_after, neither, confidence=confidence)


def _joined(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def _enumerated(changed: Values, n: int) -> float:
    """Share of all sign flips whose mean over n questions is as far from 0 as the one observed."""
    sums = np.zeros(1)
    for each in changed:
        sums = np.concatenate((sums + each, sums - each))
    observed = abs(float(changed.sum()))
    return float((np.abs(sums) / max(n, 1) >= observed / max(n, 1) - SAME).mean())


def _sampled(columns: Values, *, seed: int, flips: int) -> list[float]:
    """p-values by random flips, the same for all columns.

    Eight questions at a time: their 256 possible sums are worked out once, and a random byte picks one.
    """
    n, metrics = columns.shape
    blocks = -(-n // _BLOCK)
    padded = np.zeros((blocks * _BLOCK, metrics))
    padded[:n] = columns
    rng = np.random.default_rng(seed)
    totals = np.zeros((flips, metrics))
    for start in range(0, blocks, _BLOCKS_AT_ONCE):
        part = padded[start * _BLOCK : (start + _BLOCKS_AT_ONCE) * _BLOCK].reshape(-1, _BLOCK, metrics)
        picks = rng.integers(0, 256, size=(len(part), flips), dtype=np.uint8)
        for sums, pick in zip(np.einsum("se,bem->bsm", _SIGNS, part), picks, strict=True):
            totals += sums[pick]
    observed = np.abs(columns.sum(axis=0)) / n
    extreme = (np.abs(totals) / n >= observed - SAME).sum(axis=0)
    return [(int(each) + 1) / (flips + 1) for each in extreme]
