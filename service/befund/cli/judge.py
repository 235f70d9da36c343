"""`befund judge`: judge recorded answers, through a service or in this process."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any, TypeVar

import msgspec

from befund.cli.retrieve_eval import FAILED, MEASURED, NOT_MEASURABLE, UNMEASURABLE_STATUSES, is_file
from befund.contract import Dataset, JudgeBatchResponse, JudgeItem
from befund.core import errors
from befund.terminal.text import counted, listed, literal
from befund_client import AsyncClient, BefundError, Loaded, ProblemError, read_answers, read_config, read_dataset

AT_ONCE = 200
"""Answers of one request, as many as the service takes."""
EPILOG = """\
files:
  Answers are JSON (a list, or {"items": [...]}), JSONL or CSV; gzipped too.
  Each has an answer, and the question, context, expected_facts,
  reference_answers and expected_behavior that belong to it; or question_id
  alone, for a question of the data set. The names of ragas and deepeval are
  known too.

examples:
  befund judge answers.jsonl
  befund judge answers.jsonl --dataset questions.jsonl --split smoke
  befund judge answers.jsonl --dataset teralune --run pr-42 \\
    --url http://127.0.0.1:8080

Answers go in requests of 200; --json prints the response to each on a line.

How far a judge agrees with people is told by: befund judge calibrate

exit code: 0 judged, 2 not measurable, 3 usage or service error
"""

Item = TypeVar("Item", bound=JudgeItem)


class UsageError(Exception):
    """The command line asks for something that cannot be."""


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "judge",
        help="judge recorded answers: correct, faithful, expected behaviour",
        description="Judge recorded answers: correct, faithful to their context, as expected?",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("answers", metavar="FILE", help="the answers")
    add_judging(parser)
    parser.add_argument("--max-cost", type=dollars, metavar="USD", help="begin no answer that would cost more")
    parser.add_argument("--canary", action="store_true", help="send an answer along whose verdicts are known")
    parser.add_argument("--run", dest="run_name", metavar="NAME", help="store the judgments under this name")
    parser.add_argument("--replace-run", action="store_true", help="begin that run anew if it differs")
    parser.add_argument("--config", metavar="FILE", help="what was measured, as a JSON object")
    add_service(parser)
    parser.add_argument("--json", action="store_true", help="print the responses as they came")
    parser.set_defaults(run=run)


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add what says who judges, and what the answers belong to."""
    parser.add_argument("--dataset", metavar="FILE|NAME", help="questions of the answers: a file, or a stored set")
    parser.add_argument("--split", help="only answers to questions of this split")
    parser.add_argument("--judge", metavar="NAME", help="who judges; else the service's default")
    parser.add_argument("--votes", type=_votes, metavar="N", help="independent samples; the majority counts (1)")
    parser.add_argument("--force-verdict", action="store_true", help="decide where rules would abstain")
    parser.add_argument("--no-cache", action="store_true", help="let nothing judged before count")


def add_service(parser: argparse.ArgumentParser) -> None:
    """Add which service judges."""
    parser.add_argument("--url", help="the service to ask; else BEFUND_URL, else judge in this process")


def run(arguments: argparse.Namespace) -> int:
    """Judge, print, and return the exit code."""
    return reporting_errors(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    loaded = read_answers(arguments.answers)
    items, responses = asyncio.run(_judge(arguments, loaded.value))
    if arguments.json:
        for line in (_summary(arguments, loaded), *loaded.notes):
            print(f"befund: {literal(line)}", file=sys.stderr)
        for response in responses:
            print(msgspec.json.encode(response).decode())
    else:
        print_report(items, responses, read=_summary(arguments, loaded), notes=loaded.notes)
    judged = any(result.judgment is not None for response in responses for result in response.results)
    return MEASURED if judged else NOT_MEASURABLE


def print_report(
    items: Sequence[JudgeItem], responses: Sequence[JudgeBatchResponse], *, read: str, notes: Sequence[str]
) -> None:
    """Print what was read and the tables."""
    from rich.text import Text

    from befund.terminal.console import console
    from befund.terminal.judgments import report
    from befund.terminal.retrieval import below, section

    out = console()
    out.print(section("Read", below(Text(literal(read)), *(Text(literal(note)) for note in notes))))
    for part in report(items, responses, width=out.width):
        out.print(part)


def completed(items: Sequence[Item], dataset: Dataset, *, split: str | None) -> list[Item]:
    """The answers to questions of a data set (of one split), with what it says of them.

    Raises:
        ValueError: An answer belongs to no question of it.
    """
    questions = {question.id: question for question in dataset.questions}
    unknown = dict.fromkeys(item.question_id for item in items if item.question_id not in questions)
    if None in unknown:
        raise ValueError("an answer has no question_id, which says which question of the data set it answers")
    if unknown:
        raise ValueError(f"the data set has no question {listed([name for name in unknown if name])}")
    found = []
    for item in items:
        question = questions[item.question_id or ""]
        if split is not None and question.split != split:
            continue
        known = {
            "question": question.question,
            "expected_facts": list(question.expected_facts),
            "reference_answers": list(question.reference_answers),
            "expected_behavior": question.expected_behavior,
            "role": question.role,
        }
        given = {name: value for name, value in known.items() if getattr(item, name) is None}
        found.append(msgspec.structs.replace(item, **given))
    if not found:
        raise ValueError(f"no answer belongs to a question of split {split!r}")
    return found


async def _judge(
    arguments: argparse.Namespace, items: Sequence[JudgeItem]
) -> tuple[Sequence[JudgeItem], list[JudgeBatchResponse]]:
    if arguments.run_name and arguments.dataset is not None and is_file(arguments.dataset):
        raise UsageError("--run needs a stored data set: store the file with befund dataset put, and name it")
    items, dataset = with_questions(items, arguments)
    options: dict[str, Any] = {
        "judge": arguments.judge,
        "votes": arguments.votes,
        "use_cache": False if arguments.no_cache else None,
        "force_verdict": arguments.force_verdict or None,
        "dataset": dataset,
        "canary": arguments.canary or None,
        "run": arguments.run_name,
        "config": read_config(arguments.config) if arguments.config else None,
    }
    responses = []
    async with judging(arguments, stores=bool(arguments.run_name)) as client:
        items = await with_stored_questions(client, items, arguments, dataset)
        left = arguments.max_cost
        for place, part in enumerate(_parts(items)):
            replaces = arguments.replace_run and place == 0
            answer = await client.judge_batch(part, **options, replace_run=replaces, max_cost_usd=left)
            responses.append(answer)
            if left is not None:
                left = max(left - (answer.summary.usage.cost_usd or 0.0), 1e-9)
    return items, responses


def with_questions(items: Sequence[Item], arguments: argparse.Namespace) -> tuple[Sequence[Item], str | None]:
    """The answers, completed from a data set that is a file; else with the name of the stored one.

    Raises:
        UsageError: A split is named and no data set.
    """
    dataset: str | None = arguments.dataset
    if dataset is not None and is_file(dataset):
        return completed(items, read_dataset(dataset).value, split=arguments.split), None
    if arguments.split is not None and dataset is None:
        raise UsageError("--split goes with --dataset, which says what belongs to it")
    return items, dataset


async def with_stored_questions(
    client: AsyncClient, items: Sequence[Item], arguments: argparse.Namespace, dataset: str | None
) -> Sequence[Item]:
    """The answers to questions of one split of a stored data set, where one is named."""
    if dataset is None or arguments.split is None:
        return items
    return completed(items, await client.dataset(dataset), split=arguments.split)


@asynccontextmanager
async def judging(arguments: argparse.Namespace, *, stores: bool, work: str = "judging") -> AsyncIterator[AsyncClient]:
    """The service that is named, or one in this process; on a terminal, a sign that this work goes on."""
    from befund.here import service

    url = arguments.url or os.environ.get("BEFUND_URL")
    if not url:
        print(f"befund: no service named (--url, BEFUND_URL): {work} in this process", file=sys.stderr)
    with _progress(work):
        async with service(url, stores=stores) as client:
            yield client


def reporting_errors(run: Callable[[], int]) -> int:
    """Run, and give the exit code; what goes wrong is one line."""
    try:
        return run()
    except ProblemError as error:
        return _fail(error, NOT_MEASURABLE if error.status in UNMEASURABLE_STATUSES else FAILED)
    except errors.BefundError as error:
        return _fail(error, NOT_MEASURABLE if isinstance(error, errors.ContradictionError) else FAILED)
    except (UsageError, BefundError, ValueError) as error:
        return _fail(error, FAILED)


def _parts(items: Sequence[JudgeItem]) -> Iterator[Sequence[JudgeItem]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))


def _summary(arguments: argparse.Namespace, loaded: Loaded[list[JudgeItem]]) -> str:
    return f"{arguments.answers} ({loaded.format}): {counted(len(loaded.value), 'answer')}"


def _votes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:3]) <= 25:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of votes; it is between 1 and 25")
    return int(text)


def dollars(text: str) -> float:
    """Read an amount from the command line."""
    try:
        dollars = float(text)
    except ValueError:
        dollars = 0.0
    if not 0 < dollars < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount in US dollars; write it like 0.50")
    return dollars


def _progress(work: str) -> AbstractContextManager[Any]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(work)


def _fail(error: object, code: int) -> int:
    print(f"befund: {literal(str(error))}", file=sys.stderr)
    return code
