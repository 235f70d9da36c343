"""`befund compare`: two runs, or rankings from files, question by question; gates give the exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import msgspec

from befund.cli.retrieve_eval import FAILED, NOT_MEASURABLE, is_file
from befund.contract import CompareResponse, Gate, Level, Verdict
from befund.core import errors
from befund.terminal.text import literal
from befund_client import (
    BefundError,
    FileError,
    ProblemError,
    SideLike,
    compare_body,
    read_dataset,
    read_gates,
    read_rankings,
)

EXIT: dict[Verdict | None, int] = {"pass": 0, "fail": 1, "inconclusive": 2, None: 0}
MOST_DIGITS = 19
FORMS = {"markdown": "Markdown", "junit": "JUnit XML", "html": "HTML page"}
CONFLICT = 409
UNMEASURABLE = frozenset({"no-shared-question", "no-known-question", "empty-dataset", "incomparable"})
"""Problems of what was measured; every other one that a request has is a mistake of who asks."""
SAID_HERE = {
    "Send dataset, or its name.": "Name a file or a stored data set with --dataset.",
    "Send the data set of the rankings.": "Name a file or a stored data set with --dataset.",
    "GET /runs lists": "befund runs list shows",
    "GET /datasets lists": "befund dataset list shows",
}
"""How advice to who sends requests reads on a command line."""

EPILOG = """\
A side is a stored run, or a file of rankings (then --dataset
names the questions). Gates come from a TOML, YAML or JSON file; without one
those of the service decide, or of the file that BEFUND_CONFIG names, if there
are some. --init-gates prints a file to begin with.

examples:
  befund compare --init-gates > gates.toml
  befund compare --baseline main --candidate pr-42 --gates gates.toml \\
    --markdown comment.md --junit befund.xml --html report.html
  befund compare --baseline main --baseline-k 3 --candidate main --candidate-k 5
  befund compare --dataset questions.jsonl --baseline old.json \\
    --candidate new.json --gates gates.toml

exit code: 0 pass (or no gates), 1 fail, 2 inconclusive or not measurable,
3 usage or service error
"""


class UsageError(Exception):
    """The command line asks for something that cannot be."""


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "compare",
        help="compare two runs question by question, and decide by gates",
        description="Compare two runs question by question, and decide by gates.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sides = parser.add_argument_group("what is compared")
    sides.add_argument("--baseline", metavar="RUN|FILE", help="what was")
    sides.add_argument("--candidate", metavar="RUN|FILE", help="what is to be")
    sides.add_argument("--baseline-k", type=_whole, metavar="K", help="the baseline's cutoff")
    sides.add_argument("--candidate-k", type=_whole, metavar="K", help="the candidate's cutoff")
    sides.add_argument("--dataset", metavar="FILE|NAME", help="the questions of rankings from files")
    how = parser.add_argument_group("how")
    how.add_argument("--gates", metavar="FILE", help="what decides: TOML, YAML or JSON")
    how.add_argument("--metrics", type=_names, metavar="NAMES", help="only these, beside those of gates: ndcg,recall@5")
    how.add_argument("--level", choices=get_args(Level), help="compare chunk ids or evidence ids")
    how.add_argument("--alpha", type=float, metavar="A", help="level of the tests (0.05)")
    how.add_argument("--seed", type=_whole, metavar="N", help="seed of resamples and sign flips (7)")
    how.add_argument("--strict", action="store_true", help="refuse sides that cannot be compared on everything")
    how.add_argument("--url", help="the service to ask; else BEFUND_URL, else the data folder is opened here")
    out = parser.add_argument_group("what comes out")
    out.add_argument("--markdown", metavar="FILE", help="write a comment for a pull request")
    out.add_argument("--junit", metavar="FILE", help="write JUnit XML, a test case a gate")
    out.add_argument("--html", metavar="FILE", help="write a page with plots")
    out.add_argument("--json", action="store_true", help="print the response as it came")
    out.add_argument("--init-gates", action="store_true", help="print a commented file of gates, and do nothing else")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare, write, print, and return the exit code."""
    if arguments.init_gates:
        print(gates_template(), end="")
        return 0
    from befund.settings import SettingsError

    try:
        wire = _compare(arguments)
        answer = _decoded(wire)
        _write(arguments, answer)
    except (UsageError, SettingsError, BefundError, errors.BefundError) as error:
        return _fail(error)
    if arguments.json:
        sys.stdout.flush()
        sys.stdout.buffer.write(wire + b"\n")
        sys.stdout.buffer.flush()
    else:
        from befund.terminal.comparison import report
        from befund.terminal.console import console

        out = console()
        for part in report(answer, width=out.width):
            out.print(part)
    if answer.verdict is None:
        print("befund: no gates were given (--gates): nothing was decided", file=sys.stderr)
    return EXIT[answer.verdict]


def gates_template() -> str:
    """The file that `--init-gates` prints."""
    return files("befund.cli").joinpath("gates.toml").read_text(encoding="utf-8")


def _compare(arguments: argparse.Namespace) -> bytes:
    for name in ("baseline", "candidate"):
        if getattr(arguments, name) is None:
            raise UsageError(f"--{name} is missing: name a run, or a file of rankings")
    all_files = all(map(is_file, filter(None, (arguments.baseline, arguments.candidate, arguments.dataset))))
    body = compare_body(
        _side(arguments.baseline, arguments.baseline_k),
        _side(arguments.candidate, arguments.candidate_k),
        dataset=_dataset(arguments),
        metrics=arguments.metrics,
        level=arguments.level,
        strict=arguments.strict,
        gates=None if arguments.gates is None else read_gates(arguments.gates),
        **{name: value for name in ("alpha", "seed") if (value := getattr(arguments, name)) is not None},
    )
    from befund.here import service_url

    url = service_url(arguments.url)
    if url is None and all_files:
        from befund.usecases.compare import compare_rankings  # needs the server extra

        own = _configured_gates() if arguments.gates is None else ()
        with _progress():
            return msgspec.json.encode(compare_rankings(body, gates=own))
    return _asked(url, body)


def _configured_gates() -> Sequence[Gate]:
    """The gates that a service with these settings would use."""
    from befund.settings import load_settings

    gates = load_settings(os.environ).settings.gates
    if gates:
        print("befund: no --gates: those of the file that BEFUND_CONFIG names decide", file=sys.stderr)
    return gates


def _asked(url: str | None, body: bytes) -> bytes:
    """The answer of the service at an address, or of the data folder, which is opened here."""
    from befund.here import data_folder, waiting_service

    if url is None:
        print(
            f"befund: no service named (--url, BEFUND_URL): using the data folder {literal(str(data_folder()))}",
            file=sys.stderr,
        )
    try:
        with waiting_service(url, stores=False) as client, _progress():
            return client.post("/compare", body)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _side(given: str, k: int | None) -> SideLike:
    cut = {} if k is None else {"k": k}
    if is_file(given):
        return {"rankings": read_rankings(given).value, **cut}
    return {"run": given, **cut}


def _dataset(arguments: argparse.Namespace) -> Any:
    if arguments.dataset is None:
        return None
    return read_dataset(arguments.dataset).value if is_file(arguments.dataset) else arguments.dataset


def _decoded(wire: bytes) -> CompareResponse:
    try:
        return msgspec.json.decode(wire, type=CompareResponse)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"the answer is not what the contract says ({error}): is this a Befund service?") from error


def _write(arguments: argparse.Namespace, answer: CompareResponse) -> None:
    """Write the other forms; here, from the same answer, so that all of them say the same."""
    for name in FORMS:
        path = getattr(arguments, name)
        if path is not None:
            try:
                Path(path).write_bytes(_form(name, answer))
            except OSError as error:
                raise FileError(path, f"it cannot be written ({error.strerror})") from error
            print(f"befund: {FORMS[name]} written to {literal(path)}", file=sys.stderr)


def _form(name: str, answer: CompareResponse) -> bytes:
    if name == "markdown":
        from befund.reports.comparison_markdown import comparison_markdown

        return comparison_markdown(answer)
    if name == "junit":
        from befund.reports.comparison_junit import comparison_junit

        return comparison_junit(answer)
    from befund.reports.comparison import comparison_page

    return comparison_page(answer)


def _progress() -> AbstractContextManager[Any]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("comparing")


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("names no metric; write it like ndcg,recall@5")
    return names


def _fail(error: Exception) -> int:
    said = str(error)
    for sent, typed in SAID_HERE.items():
        said = said.replace(sent, typed)
    print(f"befund: {literal(said)}", file=sys.stderr)
    return NOT_MEASURABLE if _is_unmeasurable(error) else FAILED


def _is_unmeasurable(error: Exception) -> bool:
    """Whether what was measured allows no comparison, rather than the question being wrong."""
    if isinstance(error, ProblemError):
        return error.status == CONFLICT or error.problem.type.rpartition("/")[2] in UNMEASURABLE
    return isinstance(error, errors.BefundError) and error.code in UNMEASURABLE
