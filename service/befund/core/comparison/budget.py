"""What a question costs on either side: chunks before the generator, tokens, time, money."""

from collections.abc import Callable

import numpy as np

from befund.contract import BudgetPart
from befund.core.comparison.names import BUDGET
from befund.core.comparison.pairing import Mask, Paired
from befund.core.comparison.side import Side
from befund.core.metrics import Values

Read = Callable[[Side, str], float | None]


class Costs:
    """Each part of the budget for each paired question; NaN where it is not known."""

    def __init__(self, paired: Paired) -> None:
        self._paired = paired
        reads = _reads(paired)
        self.before = {part: _values(paired.baseline, paired, reads[part]) for part in BUDGET}
        self.after = {part: _values(paired.candidate, paired, reads[part]) for part in BUDGET}

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


def _reads(paired: Paired) -> dict[str, Read]:
    """How each part is read; tokens are those of the retrieved chunks where both sides know them of any question."""
    both = [question for question in paired.candidate.found if question in paired.baseline.found]
    counted = any(_context_tokens(paired.baseline, each) and _context_tokens(paired.candidate, each) for each in both)
    return {
        "chunks_per_question": _chunks,
        "tokens_per_question": _context_tokens if counted else _generator_tokens,
        "latency_ms": _latency,
        "cost_usd": _cost,
    }


def _values(side: Side, paired: Paired, read: Read) -> Values:
    values = [read(side, question) for question in paired.ids]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _chunks(side: Side, question: str) -> float | None:
    found = side.found.get(question)
    return None if found is None or found.top is None else float(min(side.k, found.returned))


def _context_tokens(side: Side, question: str) -> float | None:
    found = side.found.get(question)
    return None if found is None else found.tokens


def _generator_tokens(side: Side, question: str) -> float | None:
    answered = side.answered.get(question)
    return None if answered is None else answered.tokens


def _latency(side: Side, question: str) -> float | None:
    answered = side.answered.get(question)
    return None if answered is None else answered.latency_ms


def _cost(side: Side, question: str) -> float | None:
    answered = side.answered.get(question)
    return None if answered is None else answered.cost_usd
