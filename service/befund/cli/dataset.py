"""`befund dataset`: data sets in files."""

from __future__ import annotations

from typing import Any

from befund.cli._dataset_files import add_check, add_map


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("dataset", help="check a data set, map its evidence to chunks")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add_check(actions)
    add_map(actions)
