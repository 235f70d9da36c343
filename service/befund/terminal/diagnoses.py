"""Diagnoses on a terminal: one case with its stages, or many with the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from befund.contract import Cause, CauseCode, DiagnoseBatchResponse, DiagnoseItem, Diagnosis, Problem, Stage
from befund.core.diagnosis.next_steps import COMMANDS, next_step, usual_step
from befund.core.diagnosis.tally import WORST_FIRST, rank_of
from befund.terminal.retrieval import below, plain_table, section
from befund.terminal.text import counted, listed, literal, short_id, shortened

MOST_SHOWN = 20
_MARKS = {"ok": "ok", "failed": "FAILED", "skipped": "–", "not_probed": "not probed"}
_STYLES = {"ok": "green", "failed": "bold red"}
_MENDED_HERE: Mapping[str, str] = {
    "question-missing": "What was asked is not known. Give the answer its question, or name its data set (--dataset).",
    "question-id-missing": "A run keeps diagnoses by question. Give the answer its question_id, or leave out --run.",
    "dataset-missing": "There is no such run yet. Name the data set it is measured on (--dataset).",
    "unknown-dataset": "There is no such data set (--dataset). befund dataset list shows those there are.",
    "unknown-collection": "There is no such collection (--collection). befund ingest makes one.",
}
"""Problems that name fields and routes, by their code, in the words of the command line."""
_WORDS = {True: "yes", False: "no", None: "cannot be told"}


class Case(Struct, frozen=True):
    """One answer and what came of it."""

    item: DiagnoseItem
    diagnosis: Diagnosis | None
    problem: Problem | None


def cases_of(items: Sequence[DiagnoseItem], responses: Sequence[DiagnoseBatchResponse]) -> list[Case]:
    """Answers with what came of them, in the order in which they were sent."""
    results = [result for response in responses for result in response.results]
    return [Case(item, each.diagnosis, each.problem) for item, each in zip(items, results, strict=True)]


def case_report(diagnosis: Diagnosis, *, name: str, answer: str | None, width: int) -> Iterator[RenderableType]:
    """One case: what it is, why, what to do, and every stage.

    Args:
        diagnosis: What was found.
        name: What the case is called.
        answer: What was answered, where that is known.
        width: Columns there are.
    """
    said = [Text(f"answer: {shortened(answer, max(40, 2 * (width - 12)))}")] if answer else []
    verdicts = (
        f"evidence in the context: {_WORDS[diagnosis.evidence_present]}; correct: {_WORDS[diagnosis.answer_correct]}; "
        f"faithful: {_WORDS[diagnosis.faithful]}"
    )
    yield section(f"{name}: {diagnosis.diagnosis}", *said, Text(verdicts), *_causes(diagnosis))
    yield section("Stages", _stages(diagnosis.stages))
    if diagnosis.facts or diagnosis.evidence:
        yield section("Evidence", _evidence(diagnosis, width))
    for note in diagnosis.notes:
        yield Text(f"note: {literal(note)}")


def report(cases: Sequence[Case], *, width: int, most: int = MOST_SHOWN) -> Iterator[RenderableType]:
    """Many cases: how many of which kind, what to do about them, and the worst.

    Args:
        cases: The cases.
        width: Columns there are.
        most: How many are shown one by one.
    """
    found = [(case, case.diagnosis) for case in cases if case.diagnosis is not None]
    failed = [case for case in cases if case.problem is not None]
    title = f"{counted(len(cases), 'answer')}: {len(found)} diagnosed, {len(failed)} failed"
    yield section(title, *_classes([diagnosis for _, diagnosis in found]))
    if any(diagnosis.cause for _, diagnosis in found):
        yield section("What to do, the most frequent cause first", *_work(found))
    yield from _worst(found, width, most)
    if failed:
        lines = [
            Text(f"{name_of(case.item)}: {literal(said_of(case.problem))}") for case in failed[:most] if case.problem
        ]
        more = [Text(f"and {len(failed) - most} more (--json lists all)")] if len(failed) > most else []
        yield section(f"Not diagnosed: {counted(len(failed), 'answer')}", *lines, *more)


def groups_report(diagnoses: Mapping[str, Any], causes: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The same for what a run says of itself."""
    if diagnoses:
        shown = ", ".join(f"{name} {group['n']:,}" for name, group in diagnoses.items())
        lines = [
            below(Text(f"{code}: {group['n']:,} ({listed(group['questions'])})"), Text(_usual_step(code)))
            for code, group in causes.items()
        ]
        yield section("Diagnoses", Text(shown), *lines)


def said_of(problem: Problem) -> str:
    """What is wrong, with the options and commands that mend it where they mend it."""
    return _MENDED_HERE.get(problem.type.rpartition("/")[2], problem.detail)


def name_of(item: DiagnoseItem) -> str:
    """What a case is called."""
    return short_id(item.question_id) if item.question_id else shortened(item.question or "?", 40)


def _usual_step(code: str) -> str:
    """What to do about a cause; nothing, where a newer service names one that is not known here."""
    return usual_step(cast(CauseCode, code), COMMANDS) if code in get_args(CauseCode) else ""


def _causes(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    if diagnosis.cause is not None:
        yield Text.assemble(("cause: ", "bold"), _cause(diagnosis.cause))
    for cause in diagnosis.contributing:
        yield Text.assemble("also: ", _cause(cause))
    if diagnosis.cause is not None:
        yield Text.assemble(("next: ", "bold"), next_step(diagnosis.cause, diagnosis.contributing, COMMANDS))


def _cause(cause: Cause) -> str:
    return f"{cause.code}, {cause.confidence}: {literal(cause.detail)}"


def _stages(stages: Sequence[Stage]) -> RenderableType:
    table = plain_table("stage", "state", "found")
    for stage in stages:
        rank = "" if stage.rank is None else f"rank {stage.rank}" + ("" if stage.k is None else f" of top {stage.k}")
        found = literal(stage.detail) if stage.detail else " ".join(filter(None, (stage.chunk, rank)))
        state = Text(_MARKS[stage.state], style=_STYLES.get(stage.state, ""))
        table.add_row(Text(stage.stage.replace("_", " ")), state, Text(literal(found)))
    return table


def _evidence(diagnosis: Diagnosis, width: int) -> RenderableType:
    table = plain_table("wanted", "in context", "where")
    for fact in diagnosis.facts:
        where = f"{fact.chunk}: {shortened(fact.passage or '', max(20, width - 50))}" if fact.chunk else ""
        table.add_row(Text(f'"{shortened(fact.fact, 30)}"'), Text(_WORDS[fact.in_context]), Text(literal(where)))
    for piece in diagnosis.evidence:
        table.add_row(Text(short_id(piece.id)), Text(_WORDS[piece.in_context]), Text(listed(piece.chunks, most=4)))
    return table


def _classes(found: Sequence[Diagnosis]) -> Iterator[RenderableType]:
    names = [diagnosis.diagnosis for diagnosis in found]
    for name in WORST_FIRST:
        if name in names:
            yield Text(f"{names.count(name):>5} {name}")


def _work(found: Sequence[tuple[Case, Diagnosis]]) -> Iterator[RenderableType]:
    by_cause: dict[str, list[tuple[Case, Diagnosis]]] = {}
    for case, diagnosis in found:
        if diagnosis.cause is not None:
            by_cause.setdefault(diagnosis.cause.code, []).append((case, diagnosis))
    for code, group in sorted(by_cause.items(), key=lambda pair: -len(pair[1])):
        names = listed([name_of(case.item) for case, _ in group])
        yield below(Text(f"{len(group):>4} {code}: {names}"), Text(_usual_step(code)))


def _worst(found: Sequence[tuple[Case, Diagnosis]], width: int, most: int) -> Iterator[RenderableType]:
    wrong = [(case, diagnosis) for case, diagnosis in found if diagnosis.cause is not None]
    wrong.sort(key=lambda pair: rank_of(pair[1].diagnosis))
    if not wrong:
        return
    parts = [
        below(
            Text.assemble((name_of(case.item), "bold"), f"  {diagnosis.diagnosis}  {diagnosis.cause.code}"),
            Text(shortened(diagnosis.cause.detail, max(40, 2 * (width - 4)))),
        )
        for case, diagnosis in wrong[:most]
        if diagnosis.cause is not None
    ]
    more = [Text(f"and {len(wrong) - most} more (--json lists all)")] if len(wrong) > most else []
    clean = f", {len(found) - len(wrong)} have none" if len(wrong) < len(found) else ""
    yield section(f"Worst first: {counted(len(wrong), 'answer')} with a cause{clean}", *parts, *more)
