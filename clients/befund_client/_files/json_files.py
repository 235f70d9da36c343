"""Data sets and rankings in JSON, whatever their shape, and in JSONL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from befund.contract import Dataset
from befund_client._files.records import (
    OPTION_FIELDS,
    Ranked,
    Record,
    checked_id,
    convert,
    grade_of,
    judged_question,
    note_unknown,
    question_id,
    questions_from,
    ranking_from,
    rankings_from,
)
from befund_client._files.source import Loaded, Notes, Source, Spot

REQUEST_FIELDS = OPTION_FIELDS | {"dataset", "retrieval", "rankings"}
DATASET_FIELDS = frozenset(Dataset.__struct_fields__)


def json_dataset(source: Source, *, shape: str | None = None) -> Loaded[Dataset]:
    """Read a data set, a whole retrieve-eval request, ranx qrels or a flat list; `shape` forces `ranx` or `flat`."""
    value = source.json(source.text)
    spot, notes = Spot(source), Notes()
    match shape or _dataset_shape(value, source), value:
        case "flat", _:
            return Loaded(Dataset(questions=questions_from(_items(value, spot), notes)), "flat", notes.lines())
        case "ranx", _:
            return Loaded(_qrels(value, spot, notes), "ranx", notes.lines())
        case "request", dict(request):
            _note_request(request, notes)
            return Loaded(_dataset(request["dataset"], spot.at("dataset"), notes), "json", notes.lines())
        case _:
            return Loaded(_dataset(value, spot, notes), "json", notes.lines())


def jsonl_dataset(source: Source) -> Loaded[Dataset]:
    """Read a data set with one question a line."""
    notes = Notes()
    return Loaded(Dataset(questions=questions_from(json_lines(source), notes)), "jsonl", notes.lines())


def json_rankings(source: Source, *, shape: str | None = None) -> Loaded[dict[str, list[Ranked]]]:
    """Read rankings by question id, a whole retrieve-eval request, a ranx run or a flat list."""
    value = source.json(source.text)
    notes = Notes()
    if isinstance(value, list):
        return Loaded(rankings_from(_items(value, Spot(source)), notes), "flat", notes.lines())
    spot = Spot(source)
    if not isinstance(value, dict):
        raise spot.error("is no rankings file: give {question id: [chunk ids]}")
    if shape is None and isinstance(value.get("retrieval"), dict):
        _note_request(value, notes)
        value, spot = value["retrieval"], spot.at("retrieval")
        if value.get("rankings") is None:
            raise spot.error("this request searches a collection and holds no rankings")
    if shape is None and isinstance(value.get("rankings"), dict):
        _note_request(value, notes)
        value, spot = value["rankings"], spot.at("rankings")
    elif shape is None and isinstance(value.get("questions"), list):
        raise spot.error("is a data set; rankings look like {question id: [chunk ids]}")
    scored = bool(value) and all(isinstance(ranking, dict) for ranking in value.values())
    if scored:
        notes.say("maps from id to score are sorted by score, then id, both descending")
    rankings = {
        checked_id(question, spot.at(question)): ranking_from(ranking, spot.at(question), notes, question=question)
        for question, ranking in value.items()
    }
    return Loaded(rankings, "ranx" if scored else "json", notes.lines())


def jsonl_rankings(source: Source) -> Loaded[dict[str, list[Ranked]]]:
    """Read rankings with one question a line."""
    notes = Notes()
    return Loaded(rankings_from(json_lines(source), notes), "jsonl", notes.lines())


def json_lines(source: Source) -> Iterator[tuple[Record, Spot]]:
    """The objects of a JSONL file; blank lines are skipped."""
    for line, written in enumerate(source.text.split("\n"), start=1):
        if not written.strip():
            continue
        value = source.json(written, first_line=line)
        if not isinstance(value, dict):
            raise source.error('is no JSON object: each line holds one, like {"id": "Q1", ...}', line)
        yield value, Spot(source, line)


def query_texts(source: Source) -> dict[str, str]:
    """Read the texts of questions from JSONL (`_id` or `id`, and `text`) or from lines of id, tab, text."""
    if source.data.lstrip().startswith(b"{"):
        notes = Notes()
        records = ((record, question_id(record, spot, notes), spot) for record, spot in json_lines(source))
        return {identity: _text(record, spot) for record, identity, spot in records}
    texts = {}
    for line, written in enumerate(source.text.split("\n"), start=1):
        identity, tab, text = written.strip("\r").partition("\t")
        if written.strip() and not tab:
            raise source.error("no tab between the id and the text of a question", line)
        if identity.strip():
            texts[identity.strip()] = text.strip()
    return texts


def _text(record: Record, spot: Spot) -> str:
    text = record.get("text", record.get("question", record.get("query")))
    if not isinstance(text, str):
        raise spot.error("no text of a question: give it as text")
    return text


def _dataset_shape(value: object, source: Source) -> str:
    match value:
        case list():
            return "flat"
        case {"questions": list()}:
            return "dataset"
        case {"dataset": dict()}:
            return "request"
        case {"dataset": str(name)}:
            raise source.error(f"this request names the data set {name!r} instead of holding it; give that name")
        case dict() if value and all(isinstance(grades, dict) for grades in value.values()):
            return "ranx"
        case dict() if value and all(isinstance(ranking, list) for ranking in value.values()):
            raise source.error('looks like rankings; a data set holds {"questions": [...]}')
    raise source.error(
        'is no data set: give {"questions": [...]}, a list of questions, or {question id: {chunk id: grade}}'
    )


def _dataset(value: Any, spot: Spot, notes: Notes) -> Dataset:
    note_unknown(value, DATASET_FIELDS, spot, notes)
    fields = {name: given for name, given in value.items() if name in DATASET_FIELDS and given is not None}
    fields["questions"] = questions_from(_items(fields.get("questions"), spot.at("questions")), notes)
    return convert(fields, Dataset, spot, "data set")


def _items(value: object, spot: Spot) -> Iterator[tuple[Record, Spot]]:
    if not isinstance(value, list):
        raise spot.error("is no list of questions")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise spot.at(index).error('is no question: each is an object like {"id": "Q1", "question": "..."}')
        yield item, spot.at(index)


def _qrels(value: object, spot: Spot, notes: Notes) -> Dataset:
    if not isinstance(value, dict):
        raise spot.error("is no ranx file: give {question id: {chunk id: grade}}")
    questions = []
    for question, given in value.items():
        here = spot.at(question)
        if not isinstance(given, dict):
            raise here.error(f"the judgements of question {question!r} are no map from chunk id to grade")
        grades = {chunk: grade_of(grade, chunk, here.at(chunk)) for chunk, grade in given.items()}
        questions.append(judged_question(question, grades, here, notes))
    if any(grade % 1 for given in value.values() for grade in given.values()):
        notes.say("some grades are not whole numbers: make sure that this is not a run")
    return Dataset(questions=questions)


def _note_request(value: Mapping[str, object], notes: Notes) -> None:
    left = sorted((value.keys() & OPTION_FIELDS) - {"index_chunk_ids"})  # these read_ids reads
    if left:
        notes.say(f"options in the file are not read: {', '.join(left)}")
    unknown = sorted(value.keys() - REQUEST_FIELDS)
    if unknown:
        notes.say(f"unknown fields ignored: {', '.join(unknown)}")
