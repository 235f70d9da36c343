"""`befund dataset`: check data sets, map their evidence, store them in a service, and see which it has."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

from befund.cli._asking import DONE, add_action, print_json
from befund.cli._dataset_files import add_check, add_map
from befund.terminal.text import counted, literal
from befund_client import Client, DatasetFormat, read_dataset


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("dataset", help="check data sets, map their evidence to chunks, store them")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add_check(actions)
    add_map(actions)
    add_action(actions, "list", list_datasets, "list the stored data sets with their versions")
    put = add_action(actions, "put", put_dataset, "store a data set from a file or a BEIR folder", stores=True)
    put.add_argument("file", metavar="FILE")
    put.add_argument("--name", help="its name; else the file's, up to its first dot")
    put.add_argument("--format", choices=get_args(DatasetFormat), help="format of the file, if not told")
    put.add_argument("--queries", metavar="FILE", help="texts of the questions for TREC qrels (JSONL, or id<TAB>text)")
    put.add_argument("--split", help="only this split; in a BEIR folder it names the file in qrels/")


def list_datasets(client: Client, arguments: argparse.Namespace) -> int:
    """Print a table of data sets."""
    answer = client.datasets()
    if arguments.json:
        return print_json(answer)
    from befund.terminal.console import console
    from befund.terminal.stored import datasets_table

    console().print(datasets_table(answer.datasets) if answer.datasets else "No data sets are stored.")
    return DONE


def put_dataset(client: Client, arguments: argparse.Namespace) -> int:
    """Store a data set."""
    loaded = read_dataset(arguments.file, format=arguments.format, queries=arguments.queries, split=arguments.split)
    for note in loaded.notes:
        print(f"befund: {literal(note)}", file=sys.stderr)
    name = arguments.name or Path(arguments.file).absolute().name.partition(".")[0]
    answer = client.put_dataset(name, loaded)
    if arguments.json:
        return print_json(answer)
    what = "stored" if answer.created else "was stored already"
    print(f"{literal(name)}@{answer.version.version} {what}: {counted(answer.version.questions, 'question')}")
    return DONE
