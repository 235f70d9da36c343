"""What a question costs on either side: chunks before the generator, tokens, time, money."""

from collections.abc import Callable, Mapping

import numpy as np

from befund.contract import BudgetPart
from befund.core.comparison.names import BUDGET
from befund.core.comparison.pairing import Mask, Paired
from befund.core.comparison.side import Answered, Side
from befund.core.metrics import Values

_OF_ANSWERS: Mapping[str, Callable[[Answered], float | None]] = {
    "tokens_per_question": lambda answered: answered.tokens,
    "latency_ms": lambda answered: answered.latency_ms,
    "cost_usd": lambda answered: answered.cost_usd,
}


class Costs:
    """Each part of the budget for each paired question; NaN where it is not known."""

    def __init__(self, paired: Paired) -> None:
        self._paired = paired
        self.before = {part: _values(paired.baseline, paired, part) for part in BUDGET}
        self.after = {part: _values(paired.candidate, paired, part) for part in BUDGET}

    def part(self, name: str, mask: Mask | None = None) -> BudgetPart:
        """Means over the shared questions where both sides know it."""
        known = self.known(name) if mask is None else self.known(name) & mask
        if not known.any():
            return BudgetPart(baseline=None, candidate=None, increase_percent=None, n=0)
        before, after = float(self.before[name][known].mean()), float(self.after[name][known].mean())
        increase = 0.0 if before == after else (after / before - 1) * 100 if before else None
        return BudgetPart(baseline=before, candidate=after, increase_percent=increase, n=int(known.sum()))

    def known(self, name: str) -> Mask:
        """Where both sides know it."""
        return self._paired.shared & ~np.isnan(self.before[name]) & ~np.isnan(self.after[name])

    def one_sided(self, name: str) -> Mask:
        """Where one side knows it and the other does not."""
        differs: Mask = np.isnan(self.before[name]) != np.isnan(self.after[name])
        return self._paired.shared & differs


def _values(side: Side, paired: Paired, part: str) -> Values:
    values = np.full(len(paired.ids), np.nan)
    read = _OF_ANSWERS.get(part)
    for place, question in enumerate(paired.ids):
        value = _chunks(side, question) if read is None else None
        if read is not None and question in side.answered:
            value = read(side.answered[question])
        if value is not None:
            values[place] = value
    return values


def _chunks(side: Side, question: str) -> float | None:
    found = side.found.get(question)
    return None if found is None or found.top is None else float(min(side.k, found.returned))
