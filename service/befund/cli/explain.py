"""`befund explain RUN QUESTION`: ranking, context, verdict and cause of one question of a run, on one screen."""

from __future__ import annotations

import argparse
from typing import Any

from befund.cli._asking import DONE, add_action, print_json
from befund_client import Client


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = add_action(subparsers, "explain", explain, "show what a run found for one question: ranking to cause")
    parser.add_argument("name", metavar="RUN")
    parser.add_argument("question", metavar="QUESTION")


def explain(client: Client, arguments: argparse.Namespace) -> int:
    """Print all that a run holds about one question."""
    found = client.run_question(arguments.name, arguments.question)
    if arguments.json:
        return print_json(found)
    from befund.terminal.console import console
    from befund.terminal.explanation import explanation

    out = console()
    for part in explanation(found, width=out.width):
        out.print(part)
    return DONE
