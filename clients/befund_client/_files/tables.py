"""Data sets and rankings as CSV: comma, semicolon or tab, with a header."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from befund.contract import Dataset, RankingEntry
from befund_client._files.records import (
    CHUNK_ID,
    QUESTION_ID,
    QUESTION_TEXT,
    RETRIEVED,
    Ranked,
    checked_id,
    convert,
    first_of,
    note_duplicates,
    note_unknown,
    questions_from,
    rankings_from,
)
from befund_client._files.source import Loaded, Notes, Source, Spot, parsed, shown

SEPARATOR = "|"
LISTS = frozenset({"relevant", "non_relevant", "tags", "expected_facts", "reference_answers", "roles", *RETRIEVED})
OBJECTS = frozenset({"evidence", "metadata", "human", "generation"})
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
RANKED_ID = CHUNK_ID[1:]
RANKING_COLUMNS = {*QUESTION_ID, *RANKED_ID, "rank", "score", "roles"}


_ROWS_AT_ONCE = 1000
_FIELD_LIMIT = threading.Lock()


class _Hit(msgspec.Struct, frozen=True):
    rank: float
    entry: RankingEntry
    spot: Spot


def csv_dataset(source: Source) -> Loaded[Dataset]:
    """Read a data set with one question a row."""
    notes = Notes()
    rows = csv_records(source, notes, (*QUESTION_ID, *QUESTION_TEXT))
    return Loaded(Dataset(questions=questions_from(rows, notes)), "csv", notes.lines())


def csv_rankings(source: Source) -> Loaded[dict[str, list[Ranked]]]:
    """Read rankings with one retrieved chunk a row, or one question a row with a list of ids."""
    notes = Notes()
    header = header_of(source)
    if not header & set(RANKED_ID) and header & set(RETRIEVED):
        rows = csv_records(source, notes, (*QUESTION_ID, *QUESTION_TEXT))
        return Loaded(rankings_from(rows, notes), "csv", notes.lines())
    if not header & set(RANKED_ID):
        raise source.error("no column chunk_id: rankings have the columns question_id, chunk_id, rank, score", 1)
    if "rank" not in header:
        notes.say("no column rank: the order of the rows is the rank order, whatever the scores")
    hits: dict[str, list[_Hit]] = {}
    for row, spot in _rows(source, notes, QUESTION_ID):
        note_unknown(row, RANKING_COLUMNS, spot, notes)
        question = first_of(row, QUESTION_ID)
        if not question:
            raise spot.error("no question_id in this row")
        checked_id(question, spot)
        ranking = hits.setdefault(question, [])
        if first_of(row, RANKED_ID):
            ranking.append(_hit(row, spot))
        else:
            notes.count("rows without a chunk, read as a question that retrieved nothing", str(spot))
    return Loaded(
        {question: _ordered(found, notes, question) for question, found in hits.items()}, "csv", notes.lines()
    )


def csv_records(source: Source, notes: Notes, required: Sequence[str]) -> Iterator[tuple[dict[str, object], Spot]]:
    """The rows as records; one of the columns in `required` must be there, the first for choice."""
    return ((_record(row, spot), spot) for row, spot in _rows(source, notes, required))


def header_of(source: Source) -> set[str]:
    """The column names in the first line; none where it is no header."""
    line = _first_line(source.data).decode()
    try:
        return {_column(cell) for cell in next(csv.reader([line], delimiter=_delimiter(line)), [])}
    except csv.Error:
        return set()


def _rows(source: Source, notes: Notes, required: Sequence[str]) -> Iterator[tuple[dict[str, str], Spot]]:
    """The rows that hold anything, without their empty cells."""
    header: list[str] = []
    for cells, line in _cells(source):
        spot = Spot(source, line)
        if not any(cell.strip() for cell in cells):
            notes.count("empty rows skipped", str(spot))
        elif not header:
            header = _checked_header([_column(cell) for cell in cells], required, spot)
        elif len(cells) != len(header):
            raise spot.error(
                f"{len(cells)} cells where the header has {len(header)}: quote cells that hold the separator"
            )
        else:
            yield {name: cell.strip() for name, cell in zip(header, cells, strict=True) if cell.strip()}, spot


def _cells(source: Source) -> Iterator[tuple[list[str], int]]:
    """The cells of each row, however long, and the line at which it begins."""
    text = source.text
    delimiter = _delimiter(_first_line(source.data).decode())
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    broken: csv.Error | None = None
    while broken is None:
        block: list[tuple[list[str], int]] = []
        with _FIELD_LIMIT:  # the limit is the whole process's: raised while our rows are read, then put back
            limit = csv.field_size_limit(len(text) + 1)
            try:
                for cells in islice(reader, _ROWS_AT_ONCE):
                    block.append((cells, line))
                    line = reader.line_num + 1
            except csv.Error as error:
                broken = error
            finally:
                csv.field_size_limit(limit)
        yield from block
        if not block and broken is None:
            return
    raise source.error(f"broken CSV ({broken}): check the quotes of this row", line) from broken


def _first_line(data: bytes) -> bytes:
    return data.partition(b"\n")[0].partition(b"\r")[0]


def _checked_header(header: list[str], required: Sequence[str], spot: Spot) -> list[str]:
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise spot.error(f"the column {twice!r} is there twice")
    if set(header).isdisjoint(required):
        first, *others = required
        raise spot.error(f"no column {first} in the header, which is: {', '.join(header)} (nor {', '.join(others)})")
    return header


def _column(cell: str) -> str:
    return cell.strip().lower()


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)


def _record(row: dict[str, str], spot: Spot) -> dict[str, object]:
    return {name: _cell(name, cell, spot) for name, cell in row.items()}


def _cell(name: str, cell: str, spot: Spot) -> object:
    if name in OBJECTS or (name in LISTS and cell[0] in "[{"):
        return spot.source.json(cell, first_line=spot.line or 1)
    if name in LISTS:
        return [part.strip() for part in cell.split(SEPARATOR) if part.strip()]
    if name == "critical":
        if cell.lower() not in TRUTHS:
            raise spot.error(f"critical is {shown(cell)}: write true or false")
        return TRUTHS[cell.lower()]
    return cell


def _hit(row: dict[str, str], spot: Spot) -> _Hit:
    values = {name: parsed(row[name]) for name in ("rank", "score") if name in row}
    for name, value in values.items():
        if value is None:
            raise spot.error(f"the {name} {shown(row[name])} is not a finite number")
    roles = _cell("roles", row["roles"], spot) if "roles" in row else None
    fields = {"id": first_of(row, RANKED_ID), "score": values.get("score"), "roles": roles}
    entry = convert(fields, RankingEntry, spot, "row")
    return _Hit(values.get("rank") or 0.0, entry, spot)


def _ordered(hits: list[_Hit], notes: Notes, question: str) -> list[Ranked]:
    hits = sorted(hits, key=lambda hit: hit.rank)
    ranks = [hit.rank for hit in hits if hit.rank]
    if len(set(ranks)) < len(ranks):
        notes.count(
            "questions with one rank given twice, where the order of the rows decides", f"question {question!r}"
        )
    plain = all(hit.entry.score is None and hit.entry.roles is None for hit in hits)
    ranking: list[Ranked] = [hit.entry.id if plain else hit.entry for hit in hits]
    note_duplicates(ranking, notes, question=question)
    return ranking
