"""Linear models over the measured features; their weights are fitted by `calibration/fit.py` and passed in."""

import math
from collections.abc import Sequence

from msgspec import Struct

from befund.core.rules.alignment import Array


class Linear(Struct, frozen=True, forbid_unknown_fields=True):
    """A logistic model: log odds of standardised features, and from where on it speaks.

    Attributes:
        features: Names of the features, in order.
        means: Subtracted from them.
        scales: Then divided by these.
        coefficients: Then multiplied by these.
        bias: Added to the sum.
        no: At or below these log odds the answer is no.
        yes: At or above these it is yes; between the two the model abstains.
    """

    features: Sequence[str]
    means: Sequence[float]
    scales: Sequence[float]
    coefficients: Sequence[float]
    bias: float
    no: float = 0.0
    yes: float = 0.0

    def score(self, values: Array) -> float:
        """Log odds; the same on every machine to the last digit that matters."""
        terms = zip(values.tolist(), self.means, self.scales, self.coefficients, strict=True)
        return self.bias + math.fsum((value - mean) / scale * weight for value, mean, scale, weight in terms)

    def decide(self, score: float, *, force: bool) -> bool | None:
        """Yes or no; None where the model cannot tell, unless it is forced to."""
        if force:
            return score > 0
        return True if score >= self.yes else False if score <= self.no else None


def probability(score: float) -> float:
    """Of yes, from its log odds, to four digits: more would tell apart what no label can.

    >>> probability(0.0), probability(-800.0)
    (0.5, 0.0)
    """
    return round(1 / (1 + math.exp(-score)), 4) if score > -700 else 0.0


class Weights(Struct, frozen=True, forbid_unknown_fields=True):
    """Both models: whether an answer agrees with a reference, and whether a claim is supported."""

    agreement: Linear
    support: Linear
