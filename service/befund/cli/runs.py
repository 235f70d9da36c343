"""`befund runs`: look at the runs a service keeps, and carry them from one to another."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from befund.cli._asking import DONE, add_action, print_json
from befund.terminal.text import counted, literal
from befund_client import Client, FileError


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
