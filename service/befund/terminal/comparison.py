"""A comparison on a terminal: what decided, how far each metric moved, what stands behind it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import CompareResponse, Finding, GateResult, MetricComparison
from befund.reports.comparison_words import (
    SAYS,
    budget_rows,
    change,
    corrected,
    difference_row,
    figure,
    first_and_last,
    gate_name,
    is_telling,
    observed,
    p_value,
    questions_compared,
    summary,
)
from befund.reports.visible import all_visible
from befund.terminal.retrieval import below, plain_table, section
from befund.terminal.text import listed, literal, short_id

STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow", None: "bold"}
MOST_METRICS = 40
LONGEST_METRIC = max(map(len, ("r_precision", "hit_rate@10")))
WIDE = 100
"""Columns from which on there is room for the interval beside the change."""


def report(answer: CompareResponse, *, width: int) -> Iterator[RenderableType]:
    """Everything a person should see of one comparison, in sections."""
    answer = all_visible(answer)
    before, after = map(short_id, answer.names)
    verdict = Text(SAYS[answer.verdict], style=STYLES[answer.verdict])
    yield section(f"{after} against {before}", Text.assemble(verdict, ": ", literal(summary(answer))))
    if answer.gates:
        yield section("Gates", *map(_gate, answer.gates))
    first, last = first_and_last(answer)
    if first:
        yield section("Read this first", *map(_finding, first))
    if answer.metrics:
        yield section(f"Metrics, with {1 - answer.alpha:.0%} intervals of the change", _metrics(answer, width))
    sides = [(metric.metric, corrected(metric.baseline), corrected(metric.candidate)) for metric in answer.metrics]
    if any(one or other for _, one, other in sides):
        table = plain_table("metric", before, after)
        for name, *rates in sides:
            if any(rates):
                table.add_row(Text(name), *map(Text, rates))
        yield section("Corrected for the judge's error", table)
    known = budget_rows(answer)
    if known:
        table = plain_table("budget", before, after, "change")
        for row in known:
            table.add_row(*map(Text, row))
        yield section("Budget", table)
    yield from _questions(answer)
    if answer.comparable.differences:
        table = plain_table("field", before, after)
        for difference in answer.comparable.differences:
            style = "bold" if difference.blocking else ""
            table.add_row(*(Text(literal(cell), style=style) for cell in difference_row(difference)))
        yield section("What differs", table)
    if last:
        yield section("Findings", *map(_finding, last))


def _gate(gate: GateResult) -> RenderableType:
    said = Text.assemble((f"{gate.status:<13}", STYLES[gate.status]), f"{gate_name(gate)}  observed {observed(gate)}")
    detail = Text(literal(gate.detail))
    is_told = gate.questions and gate.status != "pass"
    return below(said, detail, *([Text(listed(gate.questions))] if is_told else []))


def _metrics(answer: CompareResponse, width: int) -> Table:
    table = plain_table("metric", *map(short_id, answer.names), "change", "p", "n", "up", "down")
    table.columns[0].no_wrap, table.columns[0].min_width = True, LONGEST_METRIC
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    for metric in answer.metrics[:MOST_METRICS]:
        table.add_row(*_row(metric, wide=width >= WIDE))
    return table


def _row(metric: MetricComparison, *, wide: bool) -> tuple[Text, ...]:
    limits = _limits(metric.ci)
    moved = Text(change(metric.delta), style="bold" if is_telling(metric) else "")
    if limits:
        moved.append("  " if wide else "\n").append(limits, style="dim")
    lowered = f"+{len(metric.decreased)} cut" if metric.decreased else ""
    cells = (figure(metric.baseline.value), figure(metric.candidate.value))
    return (
        Text(metric.metric + ("" if metric.comparable else " *")),
        *map(Text, cells),
        moved,
        Text(p_value(metric)),
        Text(str(metric.n)),
        Text(str(len(metric.improved))),
        Text(" ".join(filter(None, (str(len(metric.regressed)), lowered)))),
    )


def _limits(limits: tuple[float, float] | None) -> str:
    """The limits of a difference, as short as they say enough."""
    return "" if limits is None else "…".join(f"{limit:+.2f}".replace("-", "−") for limit in limits)


def _questions(answer: CompareResponse) -> Iterator[RenderableType]:
    said = answer.questions
    lists = {
        "only in the baseline": said.only_baseline,
        "only in the candidate": said.only_candidate,
        "text, facts or gold changed": said.changed_gold,
        "unscored in the baseline": said.unscored_baseline,
        "unscored in the candidate": said.unscored_candidate,
        **{f"excluded: {reason}": names for reason, names in said.excluded.items()},
    }
    regressed = {f"{metric.metric} regressed": metric.regressed for metric in answer.metrics}
    grid = Table.grid(padding=(0, 2))
    for what, names in {**regressed, **lists}.items():
        if names:
            grid.add_row(Text(what), Text(str(len(names)), justify="right"), Text(listed(names)))
    if grid.row_count:
        yield section(f"Questions: {questions_compared(answer)}", grid)


def _finding(found: Finding) -> RenderableType:
    heading = Text.assemble((literal(found.code), "bold"), f"  {literal(found.message)}")
    return below(heading, Text(listed(found.questions))) if found.questions else heading
