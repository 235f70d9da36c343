"""What the commands that ask a running service share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from befund.cli import FAILED
from befund.terminal.text import literal
from befund_client import BefundError, Client, ProblemError

DONE, REFUSED = 0, 2
REFUSAL_STATUSES = frozenset({409, 422})

Asks = Callable[[Client, argparse.Namespace], int]


def add_action(actions: Any, name: str, asks: Asks, what: str) -> argparse.ArgumentParser:
    """Add an action that asks a service; what goes wrong there is one line and an exit code."""

    def run(arguments: argparse.Namespace) -> int:
        try:
            with Client(arguments.url) as client:
                return asks(client, arguments)
        except (BefundError, ValueError) as error:
            print(f"befund: {literal(str(error))}", file=sys.stderr)
            return REFUSED if isinstance(error, ProblemError) and error.status in REFUSAL_STATUSES else FAILED

    parser: argparse.ArgumentParser = actions.add_parser(name, help=what, description=f"{what.capitalize()}.")
    parser.add_argument("--url", help="the service to ask; else BEFUND_URL, else http://127.0.0.1:8080")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)
    return parser


def print_json(answer: msgspec.Struct) -> int:
    """Print an answer as JSON."""
    print(msgspec.json.encode(answer).decode())
    return DONE
