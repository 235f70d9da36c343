"""`befund diagnose`: say where answers went wrong, one with its stages or a file with the worst first."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from befund.cli.judge import UsageError, dollars, judging, reporting_errors
from befund.cli.retrieve_eval import FAILED, MEASURED, NOT_MEASURABLE, UNMEASURABLE_STATUSES, is_file
from befund.contract import Dataset, DiagnoseBatchResponse, DiagnoseItem
from befund.terminal.text import counted, literal
from befund_client import ProblemError, read_cases, read_config, read_dataset, read_mapping

AT_ONCE = 1_000
"""Answers of one request, as many as the service takes."""
EPILOG = """\
files:
  Answers are JSON (one, a list, or {"items": [...]}) or JSONL; gzipped too.
  Each has an answer and its context; retrieved, the ranking before; and what is
  right: question, expected_facts, evidence or relevant; or question_id alone,
  for a question of the data set.

examples:
  befund diagnose answers.jsonl --dataset teralune \\
    --collection teralune_corpus --url http://127.0.0.1:8080
  befund diagnose answers.jsonl --dataset teralune --question Q002
  befund diagnose answers.jsonl --dataset questions.jsonl \\
    --mapping evidence_mapping.json

exit code: 0 every answer was diagnosed, 2 one cannot be (it lacks something,
or contradicts itself or its run), 3 usage or service error, if only for one
"""


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "diagnose",
        help="say where answers went wrong, and what to do first",
        description="Say where answers went wrong: at which stage, for which cause, and what to do first.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("answers", metavar="FILE", help="the answers")
    parser.add_argument("--question", metavar="ID", help="only the answer to this question, with all stages")
    parser.add_argument("--dataset", metavar="FILE|NAME", help="questions of the answers: a file, or a stored set")
    parser.add_argument("--mapping", metavar="FILE", help="evidence ids to chunk ids, with a data set that is a file")
    parser.add_argument("--split", help="only answers to questions of this split")
    parser.add_argument("--collection", metavar="NAME", help="look into this collection for the cause")
    parser.add_argument("--top-k", type=_top_k, metavar="K", help="how many chunks the retrieval gave")
    parser.add_argument("--where", type=_where, metavar="JSON", help="the filter of the retrieval, as Chroma writes it")
    parser.add_argument("--judge", metavar="NAME", help="who judges; else the service's default")
    parser.add_argument("--max-cost", type=dollars, metavar="USD", help="judge no answer that would cost more")
    parser.add_argument("--run", dest="run_name", metavar="NAME", help="store what is found under this name")
    parser.add_argument("--replace-run", action="store_true", help="begin that run anew if it differs")
    parser.add_argument("--config", metavar="FILE", help="what was measured, as a JSON object")
    parser.add_argument("--url", help="the service to ask; else BEFUND_URL, else diagnose in this process")
    parser.add_argument("--json", action="store_true", help="print the responses as they came")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Diagnose, print, and return the exit code."""
    from befund.terminal.diagnoses import said_of

    def reporting() -> int:
        try:
            return _run(arguments)
        except ProblemError as error:
            if (said := said_of(error.problem)) == error.problem.detail:
                raise
            raise UsageError(said) from error

    return reporting_errors(reporting)


def _run(arguments: argparse.Namespace) -> int:
    loaded = read_cases(arguments.answers)
    items, responses = asyncio.run(_diagnose(arguments, loaded.value))
    read = f"{arguments.answers} ({loaded.format}): {counted(len(loaded.value), 'answer')}"
    if arguments.json:
        for line in (read, *loaded.notes):
            print(f"befund: {literal(line)}", file=sys.stderr)
        for response in responses:
            print(msgspec.json.encode(response).decode())
    else:
        _print(items, responses, read=read, notes=loaded.notes)
    problems = [result.problem for response in responses for result in response.results if result.problem is not None]
    return max((_exit_code(problem.status) for problem in problems), default=MEASURED)


def _exit_code(status: int) -> int:
    """What an answer that was not diagnosed makes of the command's exit code, by the status of its problem."""
    return NOT_MEASURABLE if status in UNMEASURABLE_STATUSES else FAILED


def completed(
    items: Sequence[DiagnoseItem], dataset: Dataset, *, mapping: Mapping[str, list[str]], split: str | None
) -> list[DiagnoseItem]:
    """The answers to questions of a data set (of one split), with what it says of them.

    Raises:
        ValueError: An answer belongs to no question of it.
    """
    questions = {question.id: question for question in dataset.questions}
    found = []
    for item in items:
        question = questions.get(item.question_id or "")
        if question is None:
            raise ValueError(f"the data set has no question {item.question_id!r}")
        if split is not None and question.split != split:
            continue
        own = {each.id: mapping[each.id] for each in question.evidence if each.id in mapping}
        known = {
            "question": question.question,
            "expected_facts": list(question.expected_facts),
            "reference_answers": list(question.reference_answers),
            "expected_behavior": question.expected_behavior,
            "role": question.role,
            "evidence": list(question.evidence) or None,
            "relevant": question.relevant or None,
            "non_relevant": list(question.non_relevant),
            "evidence_mapping": own if mapping else None,
        }
        given = {name: value for name, value in known.items() if getattr(item, name) is None and value is not None}
        found.append(msgspec.structs.replace(item, **given))
    if not found:
        raise ValueError(f"no answer belongs to a question of split {split!r}")
    return found


async def _diagnose(
    arguments: argparse.Namespace, items: Sequence[DiagnoseItem]
) -> tuple[Sequence[DiagnoseItem], list[DiagnoseBatchResponse]]:
    items, dataset = _chosen(arguments, items)
    options: dict[str, Any] = {
        "judge": arguments.judge,
        "dataset": dataset,
        "collection": arguments.collection,
        "top_k": arguments.top_k,
        "where": arguments.where,
        "run": arguments.run_name,
        "config": read_config(arguments.config) if arguments.config else None,
    }
    responses = []
    async with judging(arguments, stores=bool(arguments.run_name), work="diagnosing") as client:
        if dataset is not None and arguments.split is not None:
            stored = await client.dataset(dataset)
            split = {question.id for question in stored.questions if question.split == arguments.split}
            items = [item for item in items if item.question_id in split]
            if not items:
                raise ValueError(f"no answer belongs to a question of split {arguments.split!r}")
        left = arguments.max_cost
        for place, part in enumerate(_parts(items)):
            replaces = arguments.replace_run and place == 0
            answer = await client.diagnose_batch(part, **options, replace_run=replaces, max_cost_usd=left)
            responses.append(answer)
            if left is not None:
                left = max(left - (answer.summary.usage.cost_usd or 0.0), 1e-9)
    return items, responses


def _chosen(arguments: argparse.Namespace, items: Sequence[DiagnoseItem]) -> tuple[Sequence[DiagnoseItem], str | None]:
    """The answers that are asked about, and the data set that the service is to look them up in."""
    if arguments.question is not None:
        items = [item for item in items if item.question_id == arguments.question]
        if not items:
            raise UsageError(f"no answer in the file is to question {arguments.question!r}")
    dataset: str | None = arguments.dataset
    if dataset is not None and is_file(dataset):
        if arguments.run_name:
            raise UsageError("--run needs a stored data set: store the file (befund dataset put), and name it")
        loaded = read_dataset(dataset).value
        mapping = read_mapping(arguments.mapping).value if arguments.mapping else loaded.evidence_mapping
        return completed(items, loaded, mapping=mapping, split=arguments.split), None
    if arguments.mapping is not None:
        raise UsageError("--mapping goes with a data set that is a file; a stored one has its own")
    if arguments.split is not None and dataset is None:
        raise UsageError("--split goes with --dataset, which says what belongs to it")
    return items, dataset


def _print(
    items: Sequence[DiagnoseItem], responses: Sequence[DiagnoseBatchResponse], *, read: str, notes: Sequence[str]
) -> None:
    from rich.text import Text

    from befund.terminal.console import console
    from befund.terminal.diagnoses import case_report, cases_of, name_of, report
    from befund.terminal.retrieval import below, section

    out = console()
    out.print(section("Read", below(Text(literal(read)), *(Text(literal(note)) for note in notes))))
    cases = cases_of(items, responses)
    alone = cases[0] if len(cases) == 1 else None
    if alone is not None and alone.diagnosis is not None:
        name = name_of(alone.item)
        parts = case_report(alone.diagnosis, name=name, answer=alone.item.answer, width=out.width)
    else:
        parts = report(cases, width=out.width)
    for part in parts:
        out.print(part)


def _parts(items: Sequence[DiagnoseItem]) -> Iterator[Sequence[DiagnoseItem]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))


def _top_k(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:7]) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of chunks from 1 to 100000")
    return int(text)


def _where(text: str) -> dict[str, Any]:
    try:
        where = json.loads(text)
    except ValueError:
        where = None
    if not isinstance(where, dict):
        raise argparse.ArgumentTypeError(f'{text!r} is no filter; write it like {{"version": "3.0"}}')
    return where
