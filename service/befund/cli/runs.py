"""`befund runs`: look at the runs a service keeps, and carry them from one to another."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from befund.cli._asking import DONE, REFUSED, add_action, print_json
from befund.terminal.text import counted, literal
from befund_client import Client, FileError

PORTION = 25
"""Questions of a run that are judged anew at a time."""


class _Named(msgspec.Struct):
    name: str


class _Head(msgspec.Struct):
    run: _Named


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("runs", help="look at stored runs, carry them between services")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    every = add_action(actions, "list", list_runs, "list runs, the last written first")
    every.add_argument("--limit", type=_number, default=50, metavar="N", help="how many (50)")
    show = add_action(actions, "show", show_run, "show one run: configuration, metrics, questions")
    show.add_argument("name", metavar="RUN")
    show.add_argument("--limit", type=_number, default=20, metavar="N", help="how many questions (20)")
    promote = add_action(actions, "promote", promote_run, "make one run what another is, as pr-42 main after a merge")
    promote.add_argument("name", metavar="RUN")
    promote.add_argument("target", metavar="TARGET", help="the run that becomes it; what it was is replaced")
    rejudge = add_action(actions, "rejudge", rejudge_run, "judge the answers of a run anew, into another run")
    rejudge.add_argument("name", metavar="RUN")
    rejudge.add_argument("target", metavar="TARGET", help="the run that the judgments go to")
    rejudge.add_argument("--judge", metavar="NAME", help="who judges; else the service's default")
    rejudge.add_argument("--votes", type=_number, metavar="N", help="independent samples; the majority counts (1)")
    rejudge.add_argument("--no-cache", action="store_true", help="let nothing judged before count")
    rejudge.add_argument("--replace-run", action="store_true", help="begin that run anew if it differs")
    export = add_action(actions, "export", export_run, "write a run to one file")
    export.add_argument("name", metavar="RUN")
    export.add_argument("file", metavar="FILE", nargs="?", help="where to; standard output if left out")
    put = add_action(actions, "import", import_run, "store a run from a file that was exported", stores=True)
    put.add_argument("file", metavar="FILE")
    put.add_argument("--name", metavar="RUN", help="its name; else the one it was exported under")
    put.add_argument("--replace-run", action="store_true", help="begin that run anew if it differs")


def list_runs(client: Client, arguments: argparse.Namespace) -> int:
    """Print a table of runs."""
    page = client.runs(limit=arguments.limit)
    if arguments.json:
        return print_json(page)
    from befund.terminal.console import console
    from befund.terminal.stored import runs_table

    out = console()
    out.print(runs_table(page.runs) if page.runs else "No runs are stored.")
    if page.next is not None:
        out.print("There are more (--limit).")
    return DONE


def show_run(client: Client, arguments: argparse.Namespace) -> int:
    """Print one run."""
    run = client.run(arguments.name, limit=arguments.limit)
    if arguments.json:
        return print_json(run)
    from befund.terminal.console import console
    from befund.terminal.stored import run_report

    out = console()
    for part in run_report(run, width=out.width):
        out.print(part)
    return DONE


def export_run(client: Client, arguments: argparse.Namespace) -> int:
    """Write a run to a file."""
    bundle = client.export_run(arguments.name)
    if arguments.file is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(bundle)
        sys.stdout.buffer.flush()
        return DONE
    try:
        Path(arguments.file).write_bytes(bundle)
    except OSError as error:
        raise FileError(arguments.file, f"it cannot be written ({error.strerror})") from error
    print(f"Run {literal(arguments.name)} written to {literal(arguments.file)}")
    return DONE


def promote_run(client: Client, arguments: argparse.Namespace) -> int:
    """Make one run what another is."""
    stored = client.promote_run(arguments.name, arguments.target)
    if arguments.json:
        return print_json(stored)
    print(f"Run {literal(stored.name)} is now {literal(arguments.name)}: {counted(stored.questions, 'question')}")
    return DONE


def rejudge_run(client: Client, arguments: argparse.Namespace) -> int:
    """Judge the answers of a run anew, in portions: each is stored before the next begins."""
    questions = _questions(client, arguments.name)
    portions = [questions[i : i + PORTION] for i in range(0, len(questions), PORTION)] or [[]]
    answers = []
    for i, portion in enumerate(portions):
        answers.append(
            client.rejudge_run(
                arguments.name,
                arguments.target,
                judge=arguments.judge or "default",
                votes=arguments.votes or 1,
                use_cache=not arguments.no_cache,
                questions=portion or None,
                replace_run=arguments.replace_run and i == 0,
            )
        )
        if sys.stderr.isatty():
            print(f"judged {min(len(questions), (i + 1) * PORTION)} of {len(questions)}", file=sys.stderr)
    if arguments.json:
        for answer in answers:
            print_json(answer)
        return DONE
    judged, failed = sum(each.judged for each in answers), sum(len(each.failed) for each in answers)
    more = f", {counted(failed, 'answer')} without a verdict" if failed else ""
    print(f"Run {literal(arguments.target)}: {counted(judged, 'answer')} of {literal(arguments.name)} judged{more}")
    return REFUSED if failed else DONE


def _questions(client: Client, name: str) -> list[str]:
    """The questions of a run."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = client.run(name, limit=1_000, cursor=cursor)
        found += [record.question_id for record in page.records]
        cursor = page.next
        if cursor is None:
            return found


def import_run(client: Client, arguments: argparse.Namespace) -> int:
    """Store a run from a file."""
    try:
        bundle = Path(arguments.file).read_bytes()
    except OSError as error:
        raise FileError(arguments.file, f"it cannot be read ({error.strerror})") from error
    name = arguments.name or _name_in(bundle)
    if name is None:
        raise FileError(arguments.file, "it is no exported run")
    stored = client.import_run(name, bundle, replace_run=arguments.replace_run)
    if arguments.json:
        return print_json(stored)
    print(f"Run {literal(stored.name)} stored: {counted(stored.questions, 'question')}")
    return DONE


def _name_in(bundle: bytes) -> str | None:
    """The name an exported run says it has."""
    try:
        return msgspec.json.decode(bundle.partition(b"\n")[0], type=_Head).run.name
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 500:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 500")
    return int(text)
