"""Plots of how a judge agrees with people, on one dimension each."""

from __future__ import annotations

from befund.contract import DimensionCalibration
from befund.reports.plots import AGREE, DIFFER, INK, LINE, MUTED, Plot, drawing

FIGURES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
}
"""Shares, as a reader knows them."""


def confusion_plot(title: str, found: DimensionCalibration, *, yes: str, no: str) -> Plot:
    """Answers by what people say (rows) and what the judge says (columns), shaded by their share of the row."""
    counts = found.confusion
    rows = [(counts.true_positive, counts.false_negative), (counts.false_positive, counts.true_negative)]
    with drawing(title) as drawn:
        axes = drawn.axes
        for y, row in enumerate(rows):
            for x, count in enumerate(row):
                share = count / sum(row) if sum(row) else 0.0
                axes.bar(x, 0.94, 0.94, y - 0.47, color=AGREE if x == y else DIFFER, alpha=0.1 + 0.5 * share)
                axes.text(x, y - 0.08, f"{count:,}", ha="center", va="center", color=INK, fontsize=18)
                said = f"{share:.0%} of the row" if sum(row) else "empty row"
                axes.text(x, y + 0.24, said, ha="center", va="center", color=INK, fontsize=9)
        axes.set(xlim=(-0.5, 1.5), ylim=(1.5, -0.5), xlabel="the judge says", ylabel="people say")
        axes.set_xticks([0, 1], [yes, no])
        axes.set_yticks([0, 1], [yes, no], rotation=90, va="center")
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        drawn.description = (
            f"Of {sum(rows[0])} answers that people call {yes}, the judge calls {rows[0][0]} {yes} and {rows[0][1]} "
            f"{no}; of {sum(rows[1])} that people call {no}, it calls {rows[1][0]} {yes} and {rows[1][1]} {no}."
        )
    return drawn.plot


def figures_plot(title: str, found: DimensionCalibration) -> Plot:
    """The shares and kappa with their intervals, one below the other."""
    rows = [(said, getattr(found, name), found.intervals.get(name)) for name, said in FIGURES.items()]
    rows.append(("kappa", found.kappa, found.kappa_ci))
    lowest = min((limits[0] for _, _, limits in rows if limits), default=0.0)
    with drawing(title) as drawn:
        axes = drawn.axes
        for y, (_, value, limits) in enumerate(rows):
            if limits:
                axes.plot(limits, [y, y], color=AGREE, linewidth=4, alpha=0.45)
            if value is not None:
                axes.plot(value, y, "o", color=AGREE, markersize=8)
        axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.set(xlim=(min(-0.02, lowest - 0.05), 1.02), ylim=(len(rows) - 0.5, -0.5))
        axes.set_yticks(range(len(rows)), [said for said, _, _ in rows])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        drawn.description = " ".join(_said(*row) for row in rows)
    return drawn.plot


def risk_plot(title: str, found: DimensionCalibration) -> Plot | None:
    """The share of wrong verdicts among the surest, from few to all; None where the judge ranks nothing."""
    points = found.risk_coverage or []
    if len(points) < 2:
        return None
    last = points[-1]
    with drawing(title) as drawn:
        axes = drawn.axes
        coverage, risk = [point.coverage for point in points], [point.risk for point in points]
        axes.axhline(last.risk, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.plot(coverage, risk, color=DIFFER, linewidth=2)
        axes.plot(coverage[0], risk[0], "o", color=DIFFER, markersize=5)
        axes.plot(last.coverage, last.risk, "o", color=DIFFER, markersize=7)
        if last.coverage < 1:
            axes.axvspan(last.coverage, 1, color=LINE, alpha=0.5, linewidth=0)
            if last.coverage < 0.8:
                axes.text((1 + last.coverage) / 2, max(risk) * 0.6, "no verdict", ha="center", color=MUTED, fontsize=9)
        axes.set(xlim=(0, 1), ylim=(0, max(0.02, max(risk) * 1.2)))
        axes.set(xlabel="share of answers with a verdict, surest first", ylabel="share of these that are wrong")
        axes.xaxis.set_major_formatter(_percent)
        axes.yaxis.set_major_formatter(_percent)
        parts = [
            max((p for p in points if p.coverage <= part * last.coverage), key=lambda p: p.coverage, default=None)
            for part in (0.25, 0.5, 0.75, 1.0)
        ]
        drawn.description = " ".join(
            f"At {point.coverage:.0%} coverage {point.risk:.1%} of the verdicts are wrong."
            for point in dict.fromkeys(point for point in parts if point)
        )
    return drawn.plot


def rate_plot(title: str, found: DimensionCalibration, *, yes: str) -> Plot | None:
    """Which share the judge would report for any true share; None where one side was never seen."""
    sensitivity, specificity = found.sensitivity, found.specificity
    if sensitivity is None or specificity is None:
        return None
    limits = found.intervals.get("sensitivity"), found.intervals.get("specificity")
    with drawing(title) as drawn:
        axes = drawn.axes
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        if limits[0] and limits[1]:
            low, high = ([1 - limits[1][1 - end], limits[0][end]] for end in (0, 1))
            axes.fill_between([0, 1], low, high, color=AGREE, alpha=0.18, linewidth=0)
        axes.plot([0, 1], [1 - specificity, sensitivity], color=AGREE, linewidth=2)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"share truly {yes}", ylabel=f"share the judge calls {yes}")
        axes.xaxis.set_major_formatter(_percent)
        axes.yaxis.set_major_formatter(_percent)
        drawn.description = " ".join(
            f"With {share:.0%} truly {yes} the judge reports "
            f"{share * sensitivity + (1 - share) * (1 - specificity):.0%}."
            for share in (0.0, 0.5, 0.9, 1.0)
        )
    return drawn.plot


def _percent(value: float, _: float) -> str:
    return f"{value:.1%}" if 0 < abs(value) < 0.01 else f"{value:.0%}"


def _said(name: str, value: float | None, limits: tuple[float, float] | None) -> str:
    if value is None:
        return f"{name}: not defined."
    between = f", {limits[0]:.2f} to {limits[1]:.2f}" if limits else ""
    return f"{name}: {value:.2f}{between}."
