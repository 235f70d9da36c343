"""`befund ingest`: Markdown files into a collection of the index, through a service or in this process."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from befund.contract import ChunkingOptions, IngestResponse, SkippedDocument
from befund.terminal.text import counted, literal
from befund_client import BefundError

if TYPE_CHECKING:
    from befund.adapters.folder import Folder

FAILED = 3
MOST_SKIPPED = 20
BUNDLED = "teralune_corpus"

EPILOG = """\
documents:
  Every .md and .markdown file below the folder is a document. Its id is the `id` of its YAML front matter, else its
  path without the suffix; the other fields of the front matter become metadata to filter by, `roles` who may read it.

  Run it again after a change: only documents that changed are embedded again.

examples:
  befund ingest docs/ --collection handbook
  befund ingest docs/ --collection handbook-400 --max-characters 400
  befund ingest docs/ --collection handbook --prune --url http://127.0.0.1:8080

exit code: 0 done, 3 usage or service error
"""


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "ingest",
        help="write Markdown files into a collection",
        description="Cut the Markdown files of a folder into chunks, embed them and write them into a collection.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="the folder with the files")
    source.add_argument("--bundled", action="store_true", help=f"the bundled corpus, into {BUNDLED}")
    parser.add_argument("--collection", metavar="NAME", help="the collection; else it has the name of the folder")
    parser.add_argument("--max-characters", type=int, metavar="N", help="characters a chunk at most (700)")
    parser.add_argument("--overlap", type=int, metavar="N", help="characters the next chunk repeats at most (0)")
    parser.add_argument("--prune", action="store_true", help="remove documents whose files are gone")
    parser.add_argument(
        "--replace", action="store_true", help="make the collection anew if embedder or chunking differ; prunes too"
    )
    parser.add_argument("--url", help="the service to send to; else BEFUND_URL, else the data folder is opened here")
    parser.add_argument("--json", action="store_true", help="print the response")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ingest, print, and return the exit code."""
    from befund.adapters.folder import FolderError, read_folder
    from befund.bundled import MissingDataError, bundled
    from befund.core import errors
    from befund.settings import SettingsError

    try:
        path = bundled("teralune/documents") / "teralune" / "documents" if arguments.bundled else arguments.folder
        folder = read_folder(path)
        answer = asyncio.run(_ingest(arguments, folder, name=arguments.collection or _name(arguments)))
    except (BefundError, errors.BefundError, FolderError, MissingDataError, SettingsError, ValueError) as error:
        return _fail(str(error))
    if arguments.json:
        print(msgspec.json.encode(answer).decode())
    else:
        _print(answer, folder, of="the bundled corpus" if arguments.bundled else str(path))
    if arguments.prune and folder.skipped and not arguments.replace:
        what = counted(len(folder.skipped), "file")
        print(f"befund: nothing was pruned, since {what} could not be read", file=sys.stderr)
    return 0


async def _ingest(arguments: argparse.Namespace, folder: Folder, *, name: str) -> IngestResponse:
    from befund.here import service

    with _progress(len(folder.files)) as progress:
        async with service(arguments.url or os.environ.get("BEFUND_URL")) as client:
            answer = await client.ingest(
                name,
                (file.document() for file in folder.files),
                chunking=_chunking(arguments),
                replace=arguments.replace,
                prune=arguments.prune and not folder.skipped,  # the id of a file that cannot be read is not known
                progress=progress,
            )
    unread = [SkippedDocument(id=str(path), reason=reason) for path, reason in folder.skipped]
    counts = msgspec.structs.replace(answer.documents, skipped=unread + answer.documents.skipped)
    return msgspec.structs.replace(answer, documents=counts)


def _name(arguments: argparse.Namespace) -> str:
    """A collection's name from the folder's."""
    if arguments.bundled:
        return BUNDLED
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", arguments.folder.resolve().name).strip("._-")
    if len(name) < 3:
        raise ValueError(f"a collection cannot have the name of {arguments.folder}: give one with --collection")
    return name


def _chunking(arguments: argparse.Namespace) -> ChunkingOptions | None:
    given = {"max_characters": arguments.max_characters, "overlap": arguments.overlap}
    options = {name: value for name, value in given.items() if value is not None}
    return ChunkingOptions(**options) if options else None


@contextmanager
def _progress(documents: int) -> Iterator[Callable[[int], object]]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("documents"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("documents", total=documents)
        yield lambda done: bar.advance(task, done)


def _print(answer: IngestResponse, folder: Folder, *, of: str) -> None:
    from rich.text import Text

    from befund.terminal.console import console
    from befund.terminal.retrieval import below, section

    out = console()
    others = ", ".join(f"{number} {suffix or 'without suffix'}" for suffix, number in folder.others.items())
    not_read = [Text(f"not read: {counted(sum(folder.others.values()), 'other file')} ({literal(others)})")]
    read = Text(f"{literal(of)}: {counted(len(folder.files), 'Markdown file')}")
    out.print(section("Read", below(read, *(not_read if others else []))))
    done = answer.documents
    skipped = [Text(f"{literal(each.id)}: {literal(each.reason)}") for each in done.skipped[:MOST_SKIPPED]]
    if len(done.skipped) > MOST_SKIPPED:
        skipped.append(Text(f"and {len(done.skipped) - MOST_SKIPPED} more (--json lists all)"))
    if skipped:
        out.print(section(f"Skipped: {counted(len(done.skipped), 'document')}", *skipped))
    out.print(
        section(
            f"Collection {literal(answer.collection)}",
            Text(
                f"documents: {done.added:,} added, {done.changed:,} changed, {done.unchanged:,} unchanged, "
                f"{done.removed:,} removed"
            ),
            Text(f"chunks: {answer.chunks:,}, cut as {answer.chunking}, embedded by {literal(answer.embedder)}"),
            *(Text(literal(note)) for note in answer.notes),
        )
    )


def _fail(reason: str) -> int:
    print(f"befund: {literal(reason)}", file=sys.stderr)
    return FAILED
