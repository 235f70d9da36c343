"""Answers to be judged, from the files people have: our own items, and those of ragas and deepeval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from befund.contract import CalibrationItem, DiagnoseItem, HumanVerdicts, JudgeItem
from befund_client._files.json_files import json_lines
from befund_client._files.records import Record, convert, first_of, note_unknown
from befund_client._files.source import Loaded, Notes, Source, Spot, parsed, shown
from befund_client._files.tables import TRUTHS, csv_records

ANSWER = ("answer", "response", "actual_output", "output")
QUESTION = ("question", "user_input", "input", "query")
QUESTION_ID = ("question_id", "query_id", "qid", "id")
CONTEXT = ("context", "retrieved_contexts", "retrieval_context", "contexts")
REFERENCE = ("reference", "expected_output")
ABOUT_GENERATION = ("latency_ms", "usage", "model")
ITEM_FIELDS = frozenset(JudgeItem.__struct_fields__)
DIMENSIONS = HumanVerdicts.__struct_fields__
LABELS = {name: (f"human_{name}", f"human.{name}", f"label_{name}") for name in DIMENSIONS}
"""Where a human verdict may stand beside `human`."""
OTHER_NAMES = frozenset({*ANSWER, *QUESTION, *QUESTION_ID, *CONTEXT, *REFERENCE, *ABOUT_GENERATION})
_KNOWN = ITEM_FIELDS | OTHER_NAMES
_KNOWN_LABELLED = _KNOWN.union({"human", "group"}, *LABELS.values())


T = TypeVar("T", JudgeItem, DiagnoseItem)


def answers_in(source: Source, format: str, kind: type[T]) -> Loaded[list[T]]:
    """Read answers: JSON (one, a list, or the items of a request), one a line, or one a row."""
    notes = Notes()
    names = frozenset(kind.__struct_fields__)
    items = []
    for record, spot in _records(source, format, notes):
        note_unknown(record, names | OTHER_NAMES, spot, notes)
        items.append(convert(_fields(record, spot, names), kind, spot, "answer"))
    return Loaded(items, format, notes.lines())


def labelled_in(source: Source, format: str) -> Loaded[list[CalibrationItem]]:
    """Read answers with the verdicts of people."""
    notes = Notes()
    items = []
    for record, spot in _records(source, format, notes):
        note_unknown(record, _KNOWN_LABELLED, spot, notes)
        human = _human(record, spot)
        if not human:
            notes.count("answers without a human verdict left out", str(spot))
            continue
        fields = _fields(record, spot) | {"human": human}
        if record.get("group") is not None:
            fields["group"] = str(record["group"])
        items.append(convert(fields, CalibrationItem, spot, "answer"))
    if not items:
        raise source.error('holds no answer with a human verdict: give "human": {"correct": true}, or human_correct')
    return Loaded(items, format, notes.lines())


def _records(source: Source, format: str, notes: Notes) -> Iterator[tuple[Record, Spot]]:
    if format == "csv":
        return (_with_answer(record, spot) for record, spot in csv_records(source, notes, ANSWER))
    return json_lines(source) if format == "jsonl" else _json_records(source)


def _with_answer(record: Record, spot: Spot) -> tuple[Record, Spot]:
    """The row; a cell without text is an empty answer."""
    return (record, spot) if first_of(record, ANSWER) is not None else ({**record, "answer": ""}, spot)


def _json_records(source: Source) -> Iterator[tuple[Record, Spot]]:
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


def _fields(record: Record, spot: Spot, names: frozenset[str] = ITEM_FIELDS) -> dict[str, Any]:
    """What of a record makes an item with fields of these names."""
    fields: dict[str, Any] = {name: record[name] for name in names if record.get(name) is not None}
    for name, called in (("question", QUESTION), ("question_id", QUESTION_ID), ("context", CONTEXT)):
        given = first_of(record, called)
        if given is not None:
            fields[name] = given
    answer = first_of(record, ANSWER)
    if answer is None:
        raise spot.error("has no answer: give it as answer (an empty one as an empty text)")
    fields["answer"] = answer
    reference = first_of(record, REFERENCE)
    if reference is not None and "reference_answers" not in fields:
        fields["reference_answers"] = [reference]
    if "context" in fields:
        fields["context"] = _context(fields["context"], spot)
    about = {name: record[name] for name in ABOUT_GENERATION if record.get(name) is not None}
    if isinstance(about.get("latency_ms"), str):  # a cell of a table
        about["latency_ms"] = parsed(about["latency_ms"])
    if about and "generation" not in fields:
        fields["generation"] = about
    return fields


def _context(given: object, spot: Spot) -> object:
    """Chunks; what is text alone gets an id."""
    if isinstance(given, str):
        given = spot.source.json(given, first_line=spot.line or 1) if given.startswith("[") else [given]
    if not isinstance(given, list):
        return given
    return [
        {"id": f"context-{place}", "text": chunk} if isinstance(chunk, str) else chunk
        for place, chunk in enumerate(given, start=1)
    ]


def _human(record: Record, spot: Spot) -> dict[str, bool]:
    """What people say, on the dimensions they looked at."""
    nested = record.get("human")
    if nested is not None and not isinstance(nested, Mapping):
        raise spot.error(f'human is {shown(nested)}: write it like {{"correct": true, "faithful": false}}')
    unknown = set(nested or ()) - set(DIMENSIONS)
    if unknown:
        raise spot.error(f"human says {sorted(unknown)[0]!r}; there are {', '.join(DIMENSIONS)}")
    found = {}
    for name in DIMENSIONS:
        given = nested.get(name) if nested is not None else None
        given = first_of(record, LABELS[name]) if given is None else given
        if given is not None and given != "":
            found[name] = _truth(given, name, spot)
    return found


def _truth(given: object, name: str, spot: Spot) -> bool:
    verdict = TRUTHS.get(str(given).strip().lower()) if isinstance(given, str | int) else None
    if verdict is None:
        raise spot.error(f"the human verdict on {name!r} is {shown(given)}: write true or false")
    return verdict
