"""How often a comparison calls a change where there is none, and how often its intervals hold the truth.

Two systems that are equally good answer the same questions: each question has a difficulty of its own, and both systems
put its one relevant chunk at a rank drawn from it. Every metric follows from these ranks.
"""

import argparse

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from befund.core.paired import Effect, Pair, effects, holm

ALPHA = 0.05
FLIPS = 2_000
ALLOWED = 0.05
"""The drop in recall@5 that the gates of `befund compare --init-gates` allow."""

Ranks = NDArray[np.int64]


class Counts(Struct):
    """Over all comparisons: alarms by metric, families with an alarm, intervals that hold 0, gates that fail."""

    alarms: dict[str, int]
    holds: dict[str, int]
    any_alarm: int = 0
    any_raw: int = 0
    gate_failed: int = 0


def metrics_of(before: Ranks, after: Ranks) -> dict[str, Pair]:
    """What the ranks of the one relevant chunk come to."""
    return {
        "hit_rate@1": Pair((before <= 1).astype(float), (after <= 1).astype(float), yes_or_no=True),
        "recall@5": Pair((before <= 5).astype(float), (after <= 5).astype(float), yes_or_no=False),
        "mrr@10": Pair(_reciprocal(before), _reciprocal(after), yes_or_no=False),
        "ndcg@10": Pair(_discounted(before), _discounted(after), yes_or_no=False),
    }


def simulate(questions: int, comparisons: int, *, seed: int) -> Counts:
    """Compare two equally good systems again and again."""
    rng = np.random.default_rng(seed)
    counts = Counts({}, {})
    for i in range(comparisons):
        difficulty = rng.beta(1.2, 1.6, size=questions).clip(0.02, 0.98)
        before, after = rng.geometric(difficulty), rng.geometric(difficulty)
        pairs = metrics_of(before, after)
        found = dict(zip(pairs, effects(list(pairs.values()), alpha=ALPHA, seed=i, flips=FLIPS), strict=True))
        _count(counts, found)
    return counts


def _count(counts: Counts, found: dict[str, Effect]) -> None:
    p_values = {name: effect.p_value or 1.0 for name, effect in found.items()}
    adjusted = holm(list(p_values.values()))
    for name, effect in found.items():
        counts.alarms[name] = counts.alarms.get(name, 0) + (p_values[name] <= ALPHA)
        holds = effect.ci is not None and effect.ci[0] <= 0 <= effect.ci[1]
        counts.holds[name] = counts.holds.get(name, 0) + holds
    counts.any_raw += min(p_values.values()) <= ALPHA
    counts.any_alarm += min(adjusted) <= ALPHA
    counts.gate_failed += (found["recall@5"].delta or 0.0) < -ALLOWED - 1e-9


def _reciprocal(ranks: Ranks) -> NDArray[np.float64]:
    return np.where(ranks <= 10, 1 / ranks, 0.0)


def _discounted(ranks: Ranks) -> NDArray[np.float64]:
    return np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0.0)


def main() -> None:
    """Print how often, for several numbers of questions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=4_000)
    parser.add_argument("--questions", type=int, nargs="+", default=[13, 30, 100, 400])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    names = list(metrics_of(np.ones(1, np.int64), np.ones(1, np.int64)))
    alarms = Table(
        title=f"No difference, {options.comparisons:,} comparisons each: share called significant at {ALPHA}"
    )
    for heading in ("questions", *names, "any of four, raw", "any of four, Holm", f"max_drop {ALLOWED} fails"):
        alarms.add_column(heading, justify="right")
    held = Table(title="Share of 95 % intervals that hold the true difference")
    for heading in ("questions", *names):
        held.add_column(heading, justify="right")
    for questions in options.questions:
        counts = simulate(questions, options.comparisons, seed=options.seed)
        shares = [*(counts.alarms[name] for name in names), counts.any_raw, counts.any_alarm, counts.gate_failed]
        alarms.add_row(f"{questions:,}", *(f"{share / options.comparisons:.3f}" for share in shares))
        held.add_row(f"{questions:,}", *(f"{counts.holds[name] / options.comparisons:.3f}" for name in names))
    console = Console(width=120)
    console.print(alarms)
    console.print(held)


if __name__ == "__main__":
    main()
