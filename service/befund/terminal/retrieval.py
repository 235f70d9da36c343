"""A retrieval evaluation on a terminal: exclusions, metrics, misses, slices, findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from befund.contract import Estimate, Finding, Level, QuestionCounts, QuestionResult, RetrieveEvalResponse, Slice
from befund.terminal.text import counted, listed, literal, short_id, shortened

REASONS = {
    "behavior": "not to be answered",
    "ground_truth": "nothing relevant is known",
    "mapping": "evidence maps to no chunk",
    "index": "gold is not in the index",
}
IN_DOUBT = frozenset(
    {
        "EMBEDDER_NOT_RECORDED",
        "MAPPING_ELSEWHERE",
        "MISSING_FROM_RUN",
        "NOTHING_FOUND",
        "NO_ELIGIBLE_QUESTION",
        "NO_ID_OVERLAP",
        "SCORES_NOT_MONOTONE",
    }
)
"""Findings that say the figures are perhaps not of what they seem to be of; they stand above them."""
SLICE_METRICS = ("hit_rate", "recall", "mrr", "ndcg")
MOST_MISSES = 20
MOST_SLICES = 20
SMALLEST_SLICE = 5
"""A slice of fewer questions says more about chance than about its tag."""
TOP_SHOWN = 3
FAMILY_WIDTH = 12
INTERVAL_WIDTH = 14
VALUE_WIDTH = 8
N_WIDTH = 8


def report(
    answer: RetrieveEvalResponse, *, texts: Mapping[str, str], largest: int, width: int, level: Level = "chunk"
) -> Iterator[RenderableType]:
    """Everything a person should see of one evaluation, in sections.

    Args:
        answer: What the service answered.
        texts: Texts of the questions by id, where they are known.
        largest: The largest cutoff asked for.
        width: Columns there are.
        level: What was scored.
    """
    yield from _questions(answer.questions)
    yield from _findings("Read this first", [each for each in answer.findings if each.code in IN_DOUBT])
    yield from metrics_section(answer.metrics, width, level=level, note=_interval_note(answer))
    yield from _misses(answer.per_question, texts, largest, width)
    yield from _findings("Findings", [each for each in answer.findings if each.code not in IN_DOUBT])
    yield from _slices(answer.slices, largest)


def section(title: str, *parts: RenderableType) -> RenderableType:
    """Put a heading over indented parts."""
    return Group(below(Text(title, style="bold"), *parts), Text(""))


def below(first: RenderableType, *rest: RenderableType) -> RenderableType:
    """Put things below another, indented."""
    return Group(first, *(Padding(part, (0, 0, 0, 2), expand=False) for part in rest))


def _questions(counts: QuestionCounts) -> Iterator[RenderableType]:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    excluded = 0
    for reason, meaning in REASONS.items():
        ids: list[str] | None = getattr(counts.excluded, reason)
        if ids:
            excluded += len(ids)
            grid.add_row(Text(f"{reason}: {meaning}"), Text(str(len(ids)), justify="right"), Text(listed(ids)))
    if counts.missing_from_run:
        missing = counts.missing_from_run
        grid.add_row(
            Text("without a ranking, scored 0"), Text(str(len(missing)), justify="right"), Text(listed(missing))
        )
    if counts.unknown_in_run:
        grid.add_row(Text("ranked, not in the set"), Text(str(counts.unknown_in_run), justify="right"), Text(""))
    index_note = [Text("index: not checked")] if counts.excluded.index is None else []
    title = f"{counted(counts.total, 'question')}: {counts.eligible:,} measured, {excluded:,} excluded"
    yield section(title, *([grid] if grid.row_count else []), *index_note)


def metrics_section(metrics: Mapping[str, Estimate], width: int, *, level: str, note: str) -> Iterator[RenderableType]:
    """Means with their intervals: a table of those with a cutoff, one of the others; nothing where none has a value."""
    if all(estimate.value is None for estimate in metrics.values()):
        return
    families: dict[str, dict[int, Estimate]] = {}
    single: dict[str, Estimate] = {}
    for name, estimate in metrics.items():
        family, _, cutoff = name.partition("@")
        if cutoff.isdecimal():
            families.setdefault(family, {})[int(cutoff)] = estimate
        else:
            single[name] = estimate
    cutoffs = sorted({cutoff for estimates in families.values() for cutoff in estimates})
    with_intervals = any(estimate.ci for estimate in metrics.values())
    columns = max(1, (width - FAMILY_WIDTH - N_WIDTH) // (INTERVAL_WIDTH if with_intervals else VALUE_WIDTH))
    parts = [_metric_table(families, cutoffs[at : at + columns]) for at in range(0, len(cutoffs), columns)]
    if single:
        parts.append(_single_table(single))
    if parts:
        title = "Metrics" if level == "chunk" else f"Metrics by {literal(level)}"
        yield section(title, *parts, *([Text(note)] if note else []))


def _metric_table(families: Mapping[str, Mapping[int, Estimate]], cutoffs: Sequence[int]) -> Table:
    table = _table()
    table.add_column("", no_wrap=True)
    for cutoff in cutoffs:
        table.add_column(f"@{cutoff}", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for family, estimates in families.items():
        shown = [estimates[cutoff] for cutoff in cutoffs if cutoff in estimates]
        if shown:
            cells = [_cell(estimates.get(cutoff)) for cutoff in cutoffs]
            table.add_row(Text(shortened(family, FAMILY_WIDTH)), *cells, Text(_numbers(shown)))
    return table


def _single_table(estimates: Mapping[str, Estimate]) -> Table:
    table = _table()
    for heading in ("", "value", "n"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, estimate in estimates.items():
        table.add_row(Text(shortened(name, 2 * FAMILY_WIDTH)), _cell(estimate), Text(_numbers([estimate])))
    return table


def _cell(estimate: Estimate | None) -> Text:
    if estimate is None:
        return Text("")
    if estimate.value is None:
        return Text("–")
    if estimate.ci is None:
        return Text(f"{estimate.value:.3f}")
    low, high = estimate.ci
    return Text.assemble(f"{estimate.value:.3f}", "\n", (f"{low:.3f}–{high:.3f}", "dim"))


def _numbers(estimates: Sequence[Estimate]) -> str:
    """How many questions were scored; of how many, where some were not."""
    least = min(estimates, key=lambda estimate: estimate.n)
    return str(least.n) if not least.unscored else f"{least.n}/{least.attempted}"


def _interval_note(answer: RetrieveEvalResponse) -> str:
    methods = {estimate.method for estimate in answer.metrics.values()}
    if methods == {"too_few"}:
        return "No intervals: fewer than ten questions."
    settings = answer.intervals
    used = {
        "wilson": "Wilson for yes/no metrics",
        "bootstrap": f"bootstrap ({settings.resamples:,} resamples, seed {settings.seed})",
        "student": "Student's t",
    }
    named = ", ".join(text for method, text in used.items() if method in methods)
    return f"Below each value its {settings.confidence * 100:g} % interval over questions: {named}."


def _misses(
    results: Sequence[QuestionResult], texts: Mapping[str, str], largest: int, width: int
) -> Iterator[RenderableType]:
    eligible = [result for result in results if result.excluded is None]
    missed = [result for result in eligible if not 1 <= (result.first_relevant_rank or 0) <= largest]
    if not eligible:
        return
    if not missed:
        yield section("Missed", Text(f"None: every question has a relevant chunk in its first {largest:,}."))
        return
    parts = [_miss(result, texts.get(result.id, ""), width) for result in missed[:MOST_MISSES]]
    if len(missed) > MOST_MISSES:
        parts.append(Text(f"and {len(missed) - MOST_MISSES:,} more (--json lists all)"))
    title = (
        f"Missed: {len(missed):,} of {counted(len(eligible), 'question')}, nothing relevant in the first {largest:,}"
    )
    yield section(title, *parts)


def _miss(result: QuestionResult, text: str, width: int) -> RenderableType:
    name = short_id(result.id)
    question = "" if text == result.id else shortened(text, max(20, width - len(name) - 6))
    rank = result.first_relevant_rank
    found = "nothing relevant came back" if rank is None else f"first relevant at rank {rank:,}"
    on_top = f"; on top: {listed(result.retrieved[:TOP_SHOWN], most=TOP_SHOWN)}" if result.retrieved else ""
    return below(
        Text.assemble((name, "bold"), f"  {question}"), Text(f"{found if on_top else 'nothing came back'}{on_top}")
    )


def _slices(slices: Mapping[str, Slice], largest: int) -> Iterator[RenderableType]:
    names = [f"{family}@{largest}" for family in SLICE_METRICS]
    used = [name for name in names if any(name in part.metrics for part in slices.values())]
    if not used:
        return
    shown = {tag: part for tag, part in slices.items() if part.n >= SMALLEST_SLICE}
    notes = []
    if len(shown) > MOST_SLICES:
        notes.append(f"and {counted(len(shown) - MOST_SLICES, 'more tag')} (--json lists all)")
    if len(shown) < len(slices):
        small = counted(len(slices) - len(shown), "tag")
        notes.append(f"not shown: {small} with fewer than {SMALLEST_SLICE} questions (--json lists all)")
    tables = [_slices_table(dict(list(shown.items())[:MOST_SLICES]), used)] if shown else []
    yield section("Slices", *tables, *map(Text, notes))


def _slices_table(slices: Mapping[str, Slice], used: Sequence[str]) -> Table:
    table = _table()
    table.add_column("tag", overflow="fold")
    for heading in ("n", *used):
        table.add_column(heading, justify="right", no_wrap=True)
    for tag, part in slices.items():
        values = (part.metrics[name].value if name in part.metrics else None for name in used)
        cells = (Text("–" if value is None else f"{value:.3f}") for value in values)
        table.add_row(Text(short_id(tag)), Text(str(part.n)), *cells)
    return table


def _findings(title: str, findings: Sequence[Finding]) -> Iterator[RenderableType]:
    if findings:
        yield section(title, *map(_finding, findings))


def _finding(finding: Finding) -> RenderableType:
    heading = Text.assemble((literal(finding.code), "bold"), f"  {literal(finding.message)}")
    return below(heading, Text(listed(finding.questions))) if finding.questions else heading


def plain_table(*headings: str) -> Table:
    """A table of texts with a line below its headings."""
    table = _table()
    for heading in headings:
        table.add_column(heading)
    return table


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
