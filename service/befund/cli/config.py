"""`befund config check`: would the service start with these settings?"""

import argparse
import os
import sys
from typing import Any

from befund.cli import FAILED
from befund.settings import SettingsError, load_settings, redacted


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("config", help="look at the settings")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser("check", help="check the settings and print those in effect, keys redacted")
    check.set_defaults(run=check_settings)


def check_settings(arguments: argparse.Namespace) -> int:
    """Print the effective settings; unknown names are errors here, where `serve` only warns."""
    try:
        loaded = load_settings(os.environ)
        loaded.settings.refuse_open_address()
    except SettingsError as error:
        print(f"befund: {error}", file=sys.stderr)
        return FAILED
    for name, value in redacted(loaded.settings).items():
        print(f"{name}={value}")
    for name in loaded.unknown:
        print(f"befund: {name} is not a setting", file=sys.stderr)
    return FAILED if loaded.unknown else 0
