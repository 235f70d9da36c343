"""Judged answers in figures on a terminal: rates with their intervals, and the two tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import Estimate, RunSummary
from befund.terminal.retrieval import section
from befund.terminal.text import literal

BEHAVIORS = ("answer", "clarify", "no_answer", "deny", "unclear")


def judged_sections(summary: RunSummary) -> Iterator[RenderableType]:
    """Rates and tables of a run; nothing where nothing was judged."""
    if not any(estimate.attempted for estimate in summary.rates.values()):
        return
    yield section("Judged", rates_table(summary.rates), *interval_notes(summary.rates))
    if any(summary.correct_by_faithful.values()):
        yield section("Correct × faithful", correct_by_faithful_table(summary.correct_by_faithful))
    if summary.behavior:
        yield section("Expected × observed behaviour", behavior_table(summary.behavior))


def rates_table(rates: Mapping[str, Estimate], counts: Mapping[str, Mapping[str, int]] | None = None) -> Table:
    """Rates, a line each; a rate nothing was asked of is left out.

    Args:
        rates: By name.
        counts: Further columns by heading: a number for each rate. Else how many got no verdict.
    """
    counts = counts or {"no\nverdict": {name: estimate.unscored for name, estimate in rates.items()}}
    table = count_table("", "rate", "95 %\ninterval", "scored", *counts)
    for name, estimate in rates.items():
        numbers = [f"{column[name]:,}" if name in column else "" for column in counts.values()]
        if estimate.attempted or any(column.get(name) for column in counts.values()):
            interval = f"{estimate.ci[0]:.3f}–{estimate.ci[1]:.3f}" if estimate.ci else ""
            value = "–" if estimate.value is None else f"{estimate.value:.3f}"
            table.add_row(*map(Text, (literal(name), value, interval, f"{estimate.n:,}", *numbers)))
    return table


def interval_notes(rates: Mapping[str, Estimate]) -> list[Text]:
    """What is said of the intervals below the table."""
    scored = [estimate for estimate in rates.values() if estimate.n]
    if scored and not any(estimate.ci for estimate in scored):
        return [Text("No intervals: fewer than ten scored answers.")]
    return []


def correct_by_faithful_table(cells: Mapping[str, int]) -> Table:
    """Answers by both verdicts, where both were reached."""
    table = count_table("correct", "faithful: yes", "faithful: no")
    for first, word in (("t", "yes"), ("f", "no")):
        table.add_row(Text(word), *(Text(f"{cells.get(first + second, 0):,}") for second in "tf"))
    return table


def behavior_table(behavior: Mapping[str, Mapping[str, int]]) -> Table:
    """Answers by what was expected, a line each, and what was observed."""
    observed = [name for name in BEHAVIORS if any(row.get(name) for row in behavior.values())]
    table = count_table("expected", *observed)
    for expected in (*BEHAVIORS, *(behavior.keys() - set(BEHAVIORS))):
        if expected in behavior:
            row = behavior[expected]
            table.add_row(Text(expected), *(Text(f"{row.get(name, 0):,}") for name in observed))
    return table


def count_table(first: str, *others: str) -> Table:
    """A table of numbers under a column of names."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
