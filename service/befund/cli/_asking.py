"""What the commands that ask a running service share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from befund.cli import FAILED
from befund.core import errors
from befund.terminal.text import literal
from befund_client import BefundError, Client, ProblemError

DONE, REFUSED = 0, 2
REFUSAL_STATUSES = frozenset({409, 422})

Asks = Callable[[Client, argparse.Namespace], int]


def add_action(actions: Any, name: str, asks: Asks, what: str, *, stores: bool = False) -> argparse.ArgumentParser:
    """Add an action that asks a service, or the data folder; what goes wrong is one line and an exit code.

    Args:
        actions: Where it is added.
        name: What it is called.
        asks: Does it.
        what: What it does, for the help.
        stores: Whether it stores something, so that the data folder is made where there is none.
    """

    def run(arguments: argparse.Namespace) -> int:
        from befund.here import data_folder, service_url, waiting_service
        from befund.settings import SettingsError

        try:
            url = service_url(arguments.url)
            if url is None:
                where = f"the data folder {data_folder()}"
                print(f"befund: no service named (--url, BEFUND_URL): using {literal(where)}", file=sys.stderr)
            with waiting_service(url, stores=stores) as client:
                return asks(client, arguments)
        except (BefundError, errors.BefundError, SettingsError, ValueError) as error:
            print(f"befund: {literal(str(error))}", file=sys.stderr)
            return REFUSED if isinstance(error, ProblemError) and error.status in REFUSAL_STATUSES else FAILED

    parser: argparse.ArgumentParser = actions.add_parser(name, help=what, description=f"{what.capitalize()}.")
    parser.add_argument("--url", help="the service to ask; else BEFUND_URL, else the data folder is opened here")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)
    return parser


def print_json(answer: msgspec.Struct) -> int:
    """Print an answer as JSON."""
    print(msgspec.json.encode(answer).decode())
    return DONE
