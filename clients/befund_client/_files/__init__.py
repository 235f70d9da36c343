"""Files people already have, read as data sets and rankings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

from befund.contract import CalibrationItem, Dataset, DiagnoseItem, Gate, Id, JudgeItem, RankingEntry
from befund_client._errors import FileError
from befund_client._files import answers, beir, gates, json_files, tables, trec
from befund_client._files.records import LONGEST_ID, QUESTION_ID, QUESTION_TEXT, checked_id, convert
from befund_client._files.source import Loaded, Source, Spot, open_source

__all__ = [
    "DatasetFormat",
    "Loaded",
    "Rankings",
    "RankingsFormat",
    "read_answers",
    "read_calibration",
    "read_cases",
    "read_config",
    "read_dataset",
    "read_gates",
    "read_ids",
    "read_mapping",
    "read_rankings",
]

DatasetFormat = Literal["json", "jsonl", "csv", "trec", "beir", "ranx", "flat"]
RankingsFormat = Literal["json", "jsonl", "csv", "trec", "ranx", "flat"]
Rankings = dict[str, list[str | RankingEntry]]
FilePath = str | os.PathLike[str]
T = TypeVar("T")
A = TypeVar("A", JudgeItem, DiagnoseItem)

DATASET_READERS: dict[str, Callable[[Source], Loaded[Dataset]]] = {
    "json": json_files.json_dataset,
    "jsonl": json_files.jsonl_dataset,
    "csv": tables.csv_dataset,
    "trec": trec.trec_dataset,
    "beir": trec.trec_dataset,
    "ranx": lambda source: json_files.json_dataset(source, shape="ranx"),
    "flat": lambda source: json_files.json_dataset(source, shape="flat"),
}
RANKINGS_READERS: dict[str, Callable[[Source], Loaded[Rankings]]] = {
    "json": json_files.json_rankings,
    "jsonl": json_files.jsonl_rankings,
    "csv": tables.csv_rankings,
    "trec": trec.trec_rankings,
    "ranx": lambda source: json_files.json_rankings(source, shape="ranx"),
    "flat": json_files.json_rankings,
}


def read_dataset(
    path: FilePath,
    *,
    format: DatasetFormat | None = None,
    queries: FilePath | None = None,
    split: str | None = None,
) -> Loaded[Dataset]:
    """Read a data set: questions with their gold.

    Args:
        path: A file (JSON, JSONL, CSV, TREC or BEIR qrels; `.gz` too) or a BEIR folder.
        format: What it is, where content and extension do not tell.
        queries: Texts of the questions, for judgements that have none: JSONL, or lines of id, tab, text.
        split: Which of a BEIR folder's qrels to read; `test` unless told.

    Raises:
        FileError: The file cannot be read as a data set; it names the file, the line and what to do.
    """
    place = Path(path)
    if os.path.isdir(path):
        if format not in {None, "beir"}:
            raise FileError(place, "is a folder, which can be read as BEIR alone: leave out the format")
        if queries is not None:
            raise FileError(place, "is a folder, which brings its queries.jsonl: leave out the queries")
        return beir.beir_dataset(place, split=split)
    source = open_source(place)
    loaded = _reader(DATASET_READERS, format, source)(source)
    if queries is not None:
        loaded = beir.with_texts(loaded, json_files.query_texts(open_source(queries)))
    if not loaded.value.questions:
        raise source.error("holds no question")
    return loaded


def read_rankings(path: FilePath, *, format: RankingsFormat | None = None) -> Loaded[Rankings]:
    """Read rankings: the chunks retrieved for each question, in rank order.

    Args:
        path: A file (JSON, JSONL, CSV or a TREC run; `.gz` too).
        format: What it is, where content and extension do not tell.

    Raises:
        FileError: The file cannot be read as rankings; it names the file, the line and what to do.
    """
    place = Path(path)
    if os.path.isdir(path):
        raise FileError(place, "is a folder: give the file that holds the rankings")
    source = open_source(place)
    loaded = _reader(RANKINGS_READERS, format, source)(source)
    if not loaded.value:
        raise source.error("holds no ranking")
    return loaded


def read_answers(path: FilePath) -> Loaded[list[JudgeItem]]:
    """Read answers to be judged: JSON (a list, or `{"items": [...]}`), JSONL or CSV; `.gz` too.

    Each has an `answer`, and what belongs to it: `question`, `context`, `expected_facts`, ...; or `question_id` alone,
    for a question of a data set. The names that ragas and deepeval use are known too. In CSV, lists are JSON, or their
    items are separated by `|`; a context that is no list is one chunk.

    Raises:
        FileError: The file cannot be read as answers; it names the file, the line and what to do.
    """
    return _read_answers(path, JudgeItem)


def read_cases(path: FilePath) -> Loaded[list[DiagnoseItem]]:
    """Read answers to be diagnosed: as `read_answers`, each with what a diagnosis looks at too.

    That is `retrieved`, `evidence`, `relevant`, `evidence_mapping`, `collection`, `top_k`, `where` and `judgment`.

    Raises:
        FileError: As `read_answers`.
    """
    return _read_answers(path, DiagnoseItem)


def _read_answers(path: FilePath, kind: type[A]) -> Loaded[list[A]]:
    source = open_source(path)
    loaded = answers.answers_in(source, _records_format(source), kind)
    if not loaded.value:
        raise source.error("holds no answer")
    return loaded


def read_calibration(path: FilePath) -> Loaded[list[CalibrationItem]]:
    """Read answers on which people have a verdict, to measure a judge by; the files are those of `read_answers`.

    The verdicts stand under `human` (`{"correct": true, "faithful": false}`), or flat as `human_correct` or
    `label_correct`, and so on. Answers on which people have none are left out, with a note.

    Raises:
        FileError: As `read_answers`, or no answer has a human verdict.
    """
    source = open_source(path)
    return answers.labelled_in(source, _records_format(source))


def read_ids(path: FilePath) -> Loaded[list[str]]:
    """Read chunk ids: a JSON list, the `index_chunk_ids` of a request, or one id a line."""
    source = open_source(path)
    if source.data.lstrip()[:1] not in {b"[", b"{"}:
        lines = [line.strip() for line in source.text.split("\n")]
        _check_lengths(lines, lambda position: Spot(source, position + 1))
        return Loaded([line for line in lines if line], "lines")
    value, spot = source.json(source.text), Spot(source)
    if isinstance(value, dict):
        value, spot = value.get("index_chunk_ids"), spot.at("index_chunk_ids")
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise source.error('holds no list of chunk ids: give ["id", ...] or one id a line')
    _check_lengths(value, spot.at)
    return Loaded(value, "json")


def _check_lengths(ids: list[str], spot_of: Callable[[int], Spot]) -> None:
    too_long = next((position for position, identity in enumerate(ids) if len(identity) > LONGEST_ID), None)
    if too_long is not None:
        checked_id(ids[too_long], spot_of(too_long))


def read_config(path: FilePath) -> dict[str, Any]:
    """Read what was measured, the `config` of a request: a JSON object.

    Raises:
        FileError: The file cannot be read, or holds something else.
    """
    source = open_source(path)
    value = source.json(source.text)
    if not isinstance(value, dict):
        raise source.error('is no configuration: give a JSON object like {"embedder": "e5"}', 1)
    return value


def read_gates(path: FilePath) -> list[Gate]:
    """Read the gates of a comparison from TOML, YAML or JSON.

    Raises:
        FileError: The file cannot be read, or holds something else; a key that does not exist is named.
    """
    return gates.gates_of(open_source(path))


def read_mapping(path: FilePath) -> Loaded[dict[str, list[str]]]:
    """Read which chunks hold which evidence: `{evidence id: [chunk ids]}`, or a data set or request that has it.

    Raises:
        FileError: The file holds none; it names the file, the line and what to do.
    """
    source = open_source(path)
    value = source.json(source.text)
    spot = Spot(source)
    for name in ("dataset", "evidence_mapping"):
        if isinstance(value, dict) and isinstance(value.get(name), dict):
            value, spot = value[name], spot.at(name)
    if not isinstance(value, dict) or "questions" in value:
        raise spot.error("holds no evidence mapping: give {evidence id: [chunk ids]}")
    return Loaded(convert(value, dict[Id, list[Id]], spot, "evidence mapping"), "json")


def _reader(
    readers: dict[str, Callable[[Source], Loaded[T]]], format: str | None, source: Source
) -> Callable[[Source], Loaded[T]]:
    chosen = format or detect(source)
    if format is None and chosen == "trec" and not trec.is_trec(source):
        raise source.error(f"format not recognised: read are {', '.join(readers)}; name one if this is one of them")
    if chosen not in readers:
        raise ValueError(f"no format {chosen!r}; there are {', '.join(readers)}")
    return readers[chosen]


def detect(source: Source) -> str:
    """Tell the format from the content, and from the extension where the content fits several."""
    if source.extension in {".jsonl", ".ndjson"}:
        return "jsonl"
    first, _, rest = source.data.lstrip().partition(b"\n")
    if source.extension == ".json" or first[:1] in {b"{", b"["}:
        return "jsonl" if first[:1] == b"{" and rest.strip() and _is_whole(source, first.decode()) else "json"
    if trec.is_beir_qrels(source):
        return "beir"
    if source.extension == ".csv" or tables.header_of(source) & {*QUESTION_ID, *QUESTION_TEXT}:
        return "csv"
    return "trec"


def _records_format(source: Source) -> str:
    """JSON, JSONL, or a table, which its extension or its header shows.

    Raises:
        FileError: It is none of them.
    """
    found = detect(source)
    if found in {"json", "jsonl"}:
        return found
    if source.extension == ".csv" or "answer" in tables.header_of(source):
        return "csv"
    raise source.error("format not recognised: answers are read from JSON, JSONL or CSV with a column answer")


def _is_whole(source: Source, line: str) -> bool:
    try:
        source.json(line)
    except FileError:
        return False
    return True
