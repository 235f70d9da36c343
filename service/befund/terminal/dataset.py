"""A checked data set, and mapped evidence, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import EvidenceMappingResponse, Question
from befund.core.dataset_check import DatasetReport, Issue, differing_evidence, evidence_of
from befund.terminal.retrieval import REASONS, below, section
from befund.terminal.text import counted, listed, literal, short_id, shortened

MOST_TAGS = 20
MOST_NOT_FOUND = 20
MANY_CHUNKS = 3
HOW_COMPARED = (
    "Quotes are compared with the Markdown source: markup counts, whitespace is folded, case is not. Copy them from it."
)


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


def mapping_report(
    found: EvidenceMappingResponse, questions: Sequence[Question], *, width: int
) -> Iterator[RenderableType]:
    """Where evidence was found, and what was not."""
    parts: list[RenderableType] = []
    chunks = {chunk for chunks in found.evidence_mapping.values() for chunk in chunks}
    parts.append(Text(f"found: {len(found.evidence_mapping):,} in {counted(len(chunks), 'chunk')}"))
    evidence = evidence_of(questions)
    many = [f"{name} in {len(ids)}" for name, ids in found.evidence_mapping.items() if len(ids) > MANY_CHUNKS]
    for what, ids in (
        ("of these cut into several chunks", found.cut),
        (f"of these in more than {MANY_CHUNKS} chunks (a longer quote would say which)", many),
        ("in another document", [f"{name} in {document}" for name, document in found.other_document.items()]),
        ("without a quote", [name for name, each in evidence.items() if not (each.quote or "").strip()]),
        ("one id with different quotes (the last is sought)", differing_evidence(questions)),
    ):
        if ids:
            parts.append(Text(f"{what}: {len(ids):,} ({listed(ids)})"))
    missing = [name for name in found.missing if name not in found.other_document]
    if missing:
        asking = {each.id: question.id for question in questions for each in question.evidence}
        lines = [
            Text(shortened(f"{short_id(asking[name])} {short_id(name)}: {evidence[name].quote}", width - 4))
            for name in missing[:MOST_NOT_FOUND]
            if name in asking
        ]
        left = len(missing) - MOST_NOT_FOUND
        more = [Text(f"and {left:,} more (--json lists all)")] if left > 0 else []
        parts.append(below(Text(f"not found: {len(missing):,}"), *lines, *more))
        parts.append(Text(HOW_COMPARED))
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
    return below(heading, Text(f"{len(issue.ids):,} ({listed(issue.ids)})")) if issue.ids else heading
