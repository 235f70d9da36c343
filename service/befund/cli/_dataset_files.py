"""`befund dataset check` and `befund dataset map`: is a data set sound, and which chunks hold its evidence?"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from befund.cli.retrieve_eval import FILE_EXTENSIONS
from befund.contract import Dataset, EvidenceMappingResponse, Question, QuotedEvidence
from befund.terminal.text import literal
from befund_client import BefundError, DatasetFormat, FileError, read_dataset, read_mapping

if TYPE_CHECKING:
    from befund.core.dataset_check import DatasetReport

SOUND, UNSOUND, FAILED = 0, 1, 3

CHECK_EPILOG = """\
examples:
  befund dataset check questions.jsonl
  befund dataset check smoke.jsonl test.jsonl --mapping evidence_mapping.json --collection handbook

exit code: 0 sound, notes or not; 1 errors in the data set; 3 usage or service error
"""
MAP_EPILOG = """\
examples:
  befund dataset map --dataset questions.jsonl --documents docs/ --max-characters 400 --output mapped.json
  befund dataset map --dataset questions.jsonl --collection handbook --mapping-only --output mapping.json

exit code: 0 mapped; 1 nothing was found; 3 usage or service error
"""


def add_check(actions: argparse._SubParsersAction[Any]) -> None:
    """Add `befund dataset check`."""
    check = actions.add_parser(
        "check",
        help="say what is wrong with a data set",
        description="Say what is wrong with a data set; several files are one set.",
        epilog=CHECK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="data sets, in any format that is read")
    check.add_argument("--format", choices=get_args(DatasetFormat), help="their format, if not told")
    check.add_argument("--mapping", metavar="FILE", help="the evidence mapping, where another file holds it")
    check.add_argument("--collection", metavar="NAME", help="look whether this collection holds gold and quotes")
    _add_service(check)
    check.set_defaults(run=lambda arguments: _reporting_errors(run_check, arguments))


def add_map(actions: argparse._SubParsersAction[Any]) -> None:
    """Add `befund dataset map`."""
    mapping = actions.add_parser(
        "map",
        help="find the chunks that hold the evidence",
        description="Find the quotes of evidence in chunks, whitespace folded, and write the mapping.",
        epilog=MAP_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    mapping.add_argument("--dataset", required=True, metavar="FILE", help="the data set")
    mapping.add_argument("--format", choices=get_args(DatasetFormat), help="its format, if not told")
    chunks = mapping.add_mutually_exclusive_group(required=True)
    chunks.add_argument("--collection", metavar="NAME", help="map to the chunks of this collection")
    chunks.add_argument("--documents", type=Path, metavar="FOLDER", help="map to chunks of these Markdown files")
    mapping.add_argument("--max-characters", type=int, metavar="N", help="with --documents: characters a chunk (700)")
    mapping.add_argument("--overlap", type=int, metavar="N", help="with --documents: characters repeated (0)")
    mapping.add_argument("--output", type=Path, metavar="FILE", help="write the data set with its mapping there")
    mapping.add_argument("--mapping-only", action="store_true", help="write the mapping without the questions")
    _add_service(mapping)
    mapping.set_defaults(run=lambda arguments: _reporting_errors(run_map, arguments))


def _add_service(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", help="the service to ask; else BEFUND_URL, else the data folder is opened here")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run_check(arguments: argparse.Namespace) -> int:
    """Check, print, and return the exit code."""
    from befund.core.dataset_check import Issue, check_dataset, gold_chunks

    questions: list[Question] = []
    mapping: dict[str, list[str]] = {}
    unreadable: list[Issue] = []
    for file in arguments.files:
        try:
            loaded = read_dataset(file, format=arguments.format)
        except FileError as error:
            unreadable.append(Issue(code="UNREADABLE", severity="error", message=str(error)))
            continue
        _print_notes(file, loaded.notes)
        questions += loaded.value.questions
        mapping |= loaded.value.evidence_mapping
    if arguments.mapping:
        mapping |= read_mapping(arguments.mapping).value
    found = None
    if arguments.collection is not None and questions:
        found = asyncio.run(_ask(arguments, questions, gold_chunks(questions, mapping)))
    report = check_dataset(questions, mapping, collection=found)
    report = msgspec.structs.replace(report, issues=unreadable + report.issues)
    _print_check(report, as_json=arguments.json)
    return UNSOUND if any(issue.severity == "error" for issue in report.issues) else SOUND


def run_map(arguments: argparse.Namespace) -> int:
    """Map, write, print, and return the exit code."""
    if arguments.output is not None and arguments.output.suffix.lower() in FILE_EXTENSIONS - {".json"}:
        raise ValueError(f"{arguments.output}: what is written is JSON; give --output a name that ends in .json")
    loaded = read_dataset(arguments.dataset, format=arguments.format)
    _print_notes(arguments.dataset, loaded.notes)
    dataset = loaded.value
    if arguments.documents is not None:
        found = _map_documents(arguments, dataset.questions)
    elif arguments.max_characters is not None or arguments.overlap is not None:
        raise ValueError("--max-characters and --overlap go with --documents: a collection is cut already")
    else:
        found = asyncio.run(_ask(arguments, dataset.questions, ()))
    mapped, changed = _mapped(dataset, found)
    if arguments.output is not None and found.evidence_mapping:
        content: object = mapped.evidence_mapping if arguments.mapping_only else mapped
        _write(arguments.output, content)
    _print_mapping(arguments, found, dataset.questions, changed=changed)
    return SOUND if found.evidence_mapping else UNSOUND


def _write(path: Path, content: object) -> None:
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    except OSError as error:
        raise FileError(path, f"cannot be written ({error.strerror})") from error


def _mapped(dataset: Dataset, found: EvidenceMappingResponse) -> tuple[Dataset, list[str]]:
    """The data set with the new mapping, and the questions that had to change.

    A chunk known as wrong is one of the former chunking; where one of that name holds the evidence now, it is no more.
    """
    questions, changed = [], []
    for question in dataset.questions:
        relevant = {
            chunk
            for evidence in question.evidence
            if evidence.relevance > 0
            for chunk in found.evidence_mapping.get(evidence.id, ())
        }
        if relevant.intersection(question.non_relevant):
            kept = [chunk for chunk in question.non_relevant if chunk not in relevant]
            question = msgspec.structs.replace(question, non_relevant=kept)
            changed.append(question.id)
        questions.append(question)
    replaced = msgspec.structs.replace(dataset, questions=questions, evidence_mapping=found.evidence_mapping)
    return replaced, changed


def _map_documents(arguments: argparse.Namespace, questions: Sequence[Question]) -> EvidenceMappingResponse:
    from befund.adapters.folder import read_folder
    from befund.adapters.splitter import split_markdown
    from befund.core.corpus import Chunking, plain_newlines
    from befund.core.evidence_mapping import Quoted, map_evidence

    given = {"max_characters": arguments.max_characters, "overlap": arguments.overlap}
    chunking = Chunking(**{name: value for name, value in given.items() if value is not None})
    chunking.check()
    folder = read_folder(arguments.documents)
    _print_notes(str(arguments.documents), [f"{path}: {reason}" for path, reason in folder.skipped])
    chunks = (
        chunk
        for document in (file.document() for file in folder.files)
        for chunk in split_markdown(
            plain_newlines(document.text),
            document_id=document.id,
            max_characters=chunking.max_characters,
            overlap=chunking.overlap,
        )
    )
    quoted = [Quoted(id=each.id, quote=each.quote, document=each.document) for each in _quoted(questions)]
    found = map_evidence(quoted, chunks)
    return EvidenceMappingResponse(
        evidence_mapping=found.chunks,
        cut=found.cut,
        missing=found.missing,
        other_document=found.other_document,
        missing_chunks=[],
    )


async def _ask(
    arguments: argparse.Namespace, questions: Sequence[Question], chunks: Iterable[str]
) -> EvidenceMappingResponse:
    from befund.here import service, service_url

    async with service(service_url(arguments.url), stores=False) as client:
        return await client.map_evidence(arguments.collection, _quoted(questions), chunks=chunks)


def _quoted(questions: Iterable[Question]) -> list[QuotedEvidence]:
    from befund.core.dataset_check import evidence_of

    return [
        QuotedEvidence(id=each.id, quote=each.quote, document=each.document)
        for each in evidence_of(questions).values()
        if each.quote and each.quote.strip()
    ]


def _print_check(report: DatasetReport, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(report).decode())
        return
    from befund.terminal.console import console
    from befund.terminal.dataset import check_report

    out = console()
    for part in check_report(report):
        out.print(part)


def _print_mapping(
    arguments: argparse.Namespace,
    found: EvidenceMappingResponse,
    questions: Sequence[Question],
    *,
    changed: Sequence[str],
) -> None:
    if arguments.json:
        print(msgspec.json.encode(found).decode())
        return
    from rich.text import Text

    from befund.terminal.console import console
    from befund.terminal.dataset import mapping_report

    out = console()
    for part in mapping_report(found, questions, width=out.width):
        out.print(part)
    if changed:
        ids = ", ".join(map(literal, changed))
        out.print(Text(f"Chunks that hold the evidence now are no longer non_relevant: {ids}\n"))
    if arguments.output is not None and not found.evidence_mapping:
        out.print(Text(f"Nothing was found, so that {literal(str(arguments.output))} was not written."))
    elif arguments.output is not None:
        what = "mapping" if arguments.mapping_only else "data set with its mapping"
        out.print(Text(f"The {what} is in {literal(str(arguments.output))}."))


def _print_notes(file: str, notes: Iterable[str]) -> None:
    for note in notes:
        print(f"befund: {literal(file)}: {literal(note)}", file=sys.stderr)


def _reporting_errors(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    from befund.adapters.folder import FolderError
    from befund.core import errors
    from befund.settings import SettingsError

    try:
        return run(arguments)
    except (BefundError, errors.BefundError, FolderError, SettingsError, ValueError) as error:
        print(f"befund: {literal(str(error))}", file=sys.stderr)
        return FAILED
