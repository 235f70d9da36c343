"""Judged answers on a terminal: the tables, then what was wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import JudgeBatchResponse, JudgeItem, Judgment, Problem
from befund.terminal.retrieval import below, section
from befund.terminal.text import counted, literal, short_id, shortened

MOST_SHOWN = 20
_WORDS = {True: "yes", False: "no", None: "no verdict"}
_UNCLEAR = "unclear"


class Answer(Struct, frozen=True):
    """One answer and what came of it."""

    item: JudgeItem
    judgment: Judgment | None
    problem: Problem | None


def report(
    items: Sequence[JudgeItem], responses: Sequence[JudgeBatchResponse], *, width: int, examples: int = MOST_SHOWN
) -> Iterator[RenderableType]:
    """Everything a person should see of judged answers, in sections.

    Args:
        items: The answers as they were sent.
        responses: What the service answered, in parts of them.
        width: Columns there are.
        examples: How many of those that are wrong are shown at most.
    """
    results = [result for response in responses for result in response.results]
    answers = [Answer(item, each.judgment, each.problem) for item, each in zip(items, results, strict=True)]
    judged = [(answer, answer.judgment) for answer in answers if answer.judgment is not None]
    yield from _heading(answers, [judgment for _, judgment in judged])
    said = dict.fromkeys(finding.message for response in responses for finding in response.summary.findings)
    if said:
        yield section("Findings", *(Text(literal(message)) for message in said))
    if judged:
        yield section("Correct × faithful", _correct_by_faithful([judgment for _, judgment in judged]))
        yield section("Expected × observed behaviour", _behavior(judged))
    yield from _wrong(judged, width, examples)
    yield from _failed([answer for answer in answers if answer.problem is not None], examples)


def _heading(answers: Sequence[Answer], judged: Sequence[Judgment]) -> Iterator[RenderableType]:
    by = ", ".join(sorted({judgment.judge.name for judgment in judged})) or "nobody"
    failed = len(answers) - len(judged)
    lines = []
    for name in ("correct", "faithful", "behaved"):
        verdicts = [getattr(judgment, name) for judgment in judged]
        scored = sum(verdict is not None for verdict in verdicts)
        share = f" ({verdicts.count(True) / scored:.1%})" if scored else ""
        lines.append(Text(f"{name}: {verdicts.count(True)} of {scored}{share}, {len(verdicts) - scored} no verdict"))
    title = f"{counted(len(answers), 'answer')}: {len(judged)} judged by {literal(by)}, {failed} failed"
    yield section(title, *lines)


def _correct_by_faithful(judged: Sequence[Judgment]) -> Table:
    cells = Counter((judgment.correct, judgment.faithful) for judgment in judged)
    table = _table("correct", *(f"faithful: {word}" for word in _WORDS.values()))
    for correct, word in _WORDS.items():
        numbers = [cells[correct, faithful] for faithful in _WORDS]
        if any(numbers):
            table.add_row(Text(word), *(Text(str(number)) for number in numbers))
    return table


def _behavior(judged: Sequence[tuple[Answer, Judgment]]) -> Table:
    cells: Counter[tuple[str, str]] = Counter(
        (answer.item.expected_behavior or "not said", judgment.observed_behavior or _UNCLEAR)
        for answer, judgment in judged
    )
    order = ("answer", "clarify", "no_answer", "deny", "not said", _UNCLEAR)
    observed = [name for name in order if any(seen == name for _, seen in cells)]
    table = _table("expected", *observed)
    for expected in order:
        numbers = [cells[expected, name] for name in observed]
        if any(numbers):
            table.add_row(Text(expected), *(Text(str(number)) for number in numbers))
    return table


def _wrong(judged: Sequence[tuple[Answer, Judgment]], width: int, most: int) -> Iterator[RenderableType]:
    """What is wrong, first what is most wrong: not correct, not faithful, not behaved."""
    wrong = [pair for pair in judged if False in (pair[1].correct, pair[1].faithful, pair[1].behaved)]
    wrong.sort(key=lambda pair: [getattr(pair[1], name) is not False for name in ("correct", "faithful", "behaved")])
    if not wrong:
        return
    parts = [_example(answer, judgment, width) for answer, judgment in wrong[:most]]
    if len(wrong) > most:
        parts.append(Text(f"and {len(wrong) - most} more (--json lists all)"))
    yield section(f"Wrong: {counted(len(wrong), 'answer')}", *parts)


def _example(answer: Answer, judgment: Judgment, width: int) -> RenderableType:
    names = {"correct": "not correct", "faithful": "not faithful", "behaved": "not as expected"}
    failed = ", ".join(said for name, said in names.items() if getattr(judgment, name) is False)
    flags = f" [{', '.join(judgment.flags)}]" if judgment.flags else ""
    name = _name(answer.item)
    return below(
        Text.assemble((name, "bold"), f"  {failed}{flags}"),
        Text(shortened(judgment.reason, max(40, 2 * (width - 4)))),
    )


def _failed(answers: Sequence[Answer], most: int) -> Iterator[RenderableType]:
    if not answers:
        return
    parts = [
        Text(f"{_name(answer.item)}: {literal(answer.problem.detail)}") for answer in answers[:most] if answer.problem
    ]
    if len(answers) > most:
        parts.append(Text(f"and {len(answers) - most} more (--json lists all)"))
    yield section(f"Not judged: {counted(len(answers), 'answer')}", *parts)


def _name(item: JudgeItem) -> str:
    return short_id(item.question_id) if item.question_id else shortened(item.question or "?", 40)


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
