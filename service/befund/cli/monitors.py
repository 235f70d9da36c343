"""`befund monitors`: how good the answers of online traffic are."""

from __future__ import annotations

import argparse
from typing import Any

from befund.cli._asking import DONE, add_action, print_json
from befund_client import Client

HOUR_SECONDS = 3600


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("monitors", help="look at what was judged of online traffic")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add_action(actions, "list", list_monitors, "list monitors")
    show = add_action(actions, "show", show_monitor, "show the rates of a monitor, window by window")
    show.add_argument("name", metavar="MONITOR")
    show.add_argument("--hours", type=_hours, default=24, metavar="N", help="how far to look back (24)")
    show.add_argument("--step", type=_hours, metavar="HOURS", help="how long a window is; else all in one")


def list_monitors(client: Client, arguments: argparse.Namespace) -> int:
    """Print a table of monitors."""
    found = client.monitors()
    if arguments.json:
        return print_json(found)
    from befund.terminal.console import console
    from befund.terminal.monitors import monitors_table

    console().print(monitors_table(found.monitors) if found.monitors else "There is no monitor.")
    return DONE


def show_monitor(client: Client, arguments: argparse.Namespace) -> int:
    """Print one monitor."""
    step = None if arguments.step is None else arguments.step * HOUR_SECONDS
    found = client.monitor(arguments.name, window=arguments.hours * HOUR_SECONDS, step=step)
    if arguments.json:
        return print_json(found)
    from befund.terminal.console import console
    from befund.terminal.monitors import monitor_report

    out = console()
    for part in monitor_report(found):
        out.print(part)
    return DONE


def _hours(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 87_600:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of hours; it is between 1 and 87600")
    return int(text)
