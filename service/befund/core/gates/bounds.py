"""What a metric could be if everything unscored were at its worst, or at its best."""

from functools import cached_property

import numpy as np
from msgspec import Struct

from befund.core.comparison.columns import WORSE, Column
from befund.core.comparison.pairing import Mask
from befund.core.metrics import Values
from befund.core.paired import Pair, difference_interval
from befund.core.stats import mean_intervals

LOWEST, HIGHEST = 0.0, 1.0
"""Every metric here lies between these."""


class Level(Struct, frozen=True):
    """How intervals are made."""

    confidence: float
    seed: int


class Bounds:
    """A column over the questions of one gate.

    Args:
        column: The metric.
        mask: The questions the gate looks at; of these, those that either side scored or was to score count.
    """

    def __init__(self, column: Column, mask: Mask) -> None:
        self._column = column
        self.rows = mask & column.attempted
        self.known = self.rows & column.scored
        self.unknown = self.rows & ~column.scored

    @property
    def is_empty(self) -> bool:
        """Whether neither side says anything."""
        return not self.rows.any()

    @property
    def observed_delta(self) -> float | None:
        """The mean difference where both sides are scored."""
        if not self.known.any():
            return None
        return float((self._column.after[self.known] - self._column.before[self.known]).mean())

    @property
    def observed_after(self) -> float | None:
        """The candidate's mean over what is scored."""
        values = self._column.after[self.rows]
        scored = values[~np.isnan(values)]
        return float(scored.mean()) if len(scored) else None

    @cached_property
    def unknown_after(self) -> Mask:
        """Where the candidate is not scored."""
        return self.rows & np.isnan(self._column.after)

    def delta(self, *, worst: bool) -> float:
        """The mean difference with every unscored question at its worst, or at its best."""
        pair = self._pair(worst=worst)
        return float(pair.differences.mean())

    def delta_limit(self, level: Level) -> float | None:
        """The lower limit of the mean difference at its worst; None where there are too few questions."""
        limits, _ = difference_interval(self._pair(worst=True), confidence=level.confidence, seed=level.seed)
        return None if limits is None else limits[0]

    def after(self, *, worst: bool) -> float:
        """The candidate's mean with every unscored question at its worst, or at its best."""
        return float(self._after(worst=worst).mean())

    def after_limit(self, level: Level) -> float | None:
        """The lower limit of the candidate's mean at its worst; None where there are too few questions."""
        values = self._after(worst=True)
        metric = self._column.metric
        interval = mean_intervals(
            [values], yes_or_no=[metric.is_yes_or_no], confidence=level.confidence, seed=level.seed
        )[0]
        return None if interval.limits is None else interval.limits[0]

    def regressed(self) -> Mask:
        """Questions that are worse."""
        return self.rows & self._column.regressed

    def may_have_regressed(self) -> Mask:
        """Unscored questions that could be worse."""
        before = _filled(self._column.before, HIGHEST)
        after = _filled(self._column.after, LOWEST)
        could: Mask = after < before - WORSE
        return self.unknown & could

    def _pair(self, *, worst: bool) -> Pair:
        before = _filled(self._column.before[self.rows], HIGHEST if worst else LOWEST)
        return Pair(before, self._after(worst=worst), self._column.metric.is_yes_or_no)

    def _after(self, *, worst: bool) -> Values:
        return _filled(self._column.after[self.rows], LOWEST if worst else HIGHEST)


def _filled(values: Values, with_: float) -> Values:
    return np.where(np.isnan(values), with_, values)
