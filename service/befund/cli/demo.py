"""`befund demo`: start a service, measure runs, a live search and answers through it, show how to do the same."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

from befund.bundled import MissingDataError, bundled
from befund.cli import FAILED, judge, retrieve_eval
from befund.cli._demo_comparison import REPORT, show_comparison
from befund.cli._demo_diagnoses import show_diagnoses
from befund.cli._shown import near, own_name, wrapped
from befund.terminal.text import literal
from befund_client import BefundError, Client, read_answers, read_dataset

if TYPE_CHECKING:
    from rich.console import Console

START_SECONDS = 30
STOP_SECONDS = 10
LISTENS = "Befund listens on "
URL = "http://127.0.0.1:8080"
"""Where `befund serve` listens unless it is told otherwise."""
CURL = f"curl -s {URL}/retrieve-eval \\\n  -H 'Content-Type: application/json' -d"

TREC_WHAT = """\
Questions on the documentation of an invented company, searched by BM25 and judged in grades: how often do the right \
chunks come back, how far up, and how sure are the figures?"""
JSON_WHAT = """\
Synthetic questions with evidence, its mapping to chunks, and what the index holds: only those to be answered, with \
all their evidence in the index, are measured; the others are listed with the reason."""
LIVE_WHAT = """\
The bundled documents, cut and embedded, in a collection of the service; the questions of the split smoke searched in \
it. Whose evidence lies in documents that are not indexed is not measured."""
ANSWERS_WHAT = """\
One recorded answer to each question of the split smoke, judged by rules, without a model: is it right, does it follow \
from the context it was given, is it the behaviour that was expected? Many of these answers are wrong on purpose, so \
that there is something to find. Where the rules cannot tell, they say so."""
COLLECTION = "teralune_corpus"
WRONG_SHOWN = 2
FEW_METRICS = "hit_rate,precision,recall,mrr,ndcg"
"""What the later tables show; the first has all metrics."""
EXAMPLE = "Q006"
"""The question of the TREC run that the curl command asks; a short one."""


class Demonstration(Struct, frozen=True):
    """One measurement: what it shows, the options of `befund retrieve-eval`, and what to send by curl."""

    title: str
    what: str
    options: dict[str, str]
    curl_note: str
    curl: Callable[[retrieve_eval.Inputs], str]


class ServiceError(Exception):
    """The service did not start."""


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "demo",
        help="start a service, measure runs, a live search and answers through it, compare two cutoffs",
        description="Start a service on a free port, measure two bundled runs and a live search through it, judge "
        "recorded answers, diagnose what is wrong, compare two cutoffs, leave a page with plots, stop it.",
    )
    parser.add_argument("--report", metavar="FILE", default=REPORT, help=f"where the page goes ({REPORT})")
    parser.set_defaults(run=demo)


def demo(arguments: argparse.Namespace) -> int:
    """Show all measurements; the service ends with the command, however that ends."""
    import befund.server  # noqa: F401  (the service needs the server extra; here its absence is one clear line)
    from befund.terminal.console import console

    out = console()
    try:
        shown = demonstrations()
        with _service() as url:
            out.print(f"A Befund service runs on {url} until the end of this demonstration.\n")
            for demonstration in shown:
                _show(demonstration, url, out)
            _show_live(url, out)
            _show_answers(url, out)
            show_diagnoses(url, COLLECTION, out)
            show_comparison(url, Path(arguments.report), out)
    except (MissingDataError, ServiceError, BefundError) as error:
        print(f"befund: {literal(str(error))}", file=sys.stderr)
        return FAILED
    out.print("What next", style="bold")
    for command, use in (
        (f"{own_name()} serve", f"a service of your own; browse {URL}/schema"),
        (f"{own_name()} retrieve-eval --help", "measure your own files: JSON, JSONL, CSV, TREC, BEIR, ranx"),
        (f"{own_name()} judge --help", "judge your own answers, by rules or by a model"),
        (f"{own_name()} diagnose --help", "find out where your own answers went wrong"),
        (f"{own_name()} compare --init-gates", "gates for your CI: what a change must hold (docs/ci.md)"),
        (f"{own_name()} ingest --help", "your own documents into a collection, to be searched live"),
    ):
        out.print(f"  {command}\n    {use}", soft_wrap=True)
    return 0


def demonstrations() -> list[Demonstration]:
    """Both measurements of bundled runs."""
    trec = {"--dataset": "demo/teralune.qrels", "--queries": "teralune/questions.jsonl"}
    trec |= {"--rankings": "demo/teralune-bm25.run"}
    run = dict.fromkeys(("--dataset", "--rankings", "--index-chunk-ids"), "demo/smoke_run.json")
    data = bundled(*trec.values(), *run.values())
    trec = {option: near(data / file) for option, file in trec.items()}
    run = {option: near(data / file) for option, file in run.items()}
    return [
        Demonstration(
            title="1. A TREC run with its judgements",
            what=TREC_WHAT,
            options=trec | {"--k": "1,3,5,10"},
            curl_note=f"Over HTTP, as JSON; here {EXAMPLE} alone, with `befund serve` running:",
            curl=_curl_example,
        ),
        Demonstration(
            title="2. A JSON run with its index",
            what=JSON_WHAT,
            options=run | {"--k": "3,5", "--metrics": FEW_METRICS},
            curl_note="Over HTTP, with `befund serve` running, the whole file:",
            curl=lambda inputs: _curl_file(run["--dataset"]),
        ),
    ]


def _show(demonstration: Demonstration, url: str, out: Console) -> None:
    """Measure over HTTP what the printed command measures: it is that command that is parsed."""
    import httpx

    command = [word for option in demonstration.options.items() for word in option]
    given = retrieve_eval.parse(command)
    inputs = retrieve_eval.read(given)
    out.print(demonstration.title, style="bold")
    out.print(f"{demonstration.what}\n\nThe same by hand:\n")
    out.print(wrapped([own_name(), "retrieve-eval"], demonstration.options), soft_wrap=True)
    out.print(f"\n{demonstration.curl_note}\n")
    out.print(demonstration.curl(inputs) + "\n", soft_wrap=True)
    with Client(url, transport=httpx.HTTPTransport()) as client:  # a transport of its own passes every proxy by
        answer = client.retrieve_eval(inputs.dataset, inputs.rankings, **inputs.options)
    retrieve_eval.print_report(answer, inputs, largest=max(given.k), console=out)


def _show_live(url: str, out: Console) -> None:
    """Bring the bundled documents into the service, and measure what it finds in them."""
    import httpx

    from befund.adapters.folder import read_folder

    paths = {"--dataset": "teralune/questions.jsonl", "--mapping": "teralune/evidence_mapping.json"}
    data = bundled(*paths.values(), "teralune/documents")
    options = {option: near(data / file) for option, file in paths.items()}
    options |= {"--collection": COLLECTION, "--split": "smoke", "--k": "1,3,5,10", "--metrics": FEW_METRICS}
    given = retrieve_eval.parse([word for option in options.items() for word in option])
    inputs = retrieve_eval.read(given)
    folder = read_folder(data / "teralune" / "documents")
    out.print("3. A live search over documents", style="bold")
    out.print(f"{LIVE_WHAT}\n\nThe same by hand:\n")
    out.print(f"{own_name()} ingest --bundled", soft_wrap=True)
    out.print(wrapped([own_name(), "retrieve-eval"], options) + "\n", soft_wrap=True)
    with Client(url, transport=httpx.HTTPTransport()) as client:
        done = client.ingest(COLLECTION, (file.document() for file in folder.files))
        answer = client.retrieve_eval(inputs.dataset, inputs.search or {}, **inputs.options)
    out.print(
        f"Ingested: {done.documents.added} documents in {done.chunks} chunks; "
        f"{sum(folder.others.values())} other files are not read.\n"
    )
    retrieve_eval.print_report(answer, inputs, largest=max(given.k), console=out)


def _show_answers(url: str, out: Console) -> None:
    """Judge the bundled answers over HTTP."""
    import httpx

    from befund.terminal.judgments import report

    answers, questions = "teralune/answers.jsonl", "teralune/questions.jsonl"
    data = bundled(answers, questions)
    options = {"judge": near(data / answers), "--dataset": near(data / questions), "--split": "smoke"}
    loaded = read_answers(data / answers)
    items = judge.completed(loaded.value, read_dataset(data / questions).value, split="smoke")
    out.print("4. Answers", style="bold")
    out.print(f"{ANSWERS_WHAT}\n\nThe same by hand:\n")
    out.print(wrapped([own_name()], options) + "\n", soft_wrap=True)
    with Client(url, transport=httpx.HTTPTransport()) as client:
        answer = client.judge_batch(items, judge="rules")
    for part in report(items, [answer], width=out.width, examples=WRONG_SHOWN):
        out.print(part)


def _curl_example(inputs: retrieve_eval.Inputs) -> str:
    """Write a small request that asks for one question, with the first three chunks of its ranking."""
    question = next(question for question in inputs.questions if question.id == EXAMPLE)
    ids = [entry if isinstance(entry, str) else entry.id for entry in inputs.rankings[EXAMPLE][:3]]
    body = f"""\
{{"dataset": {{"questions": [
  {{"id": "{EXAMPLE}", "relevant": {_json(question.relevant)},
   "question": {_json(question.question)}}}]}},
 "retrieval": {{"rankings": {{"{EXAMPLE}":
  {_json(ids)}}}}}, "k": [1, 3]}}"""
    return f"{CURL} {shlex.quote(body)}"


def _curl_file(file: str) -> str:
    """Make the file a request and send it. By Python, since not everybody has jq."""
    return f"""\
python3 -c '
import json, sys
run = json.load(sys.stdin)
body = {{"dataset": run["dataset"], "index_chunk_ids": run["index_chunk_ids"]}}
body |= {{"retrieval": {{"rankings": run["rankings"]}}, "k": [3, 5]}}
body["metrics"] = {json.dumps(FEW_METRICS.split(","))}
print(json.dumps(body))' < {shlex.quote(file)} |
{CURL} @-"""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@contextmanager
def _service() -> Iterator[str]:
    """Run a service with a folder of its own on a free port; give its address, and stop it in the end."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("BEFUND_")}
    command = [sys.executable, "-m", "befund", "serve", "--port", "0"]
    with (
        _ended_by_exception(signal.SIGINT, signal.SIGTERM),
        tempfile.TemporaryDirectory() as environ["BEFUND_DATA_DIR"],
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as data,
        subprocess.Popen(  # noqa: S603  (our own)
            command, env=environ | {"BEFUND_DATA_DIR": data}, stdout=subprocess.PIPE, stderr=log, text=True
        ) as child,
    ):
        try:
            yield _address(child, log)
        finally:
            _stop(child)


def _address(child: subprocess.Popen[str], log: IO[str]) -> str:
    """Wait for the line that says where the service listens."""
    impatience = threading.Timer(START_SECONDS, child.kill)
    impatience.start()
    try:
        line = child.stdout.readline() if child.stdout else ""
    finally:
        impatience.cancel()
    if line.startswith(LISTENS):
        return line.removeprefix(LISTENS).strip()
    _stop(child)
    log.seek(0)
    said = log.read().strip().splitlines() or [f"no word from it in {START_SECONDS} seconds"]
    raise ServiceError(f"the service did not start: {said[-1]}")


def _stop(child: subprocess.Popen[str]) -> None:
    """End the service; its own way first."""
    child.terminate()
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


@contextmanager
def _ended_by_exception(*numbers: signal.Signals) -> Iterator[None]:
    """Let signals that would end this process at once run what has to be done before.

    Python drops an exception that falls into a finaliser: the signal is sent again then.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if isinstance(what.exc_value, SystemExit):
            threading.Timer(0.1, os.kill, (os.getpid(), int(str(what.exc_value)) - 128)).start()
        else:
            sys.__unraisablehook__(what)

    before = [signal.signal(number, end) for number in numbers]
    hook, sys.unraisablehook = sys.unraisablehook, dropped
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
