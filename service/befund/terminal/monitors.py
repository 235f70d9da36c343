"""Monitors on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import Estimate, MonitorAnswer, MonitorListing, MonitorWindow
from befund.terminal.retrieval import plain_table, section
from befund.terminal.text import counted, moment, short_id

_RATES = ("correct", "faithful", "behaved")


def monitors_table(monitors: Sequence[MonitorListing]) -> Table:
    """Monitors, a line each."""
    table = plain_table("monitor", "answers", "last")
    for monitor in monitors:
        table.add_row(Text(short_id(monitor.name)), Text(f"{monitor.answers:,}"), Text(moment(monitor.updated)))
    return table


def monitor_report(monitor: MonitorAnswer) -> Iterator[RenderableType]:
    """The rates of a time, and of its windows."""
    title = f"Monitor {short_id(monitor.name)}: {counted(monitor.answers, 'answer')} of {monitor.held:,} held"
    table = plain_table("from", "answers", "failed", *_RATES)
    for window in (*monitor.windows, monitor):
        _add(table, window, whole=window is monitor and bool(monitor.windows))
    yield section(title, table)
    if len(monitor.judges) > 1:
        yield Text(f"{len(monitor.judges)} judges: rates may differ because they do.")
    for name, estimate in monitor.corrected.items():
        yield Text(f"{name}, corrected for the judge's error: {_rate(estimate)}")


def _add(table: Table, window: MonitorWindow, *, whole: bool) -> None:
    figures = [_rate(window.rates[name]) for name in _RATES]
    since = "all" if whole else moment(window.since)
    table.add_row(*map(Text, (since, f"{window.answers:,}", f"{window.failed:,}", *figures)))


def _rate(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    interval = f" ({estimate.ci[0]:.3f}–{estimate.ci[1]:.3f})" if estimate.ci else ""
    return f"{estimate.value:.3f}{interval}"
