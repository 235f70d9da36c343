"""`befund retrieve-eval`: measure rankings from files, through a service or in this process, or a search it makes."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec

from befund.contract import (
    Dataset,
    DatasetReference,
    Level,
    Question,
    RetrievalOptions,
    RetrieveEvalResponse,
)
from befund.core import errors
from befund.terminal.text import counted, literal
from befund_client import (
    BefundError,
    Client,
    DatasetFormat,
    Loaded,
    ProblemError,
    Rankings,
    RankingsFormat,
    RetrieveEvalKeywords,
    read_config,
    read_dataset,
    read_ids,
    read_mapping,
    read_rankings,
    retrieve_eval_body,
)

if TYPE_CHECKING:
    from rich.console import Console

MEASURED, NOT_MEASURABLE, FAILED = 0, 2, 3
UNMEASURABLE_STATUSES = frozenset({409, 422})
LARGEST_CUTOFF = 100_000
LARGEST_SEED = 2**63 - 1
MOST_DIGITS = 19
LOWEST_CONFIDENCE, HIGHEST_CONFIDENCE = 0.5, 0.999
FILE_EXTENSIONS = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".trec", ".qrels", ".gz"})

EPILOG = """\
files:
  The format is told by content and extension. Data sets: JSON
  ({"questions": [...]}, a whole request, ranx qrels, a flat list), JSONL, CSV,
  TREC qrels, a BEIR folder. Rankings: JSON, JSONL, CSV, a TREC run. Any of
  them may be gzipped. In CSV, a cell that holds several ids separates them by
  | or is a JSON list; rankings have the columns question_id, chunk_id and rank
  (else the order of the rows counts), and may have score and roles.

metrics:
  hit_rate, precision, recall, f1, mrr, map, ndcg, judged at every k of --k, or
  at one with a name like recall@5; r_precision; bpref only where it is named.
  At --level evidence: hit_rate, precision, recall, mrr.

examples:
  befund retrieve-eval --dataset questions.jsonl --rankings run.json --k 1,5
  befund retrieve-eval --dataset my.qrels --queries topics.tsv --rankings my.run
  befund retrieve-eval --dataset scifact/ --split test --rankings my.run \\
    --url http://127.0.0.1:8080
  befund retrieve-eval --dataset questions.jsonl --collection docs --top-k 10 \\
    --url http://127.0.0.1:8080

exit code: 0 measured, 2 not measurable, 3 usage or service error
"""


class FileRead(msgspec.Struct, frozen=True):
    """A file that was read: what it held in a few words, and the reader's notes."""

    summary: str
    notes: tuple[str, ...]


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line names, read; `search` is what the service is to search for in place of rankings."""

    dataset: Dataset | str
    rankings: Rankings
    search: RetrievalOptions | None = None
    options: RetrieveEvalKeywords
    files: list[FileRead]

    @property
    def questions(self) -> list[Question]:
        """The questions, where a file holds them."""
        return [] if isinstance(self.dataset, str) else self.dataset.questions

    @property
    def texts(self) -> dict[str, str]:
        """Their texts by id."""
        return {each.id: each.question for each in self.questions}


class UsageError(Exception):
    """The command line asks for something that cannot be."""


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "retrieve-eval",
        help="measure rankings, or a live search, against the gold of a data set",
        description="Measure rankings, or a live search, against the gold of a data set.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_inputs(parser)
    _add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    inputs: Inputs | None = None
    try:
        inputs = read(arguments)
        wire = _measure(arguments, inputs)
        answer = _decoded(wire)
    except ProblemError as error:
        _print_notes(inputs)
        return _fail(error, NOT_MEASURABLE if error.status in UNMEASURABLE_STATUSES else FAILED)
    except errors.ContradictionError as error:
        _print_notes(inputs)
        return _fail(error, NOT_MEASURABLE)
    except (UsageError, BefundError, errors.BefundError) as error:
        return _fail(error, FAILED)
    if arguments.json:
        _print_json(wire, inputs)
    else:
        from befund.terminal.console import console

        print_report(answer, inputs, largest=max(arguments.k), console=console())
    return MEASURED if answer.questions.eligible else NOT_MEASURABLE


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    inputs = parser.add_argument_group("what is measured")
    inputs.add_argument("--dataset", required=True, metavar="FILE|NAME", help="a file, a BEIR folder, or a stored set")
    retrieved = inputs.add_mutually_exclusive_group(required=True)
    retrieved.add_argument("--rankings", metavar="FILE", help="what was retrieved for each question")
    retrieved.add_argument("--collection", metavar="NAME", help="search this collection instead")
    inputs.add_argument(
        "--top-k", type=_top_k, metavar="K", help="with --collection: chunks to ask for (as many as the largest k)"
    )
    inputs.add_argument("--where", type=_where, metavar="JSON", help="with --collection: filter on chunks' metadata")
    inputs.add_argument("--format", choices=get_args(DatasetFormat), help="format of the data set, if not told")
    inputs.add_argument("--rankings-format", choices=get_args(RankingsFormat), help="format of the rankings")
    inputs.add_argument(
        "--queries", metavar="FILE", help="texts of the questions for TREC qrels (JSONL, or id<TAB>text)"
    )
    inputs.add_argument("--mapping", metavar="FILE", help="the evidence mapping, where another file holds it")
    inputs.add_argument("--index-chunk-ids", metavar="FILE", help="what the index holds: a JSON list, or an id a line")
    inputs.add_argument("--split", help="only this split; in a BEIR folder it names the file in qrels/")
    inputs.add_argument("--tag", action="append", default=[], help="only questions with this tag (may be repeated)")


def _add_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("how")
    options.add_argument("--k", type=_cutoffs, default=[1, 3, 5, 10], metavar="K,K,…", help="rank cutoffs (1,3,5,10)")
    options.add_argument("--level", choices=get_args(Level), help="score chunk ids or evidence ids (chunk)")
    options.add_argument("--metrics", type=_names, metavar="ndcg,recall@5", help="only these metrics, see below")
    options.add_argument("--confidence", type=_confidence, metavar="LEVEL", help="level of the intervals (0.95)")
    options.add_argument("--seed", type=_seed, metavar="SEED", help="seed of the bootstrap (7)")
    options.add_argument("--config", metavar="FILE", help="what was measured, as a JSON object")
    options.add_argument("--run", dest="run_name", metavar="NAME", help="store the measurement under this name")
    options.add_argument("--replace-run", action="store_true", help="begin that run anew if it differs")
    options.add_argument("--url", help="the service to ask; else BEFUND_URL, else measure in this process")
    options.add_argument("--json", action="store_true", help="print the response as it came")


def _cutoffs(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(map(_is_whole, parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of cutoffs; write it like 1,3,5,10")
    cutoffs = sorted({int(part) for part in parts})
    if cutoffs[0] < 1 or cutoffs[-1] > LARGEST_CUTOFF:
        raise argparse.ArgumentTypeError(f"a cutoff is between 1 and {LARGEST_CUTOFF:,}")
    return cutoffs


def _seed(text: str) -> int:
    if not _is_whole(text) or int(text) > LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; a seed is a whole number from 0 to {LARGEST_SEED}")
    return int(text)


def _is_whole(text: str) -> bool:
    """Whether it is digits alone: `int` reads 1_0 as 10, and the digits of other scripts."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def _confidence(text: str) -> float:
    level = float(text) if re.fullmatch(r"[0-9]*\.?[0-9]+", text) else 0.0
    if not LOWEST_CONFIDENCE <= level <= HIGHEST_CONFIDENCE:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no confidence; it is between {LOWEST_CONFIDENCE} and {HIGHEST_CONFIDENCE}"
        )
    return level


def _top_k(text: str) -> int:
    return _cutoffs(text)[-1]


def _where(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError) as error:
        example = """{"language": "de"}"""
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON object such as {example} ({error})") from None


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("names no metric; write it like ndcg,recall@5")
    return names


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse what stands behind `befund retrieve-eval`, for a command that shows and does the same."""
    parser = argparse.ArgumentParser()
    _add_inputs(parser)
    _add_options(parser)
    return parser.parse_args(arguments)


def read(arguments: argparse.Namespace) -> Inputs:
    """Read the files that the arguments name."""
    files = []
    dataset: Dataset | str = arguments.dataset
    if is_file(arguments.dataset) or not _is_name(arguments.dataset):
        loaded = read_dataset(
            arguments.dataset, format=arguments.format, queries=arguments.queries, split=arguments.split
        )
        dataset = loaded.value
        files.append(_file_read(arguments.dataset, loaded, counted(len(dataset.questions), "question")))
    if arguments.mapping is not None:
        if isinstance(dataset, str):
            raise UsageError("--mapping goes with a data set in a file; a stored set has its own")
        mapping = read_mapping(arguments.mapping)
        merged = {**dataset.evidence_mapping, **mapping.value}
        dataset = msgspec.structs.replace(dataset, evidence_mapping=merged)
        files.append(
            _file_read(arguments.mapping, mapping, counted(len(mapping.value), "mapped piece") + " of evidence")
        )
    if arguments.collection is not None:
        search = _search(arguments)
        return Inputs(dataset=dataset, rankings={}, search=search, options=_options(arguments), files=files)
    if arguments.top_k is not None or arguments.where is not None:
        raise UsageError("--top-k and --where say how a collection is searched: they need --collection")
    rankings = read_rankings(arguments.rankings, format=arguments.rankings_format)
    files.append(_file_read(arguments.rankings, rankings, counted(len(rankings.value), "ranking")))
    return Inputs(dataset=dataset, rankings=rankings.value, options=_options(arguments), files=files)


def _search(arguments: argparse.Namespace) -> RetrievalOptions:
    """What the service is to search for: as many chunks as the largest cutoff looks at, unless told otherwise."""
    if arguments.rankings_format or arguments.index_chunk_ids:
        raise UsageError("--rankings-format and --index-chunk-ids belong to --rankings; a collection knows its chunks")
    top_k = max(arguments.k) if arguments.top_k is None else arguments.top_k
    return RetrievalOptions(collection=arguments.collection, top_k=top_k, where=arguments.where)


def _file_read(path: str, loaded: Loaded[Any], size: str) -> FileRead:
    return FileRead(f"{path} ({loaded.format}): {size}", loaded.notes)


def is_file(given: str) -> bool:
    """Whether a file is meant: it is there, or it is named like one. A plain folder does not hide a stored set."""
    named_like_one = Path(given).suffix.lower() in FILE_EXTENSIONS or os.sep in given
    is_beir = any(os.path.isfile(os.path.join(given, name)) for name in ("queries.jsonl", "queries.jsonl.gz"))
    return named_like_one or is_beir or (os.path.exists(given) and not os.path.isdir(given))


def _is_name(given: str) -> bool:
    try:
        msgspec.convert(given, DatasetReference)
    except msgspec.ValidationError:
        return False
    return True


def _options(arguments: argparse.Namespace) -> RetrieveEvalKeywords:
    options: dict[str, Any] = {
        "k": arguments.k,
        "level": arguments.level,
        "split": arguments.split,
        "tags": arguments.tag or None,
        "metrics": arguments.metrics,
        "confidence": arguments.confidence,
        "seed": arguments.seed,
        "run": arguments.run_name,
        "replace_run": arguments.replace_run,
        "config": read_config(arguments.config) if arguments.config else None,
        "index_chunk_ids": read_ids(arguments.index_chunk_ids).value if arguments.index_chunk_ids else None,
    }
    return cast(RetrieveEvalKeywords, options)


def _measure(arguments: argparse.Namespace, inputs: Inputs) -> bytes:
    try:
        body = retrieve_eval_body(inputs.dataset, inputs.search or inputs.rankings, **inputs.options)
    except UnicodeEncodeError as error:
        raise UsageError(f"{error.object!r} on the command line is no UTF-8 text") from error
    url = arguments.url if arguments.url is not None else os.environ.get("BEFUND_URL", "")
    if url:
        with _progress():
            return _ask(url, body)
    if inputs.search is None:
        print("befund: no service named (--url, BEFUND_URL): measuring in this process", file=sys.stderr)
    needs_kept = inputs.search is not None or isinstance(inputs.dataset, str) or arguments.run_name is not None
    with _progress():
        if not needs_kept:
            return _measure_here(body)
        try:
            return asyncio.run(_measure_kept(body, stores=arguments.run_name is not None))
        except ProblemError as error:
            if error.problem.type != "/problems/unknown-dataset":
                raise
            raise UsageError(f"{inputs.dataset}: no such file, no BEIR folder. {error}") from error


def _ask(url: str, body: bytes) -> bytes:
    try:
        client = Client(url)
    except ValueError as error:
        raise UsageError(str(error)) from error
    with client:
        return client.post("/retrieve-eval", body)


async def _measure_kept(body: bytes, *, stores: bool) -> bytes:
    """Measure what needs the data folder: a collection, a stored data set, a run to be stored."""
    from befund.here import service
    from befund.settings import SettingsError

    try:
        async with service(None, stores=stores) as client:
            return await client.post("/retrieve-eval", body)
    except SettingsError as error:
        raise UsageError(str(error)) from error


def _measure_here(body: bytes) -> bytes:
    from befund.usecases.retrieve import evaluate_retrieval  # needs the server extra

    return msgspec.json.encode(evaluate_retrieval(body, clock=time.perf_counter))


def _decoded(wire: bytes) -> RetrieveEvalResponse:
    try:
        return msgspec.json.decode(wire, type=RetrieveEvalResponse)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"the answer is not what the contract says ({error}): is this a Befund service?") from error


def _progress() -> AbstractContextManager[Any]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("measuring")


def _print_json(wire: bytes, inputs: Inputs) -> None:
    for file in inputs.files:
        for line in (file.summary, *file.notes):
            print(f"befund: {literal(line)}", file=sys.stderr)
    sys.stdout.flush()
    sys.stdout.buffer.write(wire + b"\n")
    sys.stdout.buffer.flush()


def print_report(answer: RetrieveEvalResponse, inputs: Inputs, *, largest: int, console: Console) -> None:
    """Print what was read and the tables."""
    from rich.text import Text

    from befund.terminal.retrieval import below, report, section

    read = (below(Text(literal(file.summary)), *(Text(literal(note)) for note in file.notes)) for file in inputs.files)
    if inputs.files:
        console.print(section("Read", *read))
    level = inputs.options.get("level") or "chunk"
    for part in report(answer, texts=inputs.texts, largest=largest, width=console.width, level=level):
        console.print(part)
    if answer.run is not None:
        console.print(Text(f"Stored as run {literal(answer.run)}"))


def _print_notes(inputs: Inputs | None) -> None:
    """Say before what went wrong how the files were read: that may be why."""
    for file in inputs.files if inputs is not None else ():
        for note in file.notes:
            print(f"befund: {literal(file.summary)}: {literal(note)}", file=sys.stderr)


def _fail(error: Exception, code: int) -> int:
    print(f"befund: {literal(str(error))}", file=sys.stderr)
    return code
