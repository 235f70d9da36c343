"""Stored runs and data sets on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import RunAnswer, RunDataset, RunListing, RunRecord, StoredDataset
from befund.terminal.diagnoses import groups_report
from befund.terminal.rates import judged_sections
from befund.terminal.retrieval import metrics_section, plain_table, section
from befund.terminal.text import counted, listed, moment, short_id, shortened

HASH_SHOWN = len("sha256:") + 8
LONGEST_CONFIG = 60
DIMENSIONS = ("correct", "faithful", "behaved")
_VERDICTS = {True: "yes", False: "no"}
_NO_VERDICT = {"abstained": "abstained", "failed": "failed"}
"""What stands for a verdict that is not there; nothing was asked where it is not evaluable."""


def runs_table(runs: Sequence[RunListing]) -> Table:
    """Runs, a line each."""
    table = plain_table("run", "data set", "questions", "written")
    for run in runs:
        table.add_row(
            Text(short_id(run.name)), Text(_dataset(run.dataset)), Text(f"{run.questions:,}"), Text(moment(run.updated))
        )
    return table


def datasets_table(datasets: Sequence[StoredDataset]) -> Table:
    """Data sets, a line a version."""
    table = plain_table("data set", "version", "questions", "splits", "stored")
    for dataset in datasets:
        for i, version in enumerate(dataset.versions):
            splits = ", ".join(f"{shortened(split, 20)} {number:,}" for split, number in version.splits.items())
            table.add_row(
                Text("" if i else short_id(dataset.name)),
                Text(version.version[len("sha256:") : HASH_SHOWN]),
                Text(f"{version.questions:,}"),
                Text(splits),
                Text(moment(version.created)),
            )
    return table


def run_report(run: RunAnswer, *, width: int) -> Iterator[RenderableType]:
    """Everything a person should see of one run, in sections."""
    about = Table.grid(padding=(0, 2))
    about.add_row(Text("data set"), Text(_dataset(run.dataset)))
    about.add_row(Text("written"), Text(moment(run.updated)))
    for key, value in run.config.items():
        if key not in {"dataset", "fingerprint"}:
            about.add_row(Text(shortened(key, 20)), Text(_value(value)))
    title = f"Run {short_id(run.name)}: {counted(run.questions, 'question')}"
    if run.metrics:
        eligible = max(estimate.attempted for estimate in run.metrics.values())
        title += f", {eligible:,} eligible for retrieval"
    yield section(title, about)
    has_intervals = any(estimate.ci for estimate in run.metrics.values())
    note = "Below each value its 95 % interval, from ten questions on." if has_intervals else ""
    yield from metrics_section(run.metrics, width, level=run.measured.get("level", "chunk"), note=note)
    yield from judged_sections(run)
    yield from groups_report(run.diagnoses, run.causes)
    if run.records:
        yield section("Questions", _records_table(run.records))
    if run.next is not None:
        yield Text(f"and {counted(run.questions - len(run.records), 'more question')} (--limit shows more)")


def _records_table(records: Sequence[RunRecord]) -> Table:
    """What the run holds about each question; only columns of what was done in it."""
    ranked = any(record.retrieval is not None for record in records)
    judged = any(record.judgment is not None for record in records)
    table = plain_table("question", *(DIMENSIONS if judged else ()), *(("first relevant", "on top") if ranked else ()))
    for record in records:
        cells = [short_id(record.question_id)]
        if judged:
            cells += _verdicts(record)
        if ranked:
            cells += _found(record)
        table.add_row(*map(Text, cells))
    return table


def _verdicts(record: RunRecord) -> list[str]:
    """A word a dimension; why there is none where there is none."""
    if record.judgment is None:
        return [""] * len(DIMENSIONS)
    judgment = record.judgment.judgment
    return [
        _VERDICTS.get(getattr(judgment, name)) or _NO_VERDICT.get(getattr(judgment.status, name), "–")
        for name in DIMENSIONS
    ]


def _found(record: RunRecord) -> list[str]:
    """The first relevant rank, or why there is none, and the top of the ranking."""
    found = record.retrieval
    if found is None:
        return ["", ""]
    rank = f"excluded: {found.excluded}" if found.excluded else str(found.first_relevant_rank or "–")
    top = [entry if isinstance(entry, str) else entry.id for entry in (found.ranking or [])[:3]]
    return [rank, listed(top, most=3)]


def _dataset(dataset: RunDataset) -> str:
    short = dataset.version.version[len("sha256:") : HASH_SHOWN]
    return f"{'inline' if dataset.name is None else short_id(dataset.name)}@{short}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return shortened(text, LONGEST_CONFIG)
