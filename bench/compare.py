"""What a comparison costs: its statistics, beside scipy's for one metric, and one over HTTP from stored runs."""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import stats as peer

from befund.core.paired import FLIPS, Pair, effects, randomisation

METRICS = 12
SEED = 7


def pairs_of(questions: int, metrics: int = METRICS) -> list[Pair]:
    """Graded metrics with many distinct differences, which leave no shortcut."""
    rng = np.random.default_rng(SEED)
    return [Pair(rng.random(questions), rng.random(questions), yes_or_no=False) for _ in range(metrics)]


def cpu_ms(work: Callable[[], object], *, rounds: int) -> float:
    """CPU time of one call in milliseconds, the median of some rounds."""
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        taken.append((time.process_time() - started) * 1000)
    return statistics.median(taken)


def peak_mb(work: Callable[[], object]) -> float:
    """Memory that one call holds at most beyond what it is given."""
    import tracemalloc

    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def against_scipy(questions: int, *, rounds: int) -> tuple[float, float]:
    """One metric's randomisation test: ours, and scipy's with as many flips."""
    sample = pairs_of(questions, 1)[0].differences
    ours = cpu_ms(lambda: randomisation([sample], seed=SEED), rounds=rounds)

    def theirs() -> None:
        peer.permutation_test(
            (sample,), np.mean, permutation_type="samples", vectorized=True, n_resamples=FLIPS, batch=500
        )

    return ours, cpu_ms(theirs, rounds=1)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    console = Console()
    table = Table(title=f"{METRICS} metrics, {FLIPS:,} sign flips: tests, intervals, detectable differences")
    for heading in ("questions", "CPU ms", "peak MB"):
        table.add_column(heading, justify="right")
    for questions in (100, 1_000, 10_000, 100_000):
        pairs = pairs_of(questions)

        def work(pairs: list[Pair] = pairs) -> object:
            return effects(pairs, alpha=0.05, seed=SEED)

        rounds = options.rounds if questions < 50_000 else 1
        table.add_row(f"{questions:,}", f"{cpu_ms(work, rounds=rounds):,.0f}", f"{peak_mb(work):,.1f}")
    console.print(table)
    other = Table(title=f"One metric's randomisation test with {FLIPS:,} flips")
    for heading in ("questions", "befund, CPU ms", "scipy, CPU ms"):
        other.add_column(heading, justify="right")
    for questions in (100, 1_000, 10_000):
        ours, theirs = against_scipy(questions, rounds=options.rounds)
        other.add_row(f"{questions:,}", f"{ours:,.1f}", f"{theirs:,.0f}")
    console.print(other)


if __name__ == "__main__":
    main()
