"""Rates corrected for the error of the judge that gave them.

A judge that calls 90 % of the right answers right and 80 % of the wrong ones wrong finds a share p of right answers
where there is another one: p = θ · sens + (1 − θ) · (1 − spec). Solved for θ, that is the estimate of Rogan and Gladen
(1978, American Journal of Epidemiology 107:71): θ = (p + spec − 1) / (sens + spec − 1), cut to 0..1. It stands on the
calibration being of the same kind of answers: sensitivity and specificity must be those of the answers corrected.
"""

from collections.abc import Sequence
from statistics import NormalDist

from msgspec import Struct

from befund.contract import Estimate, JudgeCalibration
from befund.core.stats import FEWEST


class Error(Struct, frozen=True):
    """How a judge errs, as it was measured.

    Attributes:
        sensitivity: Share of what is true that it calls true.
        specificity: Share of what is false that it calls false.
        positives: How many true ones that was measured on.
        negatives: How many false ones.
    """

    sensitivity: float
    specificity: float
    positives: int
    negatives: int

    @property
    def informative(self) -> bool:
        """Whether it tells true from false better than chance."""
        return self.sensitivity + self.specificity > 1


class Sample(Struct, frozen=True):
    """Answers that one judge scored: how many it called true, of how many, and its calibration, if there is one."""

    true: int
    n: int
    calibration: JudgeCalibration | None


def corrected_rate(samples: Sequence[Sample], *, attempted: int, confidence: float) -> Estimate | None:
    """The rate over all samples, each corrected for the error of its judge.

    Args:
        samples: A sample a judge; none is empty.
        attempted: Answers that were to be scored, by whomever.
        confidence: Level of the interval.

    Returns:
        None where nothing was scored, or by a judge that was not calibrated. `value` is null where a judge is no better
        than chance (sens + spec ≤ 1, method `uninformative`), `ci` also where there are fewer than ten answers, or
        fewer than ten true or false ones in a calibration (`too_few`). Else it is that of `lang_reiczigel`.
    """
    errors = [_error(sample.calibration) for sample in samples]
    known = [error for error in errors if error is not None]
    if not samples or len(known) < len(samples):
        return None
    n = sum(sample.n for sample in samples)
    parts = [(sample.true, sample.n, error) for sample, error in zip(samples, known, strict=True)]
    informative = all(error.informative for error in known)
    enough = n >= FEWEST and all(min(error.positives, error.negatives) >= FEWEST for error in known)
    value = sum(size / n * rogan_gladen(true / size, error) for true, size, error in parts) if informative else None
    return Estimate(
        value=None if value is None else min(max(value, 0.0), 1.0),
        ci=lang_reiczigel(parts, confidence=confidence) if informative and enough else None,
        n=n,
        attempted=attempted,
        unscored=attempted - n,
        method="uninformative" if not informative else "lang_reiczigel" if enough else "too_few",
    )


def rogan_gladen(rate: float, error: Error) -> float:
    """The share that is really true, behind the share that was called true; it may lie outside 0..1.

    The herd of the manual of epiR's `epi.prev`: 23 of 150 positive, sensitivity 0.96, specificity 0.89, "5.1 cases per
    100".

    >>> round(rogan_gladen(23 / 150, Error(0.96, 0.89, 100, 100)), 3)
    0.051
    """
    return (rate + error.specificity - 1) / (error.sensitivity + error.specificity - 1)


def lang_reiczigel(parts: Sequence[tuple[int, int, Error]], *, confidence: float) -> tuple[float, float]:
    """Interval of a corrected rate that counts in how sure sensitivity and specificity are.

    Lang and Reiczigel (2014, Preventive Veterinary Medicine 113:13): the normal interval of Rogan and Gladen with
    pseudo-counts (z²/2 successes and failures for the rate, one each for sensitivity and specificity) and a shift of
    its centre. Several judges are strata of fixed size: centres and variances add up with the squares of their shares.
    No randomness. 0..1 where the pseudo-counts leave nothing that tells true from false.

    >>> low, high = lang_reiczigel([(120, 200, Error(0.85, 0.8, 60, 60))], confidence=0.95)
    >>> round(low, 3), round(high, 3)
    (0.467, 0.773)
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    n = sum(size for _, size, _ in parts)
    centre = variance = 0.0
    for true, size, error in parts:
        part = _normal(true, size, error, z)
        if part is None:
            return 0.0, 1.0
        centre += size / n * part[0]
        variance += (size / n) ** 2 * part[1]
    half = z * variance**0.5
    return min(max(centre - half, 0.0), 1.0), min(max(centre + half, 0.0), 1.0)


def _normal(true: int, n: int, error: Error, z: float) -> tuple[float, float] | None:
    """Centre and variance of one stratum."""
    rate = (true + z * z / 2) / (n + z * z)
    sensitivity = (error.positives * error.sensitivity + 1) / (error.positives + 2)
    specificity = (error.negatives * error.specificity + 1) / (error.negatives + 2)
    gain = sensitivity + specificity - 1
    if gain <= 0:
        return None
    found = (rate + specificity - 1) / gain
    of_sensitivity = found * sensitivity * (1 - sensitivity) / (error.positives + 2)
    of_specificity = (1 - found) * specificity * (1 - specificity) / (error.negatives + 2)
    of_rate = rate * (1 - rate) / (n + z * z)
    variance = (of_rate + found * of_sensitivity + (1 - found) * of_specificity) / gain**2
    return found + 2 * z * z * (of_sensitivity - of_specificity), variance


def _error(calibration: JudgeCalibration | None) -> Error | None:
    """The error as far as it is known; None where people called nothing true, or nothing false."""
    if calibration is None or calibration.sensitivity is None or calibration.specificity is None:
        return None
    if calibration.positives is None or calibration.negatives is None:
        return None
    return Error(
        sensitivity=calibration.sensitivity,
        specificity=calibration.specificity,
        positives=calibration.positives,
        negatives=calibration.negatives,
    )
