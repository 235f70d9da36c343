"""Questions and rankings from records: a JSON object, a line of JSONL, a row of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from befund.contract import Evidence, Id, Question, RankingEntry, RetrieveEvalOptions
from befund.contract.closed_sets import with_allowed
from befund_client._files.source import Notes, Spot, finite, shown

T = TypeVar("T")
Ranked = str | RankingEntry
Record = Mapping[str, Any]

QUESTION_ID = ("id", "question_id", "query_id", "query-id", "qid", "_id")
QUESTION_TEXT = ("question", "query", "text")
LONGEST_ID = 512
CHUNK_ID = ("id", "chunk_id", "doc_id", "docid")
RETRIEVED = ("retrieved", "ranking")
WITHOUT_TEXT = "questions without a text, where the id stands for it"
QUESTION_FIELDS = frozenset(Question.__struct_fields__)
EVIDENCE_FIELDS = frozenset(Evidence.__struct_fields__)
ENTRY_FIELDS = frozenset(RankingEntry.__struct_fields__)
OPTION_FIELDS = frozenset(RetrieveEvalOptions.__struct_fields__)


def questions_from(records: Iterable[tuple[Record, Spot]], notes: Notes) -> list[Question]:
    """Read questions, each id once."""
    spots: dict[str, Spot] = {}
    questions = []
    for record, spot in records:
        question = question_from(record, spot, notes)
        if question.id in spots:
            raise spot.error(f"question {question.id!r} was already given at {place(spots[question.id])}: keep one")
        spots[question.id] = spot
        questions.append(question)
    return questions


def question_from(record: Record, spot: Spot, notes: Notes) -> Question:
    """Read one question; its text stands in for an id that is missing, and its id for a text."""
    text = first_of(record, QUESTION_TEXT)
    identity = question_id(record, spot, notes)
    fields = {name: value for name, value in record.items() if value is not None and name in QUESTION_FIELDS}
    note_unknown(record, QUESTION_FIELDS | {*QUESTION_ID, *QUESTION_TEXT, *RETRIEVED}, spot, notes)
    if text is None or text == "":
        notes.count(WITHOUT_TEXT, str(spot))
        text = identity
    fields |= {"id": identity, "question": text}
    if "relevant" in fields:
        fields["relevant"] = _relevant(fields["relevant"], spot, notes)
    if "non_relevant" in fields:
        fields["non_relevant"] = _ids(fields["non_relevant"], spot, notes)
    if isinstance(fields.get("evidence"), list):
        fields["evidence"] = _evidence(fields["evidence"], spot, notes)
    return convert(fields, Question, spot, f"question {identity!r}")


def rankings_from(records: Iterable[tuple[Record, Spot]], notes: Notes) -> dict[str, list[Ranked]]:
    """Read the ranking out of each record that has one."""
    spots: dict[str, Spot] = {}
    rankings: dict[str, list[Ranked]] = {}
    for record, spot in records:
        note_unknown(record, QUESTION_FIELDS | {*QUESTION_ID, *QUESTION_TEXT, *RETRIEVED}, spot, notes)
        given = first_of(record, RETRIEVED)
        if given is None:
            notes.count("questions without a ranking", str(spot))
            continue
        identity = question_id(record, spot, notes)
        if identity in spots:
            raise spot.error(f"question {identity!r} was already ranked at {place(spots[identity])}: keep one")
        spots[identity] = spot
        checked_id(identity, spot)
        rankings[identity] = ranking_from(given, spot, notes, question=identity)
    return rankings


def ranking_from(given: object, spot: Spot, notes: Notes, *, question: str) -> list[Ranked]:
    """Read one ranking: a list in rank order, or a map from id to score."""
    if isinstance(given, Mapping):
        for identity in given:
            checked_id(identity, spot)
        return [*by_score(_scores(given, spot, question), notes, question=question)]
    if not isinstance(given, list):
        raise spot.error(f"the ranking of question {question!r} is neither a list of ids nor a map from id to score")
    entries = [_entry(entry, spot, notes, question) for entry in given]
    ranking = convert(entries, list[Id | RankingEntry], spot, f"ranking of question {question!r}")
    note_duplicates(ranking, notes, question=question)
    return ranking


def by_score(scores: Iterable[tuple[float, str]], notes: Notes, *, question: str) -> list[str]:
    """Order ids by score, then id, both descending."""
    ordered = sorted(scores, reverse=True)
    if len({score for score, _ in ordered}) < len(ordered):
        notes.count("questions with tied scores, ordered by id descending", f"question {question!r}")
    return [identity for _, identity in ordered]


def note_duplicates(ranking: list[Ranked], notes: Notes, *, question: str) -> None:
    """Say so when an id comes twice; both are kept."""
    ids = {entry if isinstance(entry, str) else entry.id for entry in ranking}
    if len(ids) < len(ranking):
        what = "rankings that list an id more than once, where the first counts and later ones gain nothing"
        notes.count(what, f"question {question!r}")


def judged_question(identity: str, grades: Mapping[str, float], spot: Spot, notes: Notes) -> Question:
    """Make a question of judgements alone."""
    notes.count(WITHOUT_TEXT, f"question {identity!r}")
    return convert({"id": identity, "question": identity, "relevant": grades}, Question, spot, f"question {identity!r}")


def convert(value: object, kind: type[T], spot: Spot, what: str) -> T:
    """Check a value against the contract."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise spot.error(f"{what}: {with_allowed(error, kind)}") from error


def first_of(record: Record, names: Iterable[str]) -> Any:
    """The value under the first of several names that is there and not null."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def question_id(record: Record, spot: Spot, notes: Notes) -> str:
    """The id of the question a record speaks of, or its text where it has none."""
    given = first_of(record, QUESTION_ID)
    if given is not None:
        return _id(given, spot, notes)
    text = first_of(record, QUESTION_TEXT)
    if not isinstance(text, str) or not text:
        others = ", ".join((*QUESTION_ID[1:], *QUESTION_TEXT[1:]))
        raise spot.error(f"no field id, which says what question this is (nor question, which could; nor {others})")
    if len(text) > LONGEST_ID:
        raise spot.error(f"this question has no id and is too long to be one (over {LONGEST_ID} characters): give one")
    notes.count("questions without a field id, where the text stands for it", str(spot))
    return text


def note_unknown(record: Record, known: Iterable[str], spot: Spot, notes: Notes) -> None:
    """Count the fields nobody reads."""
    for name in record.keys() - set(known):
        notes.count(f"unknown field {name!r} ignored", str(spot))


def place(spot: Spot) -> str:
    """Where a spot is, as a line if there is one."""
    line = spot.found_line()
    return f"line {line}" if line is not None else str(spot)


def checked_id(identity: str, spot: Spot) -> str:
    """Make sure that an id has a length the contract allows."""
    if not 1 <= len(identity) <= LONGEST_ID:
        raise spot.error(f"an id of {len(identity)} characters, {shown(identity)}: ids have 1 to {LONGEST_ID}")
    return identity


def grade_of(given: object, identity: str, spot: Spot) -> float:
    """Read a relevance grade."""
    grade = finite(given)
    if grade is None:
        raise spot.error(f"the grade of {identity!r} is {shown(given)}, not a finite number")
    return grade


def _id(given: object, spot: Spot, notes: Notes) -> str:
    if isinstance(given, int) and not isinstance(given, bool):
        notes.count("ids written as numbers, read as text", str(spot))
        return str(given)
    if not isinstance(given, str) or not given:
        raise spot.error(f"{shown(given)} is no id: an id is a text that is not empty")
    return given


def _ids(given: object, spot: Spot, notes: Notes) -> list[str]:
    if not isinstance(given, list):
        raise spot.error(f"{shown(given)} is no list of ids")
    ids = [_id(item, spot, notes) for item in given]
    unique = list(dict.fromkeys(ids))
    if len(unique) < len(ids):
        notes.count("gold ids listed twice for one question, kept once", str(spot))
    return unique


def _relevant(given: object, spot: Spot, notes: Notes) -> dict[str, float] | list[str]:
    if isinstance(given, Mapping):
        return {identity: grade_of(grade, identity, spot) for identity, grade in given.items()}
    return _ids(given, spot, notes)


def _evidence(given: list[Any], spot: Spot, notes: Notes) -> list[Any]:
    kept: dict[str, dict[str, Any]] = {}
    for item in given:
        if not isinstance(item, Mapping):
            raise spot.error(f"evidence {shown(item)} is no object like {{'id': ..., 'relevance': 1}}")
        note_unknown(item, EVIDENCE_FIELDS, spot, notes)
        fields = {name: value for name, value in item.items() if name in EVIDENCE_FIELDS and value is not None}
        identity = _id(item.get("id"), spot, notes)
        fields["id"], fields["relevance"] = identity, grade_of(fields.get("relevance", 1), identity, spot)
        if identity in kept and kept[identity]["relevance"] != fields["relevance"]:
            both = f"{kept[identity]['relevance']:g} and {fields['relevance']:g}"
            raise spot.error(f"evidence {identity!r} has two grades, {both}: keep one")
        if identity in kept:
            notes.count("evidence listed twice for one question, kept once", str(spot))
        kept.setdefault(identity, fields)
    return list(kept.values())


def _scores(given: Mapping[str, object], spot: Spot, question: str) -> Iterable[tuple[float, str]]:
    for identity, score in given.items():
        yield _score(score, identity, spot, question), identity


def _score(given: object, identity: object, spot: Spot, question: str) -> float:
    score = finite(given)
    if score is None:
        raise spot.error(f"the score of {identity!r} for question {question!r} is {shown(given)}, not a finite number")
    return score


def _entry(given: object, spot: Spot, notes: Notes, question: str) -> object:
    if not isinstance(given, Mapping):
        return _id(given, spot, notes)
    identity = _id(first_of(given, CHUNK_ID), spot, notes)
    note_unknown(given, ENTRY_FIELDS | set(CHUNK_ID), spot, notes)
    fields: dict[str, object] = {"id": identity}
    if given.get("score") is not None:
        fields["score"] = _score(given["score"], identity, spot, question)
    if given.get("roles") is not None:
        fields["roles"] = given["roles"]
    return fields
