"""Shares of yes in yes-or-no verdicts, with Wilson's interval; needs no numpy, so that a terminal has them too."""

from collections.abc import Sequence
from statistics import NormalDist

from befund.contract import Estimate

FEWEST = 10
"""Under so many there is no interval."""


def wilson(successes: int, n: int, *, confidence: float) -> tuple[float, float]:
    """Wilson's score interval of a proportion (Wilson 1927).

    >>> [round(limit, 3) for limit in wilson(10, 13, confidence=0.95)]
    [0.497, 0.918]
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    p, shrink = successes / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z / shrink * ((p * (1 - p) + z * z / (4 * n)) / n) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def pooled(parts: Sequence[Estimate], *, confidence: float) -> Estimate:
    """One share of several parts' verdicts taken together.

    >>> half = Estimate(value=0.5, ci=None, n=8, attempted=9, unscored=1, method="too_few")
    >>> both = pooled([half, half], confidence=0.95)
    >>> both.value, both.n, both.attempted, both.method
    (0.5, 16, 18, 'wilson')
    """
    if len(parts) == 1:
        return parts[0]
    n, attempted = sum(part.n for part in parts), sum(part.attempted for part in parts)
    successes = sum(round(part.value * part.n) for part in parts if part.value is not None)
    enough = n >= FEWEST
    return Estimate(
        value=successes / n if n else None,
        ci=wilson(successes, n, confidence=confidence) if enough else None,
        n=n,
        attempted=attempted,
        unscored=attempted - n,
        method="wilson" if enough else "too_few",
    )
