"""Judged answers on a terminal: the tables, then what was wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from befund.contract import JudgeBatchResponse, JudgeItem, Judgment, Problem
from befund.core.proportions import pooled
from befund.terminal.rates import count_table, interval_notes, rates_table
from befund.terminal.retrieval import below, section
from befund.terminal.text import counted, listed, literal, short_id, shortened, shortened_at_word

MOST_SHOWN = 20
_WORDS = {True: "yes", False: "no", None: "no verdict"}
_UNCLEAR = "unclear"
_DIMENSIONS = ("correct", "faithful", "behaved")
_WITHOUT_VERDICT = {"abstained": "abstained", "not_evaluable": "not\nevaluable", "failed": "failed"}
_CONFIDENCE = 0.95
_LONGEST_REASON = 300
_SHORTEST = 40


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
    yield from _heading(answers, [judgment for _, judgment in judged], responses)
    said = dict.fromkeys(finding.message for response in responses for finding in response.summary.findings)
    if said:
        yield section("Findings", *(Text(literal(message)) for message in said))
    if judged:
        yield section("Correct × faithful", _correct_by_faithful([judgment for _, judgment in judged]))
        yield section("Expected × observed behaviour", _behavior(judged))
    yield from _wrong(judged, width, examples)
    yield from _left_open(judged, width, examples)
    yield from _failed([answer for answer in answers if answer.problem is not None], examples)


def _heading(
    answers: Sequence[Answer], judged: Sequence[Judgment], responses: Sequence[JudgeBatchResponse]
) -> Iterator[RenderableType]:
    by = ", ".join(sorted({judgment.judge.name for judgment in judged})) or "nobody"
    failed = len(answers) - len(judged)
    title = f"{counted(len(answers), 'answer')}: {len(judged)} judged by {literal(by)}, {failed} failed"
    if not judged:
        yield section(title)
        return
    parts = [response.summary.rates for response in responses if response.summary.rates]
    names = list(dict.fromkeys(name for rates in parts for name in rates))
    rates = {name: pooled([part[name] for part in parts if name in part], confidence=_CONFIDENCE) for name in names}
    yield section(title, rates_table(rates, _without_verdict(judged)), *interval_notes(rates))


def _without_verdict(judged: Sequence[Judgment]) -> dict[str, dict[str, int]]:
    """How many answers got no verdict on each dimension, by the reason; only reasons there are."""
    counts = {
        heading: {name: sum(getattr(judgment.status, name) == status for judgment in judged) for name in _DIMENSIONS}
        for status, heading in _WITHOUT_VERDICT.items()
    }
    return {heading: column for heading, column in counts.items() if any(column.values()) or heading == "abstained"}


def _correct_by_faithful(judged: Sequence[Judgment]) -> Table:
    cells = Counter((judgment.correct, judgment.faithful) for judgment in judged)
    table = count_table("correct", *(f"faithful: {word}" for word in _WORDS.values()))
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
    table = count_table("expected", *observed)
    for expected in order:
        numbers = [cells[expected, name] for name in observed]
        if any(numbers):
            table.add_row(Text(expected), *(Text(str(number)) for number in numbers))
    return table


def _wrong(judged: Sequence[tuple[Answer, Judgment]], width: int, most: int) -> Iterator[RenderableType]:
    """What is wrong, first what is most wrong: not correct, not faithful, not behaved."""
    wrong = [pair for pair in judged if False in (pair[1].correct, pair[1].faithful, pair[1].behaved)]
    wrong.sort(key=lambda pair: [getattr(pair[1], name) is not False for name in _DIMENSIONS])
    names = {"correct": "not correct", "faithful": "not faithful", "behaved": "not as expected"}

    def said(judgment: Judgment) -> str:
        return ", ".join(words for name, words in names.items() if getattr(judgment, name) is False)

    yield from _examples(f"Wrong: {counted(len(wrong), 'answer')}", wrong, said, width, most)


def _left_open(judged: Sequence[tuple[Answer, Judgment]], width: int, most: int) -> Iterator[RenderableType]:
    """What the judge abstained on, of answers in which nothing is wrong; those are shown as such."""
    found = [
        (answer, judgment)
        for answer, judgment in judged
        if False not in (judgment.correct, judgment.faithful, judgment.behaved)
        and "abstained" in (judgment.status.correct, judgment.status.faithful, judgment.status.behaved)
    ]

    def said(judgment: Judgment) -> str:
        return "open: " + ", ".join(name for name in _DIMENSIONS if getattr(judgment.status, name) == "abstained")

    yield from _examples(f"Left open: {counted(len(found), 'answer')}", found, said, width, most)


def _examples(
    title: str,
    pairs: Sequence[tuple[Answer, Judgment]],
    said: Callable[[Judgment], str],
    width: int,
    most: int,
) -> Iterator[RenderableType]:
    if not pairs or not most:
        return
    parts = [_example(answer, judgment, said(judgment), width) for answer, judgment in pairs[:most]]
    if len(pairs) > most:
        parts.append(Text(f"and {len(pairs) - most} more (--json lists all)"))
    yield section(title, *parts)


def _example(answer: Answer, judgment: Judgment, said: str, width: int) -> RenderableType:
    """An answer with its question, each on a line, and why it was judged so."""
    flags = f" [{', '.join(judgment.flags)}]" if judgment.flags else ""
    item = answer.item
    room = max(_SHORTEST, width - len("  asked: ") - 4)
    shown = [f"asked: {shortened_at_word(item.question, room)}"] if item.question and item.question_id else []
    shown.append(f"answer: {shortened_at_word(item.answer, room) or '(empty)'}")
    return below(
        Text.assemble((_name(item), "bold"), f"  {said}{flags}"),
        *map(Text, shown),
        Text(shortened_at_word(judgment.reason, _LONGEST_REASON)),
    )


def _failed(answers: Sequence[Answer], most: int) -> Iterator[RenderableType]:
    """What was not judged; what failed alike, but for the answer's own name, stands together."""
    if not answers:
        return
    alike: dict[str, list[str]] = {}
    for answer in answers:
        if answer.problem is not None:
            alike.setdefault(_without_name(answer.problem.detail, answer.item), []).append(_name(answer.item))
    parts: list[RenderableType] = []
    for detail, names in list(alike.items())[:most]:
        who = names[0] if len(names) == 1 else f"{len(names)} ({listed(names)})"
        parts.append(Text(f"{who}: {literal(detail)}"))
    if len(alike) > most:
        parts.append(Text(f"and {len(alike) - most} more (--json lists all)"))
    yield section(f"Not judged: {counted(len(answers), 'answer')}", *parts)


def _without_name(detail: str, item: JudgeItem) -> str:
    return detail.replace(f" {item.question_id!r}", "") if item.question_id else detail


def _name(item: JudgeItem) -> str:
    return short_id(item.question_id) if item.question_id else shortened(item.question or "?", 40)
