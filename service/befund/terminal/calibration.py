"""How a judge agrees with people, on a terminal: the figures, the confusion, the worst disagreements."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import CalibrationResponse, DimensionCalibration, Disagreement, JudgeBatchResult
from befund.terminal.retrieval import below, section
from befund.terminal.text import counted, literal, short_id, shortened

MOST_SHOWN = 5
"""Disagreements of one dimension that are shown."""
_FIGURES = {
    "n": "answers",
    "scored": "scored",
    "coverage": "coverage",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "kappa": "kappa",
}


def report(found: CalibrationResponse, *, width: int, examples: int = MOST_SHOWN) -> Iterator[RenderableType]:
    """Everything a person should see of a calibration, in sections.

    Args:
        found: What the service answered.
        width: Columns there are.
        examples: How many disagreements of a dimension are shown at most.
    """
    seen = {name: each for name, each in found.dimensions.items() if each.n}
    title = f"{literal(found.judge.name)} beside people, {found.confidence:.0%} intervals over groups"
    yield section(title, _figures(seen), *_caution(seen))
    for name, each in seen.items():
        if each.scored:
            yield section(f"{name}: people (rows) and the judge (columns)", _confusion(each))
    for name, each in seen.items():
        yield from _disagreements(name, each, width, examples)
    yield from _failed(found.failed, examples)


def _figures(seen: dict[str, DimensionCalibration]) -> Table:
    table = _table("", *seen)
    for figure, said in _FIGURES.items():
        table.add_row(Text(said), *(Text(_figure(each, figure)) for each in seen.values()))
    return table


def _figure(found: DimensionCalibration, name: str) -> str:
    value = getattr(found, name)
    if name in ("n", "scored"):
        return f"{value:,}"
    if value is None:
        return "not defined"
    limits = found.kappa_ci if name == "kappa" else found.intervals.get(name)
    form = "{:.2f}" if name == "kappa" else "{:.1%}"
    between = f"  {form.format(limits[0])} to {form.format(limits[1])}" if limits else ""
    return form.format(value) + between


def _caution(seen: dict[str, DimensionCalibration]) -> Iterator[Text]:
    few = [name for name, each in seen.items() if each.indicative]
    if few:
        yield Text(f"indicative only, under 100 scored answers: {', '.join(few)}")


def _confusion(found: DimensionCalibration) -> Table:
    counts = found.confusion
    table = _table("people say", "true", "false")
    table.add_row(Text("true"), Text(f"{counts.true_positive:,}"), Text(f"{counts.false_negative:,}"))
    table.add_row(Text("false"), Text(f"{counts.false_positive:,}"), Text(f"{counts.true_negative:,}"))
    return table


def _disagreements(name: str, found: DimensionCalibration, width: int, most: int) -> Iterator[RenderableType]:
    total = len(found.disagreements)
    if not total:
        return
    parts = [_case(each, width) for each in found.worst[:most]]
    if total > len(parts):
        parts.append(Text(f"and {total - len(parts)} more (--html and --json tell of more)"))
    yield section(f"{name}, where they differ: {counted(total, 'answer')}", *parts)


def _case(case: Disagreement, width: int) -> RenderableType:
    room = max(40, 2 * (width - 4))
    sure = "" if case.confidence is None else f", {case.confidence:.0%} sure"
    named = short_id(case.question_id) if case.question_id else f"answer {case.index + 1}"
    people, judge = ("true" if said else "false" for said in (case.human, case.judged))
    return below(
        Text.assemble((named, "bold"), f"  people: {people}, judge: {judge}{sure}"),
        Text(f"question: {shortened(case.question, room)}"),
        Text(f"answer: {shortened(case.answer, room)}"),
        Text(f"reason: {shortened(case.reason or 'none given', room)}"),
    )


def _failed(failed: list[JudgeBatchResult], most: int) -> Iterator[RenderableType]:
    if not failed:
        return
    parts = [Text(f"answer {each.index + 1}: {literal(each.problem.detail)}") for each in failed[:most] if each.problem]
    if len(failed) > most:
        parts.append(Text(f"and {len(failed) - most} more (--json lists all)"))
    yield section(f"Not judged: {counted(len(failed), 'answer')}", *parts)


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
