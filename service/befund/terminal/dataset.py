"""A checked data set, and mapped evidence, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import EvidenceMappingResponse
from befund.core.dataset_check import DatasetReport, Issue
from befund.terminal.retrieval import REASONS, below, section
from befund.terminal.text import counted, listed, literal, short_id

MOST_TAGS = 20


def check_report(report: DatasetReport) -> Iterator[RenderableType]:
    """Everything a person should see of a checked data set, in sections."""
    behaviors = ", ".join(f"{number:,} {behavior}" for behavior, number in report.behaviors.items())
    yield section(counted(report.questions, "question"), _splits(report.splits), Text(f"expected: {behaviors}"))
    tags = [f"{short_id(tag)} {number:,}" for tag, number in list(report.tags.items())[:MOST_TAGS]]
    if tags:
        left = len(report.tags) - len(tags)
        yield section("Tags", Text(", ".join(tags) + (f" and {left} more" if left else "")))
    for severity, title in (("error", "Errors"), ("note", "Notes")):
        issues = [_issue(issue) for issue in report.issues if issue.severity == severity]
        yield section(title, *(issues or [Text("None.")]))


def mapping_report(found: EvidenceMappingResponse, *, without_quote: list[str]) -> Iterator[RenderableType]:
    """Where evidence was found, and what was not."""
    parts: list[RenderableType] = []
    chunks = {chunk for chunks in found.evidence_mapping.values() for chunk in chunks}
    parts.append(Text(f"found: {len(found.evidence_mapping):,} in {counted(len(chunks), 'chunk')}"))
    for what, ids in (
        ("of these cut into several chunks", found.cut),
        ("not found", [name for name in found.missing if name not in found.other_document]),
        ("in another document", [f"{name} ({document})" for name, document in found.other_document.items()]),
        ("without a quote", without_quote),
    ):
        if ids:
            parts.append(Text(f"{what}: {len(ids):,}: {listed(ids)}"))
    yield section("Evidence", *parts)


def _splits(splits: Mapping[str, Mapping[str, int]]) -> Table:
    used = [reason for reason in REASONS if any(counts[reason] for counts in splits.values())]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column("split", overflow="fold")
    for heading in ("questions", "eligible", *used):
        table.add_column(heading, justify="right", no_wrap=True)
    for split, counts in splits.items():
        numbers = [sum(counts.values()), counts["eligible"], *(counts[reason] for reason in used)]
        table.add_row(Text(short_id(split)), *(Text(f"{number:,}") for number in numbers))
    return table


def _issue(issue: Issue) -> RenderableType:
    heading = Text.assemble((literal(issue.code), "bold"), f"  {literal(issue.message)}")
    return below(heading, Text(f"{len(issue.ids):,}: {listed(issue.ids)}")) if issue.ids else heading
