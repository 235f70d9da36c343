"""The end of the demonstration: what a longer list brings and costs, decided by gates, as a page with plots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from befund.bundled import bundled
from befund.cli._shown import near, own_name, wrapped
from befund.terminal.text import literal
from befund_client import Client, read_dataset, read_rankings

if TYPE_CHECKING:
    from rich.console import Console

REPORT = "befund-demo.html"
WHAT = """\
The JSON run of before, cut at 3 and at 5: does the generator get more of what it needs, and what does that cost? \
Gates decide, question by question; the page says why."""
FILE = "demo/smoke_run.json"
GATES: list[dict[str, Any]] = [
    {"metric": "hit_rate", "max_regressions": 0},
    {"metric": "recall", "max_drop": 0.0},
    {"metric": "chunks_per_question", "max_increase_percent": 100},
]


def show_comparison(url: str, report: Path, out: Console) -> None:
    """Store the run, compare its first three chunks with its first five, and leave the page."""
    import httpx

    from befund.reports.comparison import comparison_page
    from befund.terminal.comparison import report as table

    path = bundled(FILE) / FILE
    out.print("6. Top 3 against top 5", style="bold")
    out.print(f"{WHAT}\n\nThe same by hand, without gates:\n")
    sides = {"--baseline": near(path), "--baseline-k": "3", "--candidate": near(path), "--candidate-k": "5"}
    out.print(wrapped([own_name(), "compare"], {"--dataset": near(path), **sides}) + "\n", soft_wrap=True)
    with Client(url, transport=httpx.HTTPTransport()) as client:
        client.retrieve_eval(read_dataset(path), read_rankings(path), k=[3, 5], run="demo")
        answer = client.compare({"run": "demo", "k": 3}, {"run": "demo", "k": 5}, gates=GATES)
    for part in table(answer, width=out.width):
        out.print(part)
    try:
        report.write_bytes(comparison_page(answer))
    except OSError as error:
        out.print(f"The page with plots cannot be written to {literal(str(report))} ({error.strerror}).\n")
    else:
        out.print(f"The same with plots: {literal(str(report))}\n")
