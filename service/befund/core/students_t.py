"""Tails of Student's t distribution, without a library for them."""

import math
import sys

_STEPS = 300
_TINY = 1e-300


def two_sided(t: float, degrees: int) -> float:
    """The chance of a value at least as far from 0 as `t`; never quite 0.

    >>> round(two_sided(2.262157, 9), 6)
    0.05
    """
    return max(sys.float_info.min, _beta_share(degrees / (degrees + t * t), degrees / 2, 0.5))


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Press et al., 6.4)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or _TINY)
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for coefficient in (even, odd):
            d = 1 / (1 + coefficient * d or _TINY)
            c = 1 + coefficient / c or _TINY
            value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return value
