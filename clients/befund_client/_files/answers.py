"""Answers to be judged or diagnosed, from the files people have: our own items, and those of ragas and deepeval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from befund.contract import DiagnoseItem, JudgeItem
from befund_client._files.json_files import json_lines
from befund_client._files.records import Record, convert, first_of, note_unknown
from befund_client._files.source import Loaded, Notes, Source, Spot

ANSWER = ("answer", "response", "actual_output", "output")
QUESTION = ("question", "user_input", "input", "query")
QUESTION_ID = ("question_id", "query_id", "qid", "id")
CONTEXT = ("context", "retrieved_contexts", "retrieval_context", "contexts")
REFERENCE = ("reference", "expected_output")
ABOUT_GENERATION = ("latency_ms", "usage", "model")
OTHER_NAMES = frozenset({*ANSWER, *QUESTION, *QUESTION_ID, *CONTEXT, *REFERENCE, *ABOUT_GENERATION})

T = TypeVar("T", JudgeItem, DiagnoseItem)


def answers_in(source: Source, *, lines: bool, kind: type[T]) -> Loaded[list[T]]:
    """Read answers: a list, the items of a request, one by itself, or one a line."""
    notes = Notes()
    records = json_lines(source) if lines else _records(source)
    items = [_item(record, spot, notes, kind) for record, spot in records]
    return Loaded(items, "jsonl" if lines else "json", notes.lines())


def _records(source: Source) -> Iterator[tuple[Record, Spot]]:
    value, spot = source.json(source.text), Spot(source)
    if isinstance(value, dict) and "items" in value:
        value, spot = value["items"], spot.at("items")
    elif isinstance(value, dict) and first_of(value, ANSWER) is not None:
        yield value, spot
        return
    if not isinstance(value, list):
        raise spot.error('holds no answers: give a list of {"question": ..., "answer": ...}, or one a line')
    for place, record in enumerate(value):
        if not isinstance(record, dict):
            raise spot.at(place).error('is no answer: each is an object like {"question": ..., "answer": ...}')
        yield record, spot.at(place)


def _item(record: Record, spot: Spot, notes: Notes, kind: type[T]) -> T:
    note_unknown(record, OTHER_NAMES.union(kind.__struct_fields__), spot, notes)
    fields: dict[str, Any] = {name: record[name] for name in kind.__struct_fields__ if record.get(name) is not None}
    for name, names in (("question", QUESTION), ("question_id", QUESTION_ID), ("context", CONTEXT)):
        given = first_of(record, names)
        if given is not None:
            fields[name] = given
    answer = first_of(record, ANSWER)
    if answer is None:
        raise spot.error("has no answer: give it as answer (an empty one as an empty text)")
    fields["answer"] = answer
    reference = first_of(record, REFERENCE)
    if reference is not None and "reference_answers" not in fields:
        fields["reference_answers"] = [reference]
    if isinstance(fields.get("context"), list):
        fields["context"] = [
            {"id": f"context-{place}", "text": chunk} if isinstance(chunk, str) else chunk
            for place, chunk in enumerate(fields["context"], start=1)
        ]
    about = {name: record[name] for name in ABOUT_GENERATION if record.get(name) is not None}
    if about and "generation" not in fields:
        fields["generation"] = about
    return convert(fields, kind, spot, "answer")
