"""Plots of a comparison: how far each metric moved, which questions moved it, which ones count, what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from befund.contract import ChangedQuestion, CompareResponse, MetricComparison
from befund.reports.comparison_words import budget_rows, change, counted, figure, is_telling
from befund.reports.markup import joined
from befund.reports.plots import AGREE, DIFFER, INK, LINE, MUTED, Plot, drawing

MOST_METRICS = 24
MOST_QUESTIONS = 30
ROW = 0.27
"""Inches a row."""
_LONGEST_NAME = 22
_REASONS = {
    "behavior": "not to be answered",
    "ground_truth": "nothing relevant known",
    "mapping": "evidence without a chunk",
    "index": "gold not in the index",
}


def deltas_plot(title: str, metrics: Sequence[MetricComparison]) -> Plot | None:
    """Each metric's change with its interval; None where nothing has a change."""
    shown = [metric for metric in metrics if metric.delta is not None][:MOST_METRICS]
    if not shown:
        return None
    with drawing(title, height=_height(len(shown))) as drawn:
        axes = drawn.axes
        axes.axvline(0, color=MUTED, linewidth=1)
        for y, metric in enumerate(shown):
            delta = metric.delta or 0.0
            colour = AGREE if delta > 0 else DIFFER if delta < 0 else MUTED
            if metric.ci is not None:
                axes.plot(metric.ci, [y, y], color=colour, linewidth=4, alpha=0.35)
            filled = colour if is_telling(metric) else "none"
            axes.plot(delta, y, "o", color=colour, markerfacecolor=filled, markersize=7, markeredgewidth=1.6)
        ends = [abs(end) for metric in shown for end in (*(metric.ci or ()), metric.delta or 0.0)]
        reach = max(0.05, *ends) * 1.1
        axes.set(xlim=(-reach, reach), ylim=(len(shown) - 0.5, -0.5), xlabel="candidate minus baseline")
        axes.set_yticks(range(len(shown)), [metric.metric for metric in shown])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        drawn.description = " ".join(_moved(metric) for metric in shown)
    return drawn.plot


def questions_plot(title: str, metric: MetricComparison, changed: Sequence[ChangedQuestion]) -> Plot | None:
    """The questions that changed on one metric, before and after; None where none did."""
    name = metric.metric
    moved = [each for each in changed if each.id in {*metric.improved, *metric.regressed, *metric.decreased}]
    moved = [each for each in moved if name in each.baseline and name in each.candidate][:MOST_QUESTIONS]
    if not moved:
        return None
    moved.sort(key=lambda each: each.candidate[name] - each.baseline[name])
    with drawing(title, height=_height(len(moved))) as drawn:
        axes = drawn.axes
        for y, each in enumerate(moved):
            before, after = each.baseline[name], each.candidate[name]
            colour = AGREE if after > before else DIFFER
            axes.plot([before, after], [y, y], color=colour, linewidth=2, alpha=0.5)
            axes.plot(before, y, "o", color=MUTED, markerfacecolor="none", markersize=6)
            axes.plot(after, y, "o", color=colour, markersize=7)
        axes.set(xlim=(-0.04, 1.04), ylim=(len(moved) - 0.5, -0.5), xlabel=f"{name}: ring before, dot after")
        axes.set_yticks(range(len(moved)), [_stand_in(y, each.id) for y, each in enumerate(moved)])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        drawn.description = " ".join(
            f"{each.id}: {figure(each.baseline[name])} before, {figure(each.candidate[name])} after." for each in moved
        )
    svg = drawn.plot.svg
    for y, each in enumerate(moved):
        svg = svg.replace(_stand_in(y, each.id), joined(_short(each.id)))
    return Plot(title, svg)


def accounts_plot(title: str, answer: CompareResponse) -> Plot:
    """Every question: compared, or why not."""
    said = answer.questions
    unscored = {*said.unscored_baseline, *said.unscored_candidate}
    rows = [("scored on both sides", said.shared - len(unscored), AGREE)]
    rows += [(_REASONS.get(reason, reason), len(names), LINE) for reason, names in said.excluded.items()]
    rows += [
        ("only in the baseline", len(said.only_baseline), DIFFER),
        ("only in the candidate", len(said.only_candidate), DIFFER),
        ("changed", len(said.changed_gold), DIFFER),
        ("unscored in the baseline", len(said.unscored_baseline), DIFFER),
        ("unscored in the candidate", len(said.unscored_candidate), DIFFER),
    ]
    rows = [row for row in rows if row[1] or row is rows[0]]
    with drawing(title, height=_height(len(rows))) as drawn:
        axes = drawn.axes
        most = max(number for _, number, _ in rows) or 1
        for y, (_, number, colour) in enumerate(rows):
            axes.barh(y, number, 0.62, color=colour, alpha=0.9)
            axes.text(number + most * 0.02, y, f"{number:,}", va="center", color=INK, fontsize=10)
        axes.set(xlim=(0, most * 1.18), ylim=(len(rows) - 0.5, -0.5), xlabel="questions")
        axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.spines["left"].set_visible(False)
        drawn.description = " ".join(f"{counted(number, 'question')} {name}." for name, number, _ in rows)
    return drawn.plot


def budget_plot(title: str, answer: CompareResponse) -> Plot | None:
    """What a question costs, the baseline as 100 %; None where nothing is known."""
    parts = [part for part in answer.budget.values() if part.n]
    labels = budget_rows(answer)
    rows = [
        (label[0], part.candidate / part.baseline * 100, label)
        for part, label in zip(parts, labels, strict=True)
        if part.baseline and part.candidate is not None
    ]
    if not rows:
        return None
    with drawing(title, height=_height(2 * len(rows))) as drawn:
        axes = drawn.axes
        longest = max(100.0, *(share for _, share, _ in rows))
        for y, (_, share, label) in enumerate(rows):
            axes.barh(y - 0.2, 100, 0.36, color=LINE)
            axes.barh(y + 0.2, share, 0.36, color=DIFFER if share > 100 else AGREE, alpha=0.85)
            axes.text(100 + longest * 0.02, y - 0.2, label[1], va="center", color=INK, fontsize=9)
            axes.text(share + longest * 0.02, y + 0.2, f"{label[2]} ({label[3]})", va="center", color=INK, fontsize=9)
        axes.set(xlim=(0, longest * 1.4), ylim=(len(rows) - 0.5, -0.5), xlabel="per cent of the baseline")
        axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        drawn.description = " ".join(
            f"{label[0]}: {label[1]} before, {label[2]} after, {label[3]}." for *_, label in rows
        )
    return drawn.plot


def _height(rows: int) -> float:
    return max(1.5, 0.85 + ROW * rows)


def _stand_in(place: int, name: str) -> str:
    """What is drawn in place of a name, as wide as it is: matplotlib lacks glyphs that the reader's browser has."""
    return f"~name{place:02d}".ljust(len(_short(name)), "n")


def _short(name: str) -> str:
    name = "".join(each if each.isprintable() else "�" for each in name)
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _moved(metric: MetricComparison) -> str:
    between = f", {change(metric.ci[0])} to {change(metric.ci[1])}" if metric.ci else ""
    return f"{metric.metric}: {change(metric.delta)}{between}."
