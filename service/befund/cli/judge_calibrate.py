"""`befund judge calibrate`: how far does a judge agree with people?"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from befund.cli.judge import (
    UsageError,
    add_judging,
    add_service,
    judging,
    reporting_errors,
    with_questions,
    with_stored_questions,
)
from befund.cli.retrieve_eval import MEASURED, NOT_MEASURABLE
from befund.contract import CalibrationItem, CalibrationResponse
from befund.terminal.text import counted, literal
from befund_client import read_calibration

MOST_ITEMS = 2_000
"""Answers of one calibration, as many as the service takes."""
EPILOG = """\
files:
  JSON, JSONL or CSV as befund judge reads them, each answer with the verdict of
  people: "human": {"correct": true, "faithful": false}, or the columns
  human_correct, human_faithful, human_behaved (label_... too); true or false.
  Answers to one question are one group, unless "group" says otherwise.

examples:
  befund judge calibrate labelled.jsonl --judge rules
  befund judge calibrate labelled.csv --html calibration.html
  befund judge calibrate labelled.jsonl --url http://127.0.0.1:8080 --votes 5

What is found is stored with the judge and told with its verdicts from then on.

exit code: 0 measured, 2 not measurable, 3 usage or service error
"""


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "judge calibrate",
        help="measure a judge by answers that people judged",
        description="Measure a judge by answers that people judged: where do they agree?",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("answers", metavar="FILE", help="answers with the verdicts of people")
    parser.add_argument("--name", help="store it under this name; else that of the file")
    add_judging(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with plots there")
    add_service(parser)
    parser.add_argument("--json", action="store_true", help="print the response as it came")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    return reporting_errors(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    if arguments.html is not None:
        import matplotlib  # noqa: F401 - missing, it should be missed before anything is judged
    loaded = read_calibration(arguments.answers)
    read = f"{arguments.answers} ({loaded.format}): {counted(len(loaded.value), 'answer')} that people judged"
    found = asyncio.run(_calibrate(arguments, loaded.value))
    if arguments.json:
        for line in (read, *loaded.notes):
            print(f"befund: {literal(line)}", file=sys.stderr)
        print(msgspec.json.encode(found).decode())
    else:
        _print_report(found, read=read, notes=loaded.notes)
    if arguments.html is not None:
        _write_page(arguments.html, found)
    scored = any(each.scored for each in found.dimensions.values())
    return MEASURED if scored else NOT_MEASURABLE


async def _calibrate(arguments: argparse.Namespace, items: Sequence[CalibrationItem]) -> CalibrationResponse:
    items, dataset = with_questions(items, arguments)
    options: dict[str, Any] = {
        "judge": arguments.judge,
        "votes": arguments.votes,
        "use_cache": False if arguments.no_cache else None,
        "force_verdict": arguments.force_verdict or None,
        "dataset": dataset,
    }
    name = _name_of(arguments)
    async with judging(arguments, stores=True) as client:
        items = await with_stored_questions(client, items, arguments, dataset)
        if len(items) > MOST_ITEMS:
            raise UsageError(f"{len(items):,} answers are too many for one calibration, which takes {MOST_ITEMS:,}")
        return await client.calibrate(name, items, **options)


def _name_of(arguments: argparse.Namespace) -> str:
    if arguments.name is not None:
        return str(arguments.name)
    stem = Path(arguments.answers).name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem)[:128] or "calibration"


def _write_page(place: Path, found: CalibrationResponse) -> None:
    from befund.reports.calibration import calibration_page

    place.write_bytes(calibration_page(found))
    print(f"befund: wrote {literal(str(place))}", file=sys.stderr)


def _print_report(found: CalibrationResponse, *, read: str, notes: Sequence[str]) -> None:
    from rich.text import Text

    from befund.terminal.calibration import report
    from befund.terminal.console import console
    from befund.terminal.retrieval import below, section

    out = console()
    out.print(section("Read", below(Text(literal(read)), *(Text(literal(note)) for note in notes))))
    for part in report(found, width=out.width):
        out.print(part)
