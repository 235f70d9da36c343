"""TREC files: judgements (qrels) and runs, in columns split by blanks or tabs."""

from __future__ import annotations

from collections.abc import Iterator

from befund.contract import Dataset
from befund_client._files.records import LONGEST_ID, Ranked, by_score, checked_id, judged_question, note_duplicates
from befund_client._files.source import Loaded, Notes, Source, Spot, parsed, shown

QRELS = "question, iteration, id, grade"
RUN = "question, Q0, id, rank, score, tag"
_LOOKED_AT = 20
BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]


def trec_dataset(source: Source) -> Loaded[Dataset]:
    """Read qrels: TREC's four columns, or BEIR's three under a header."""
    notes = Notes()
    grades: dict[str, dict[str, float]] = {}
    lines: dict[tuple[str, str], int] = {}
    width = 3 if is_beir_qrels(source) else 4
    for line, columns in _rows(source, notes, header=width == 3):
        if len(columns) != width:
            hint = " (this is a run: give it as rankings)" if width == 4 and len(columns) >= 6 else ""
            expected = QRELS if width == 4 else "query-id, corpus-id, score"
            raise source.error(f"{len(columns)} columns where qrels have {width}: {expected}{hint}", line)
        question, chunk = columns[0].decode(), columns[-2].decode()
        grade = parsed(columns[-1].decode())
        if grade is None:
            raise source.error(f"the grade {shown(columns[-1].decode())} is not a finite number", line)
        known = grades.setdefault(question, {})
        first = lines.setdefault((question, chunk), line)
        if first != line and known[chunk] != grade:
            both = f"{known[chunk]:g} at line {first} and {grade:g} at line {line}"
            raise source.error(f"{chunk!r} has two grades for question {question!r}, {both}: keep one", line)
        if first != line:
            notes.count("judgements given twice, kept once", f"line {line}")
        known[chunk] = grade
    questions = [
        judged_question(question, known, Spot(source, lines[question, next(iter(known))]), notes)
        for question, known in grades.items()
    ]
    if not questions:
        raise source.error("holds no judgement")
    return Loaded(Dataset(questions=questions), "trec" if width == 4 else "beir", notes.lines())


def trec_rankings(source: Source) -> Loaded[dict[str, list[Ranked]]]:
    """Read a run: the score orders, then the id, both descending; the rank column is not read."""
    notes = Notes()
    notes.say("sorted by score, then id, both descending; the rank column is not read")
    scores: dict[str, list[tuple[float, str]]] = {}
    for line, columns in _rows(source, notes, header=False):
        if len(columns) < 6:
            hint = " (these are qrels: give them as the data set)" if len(columns) == 4 else ""
            raise source.error(f"{len(columns)} columns where a run has 6: {RUN}{hint}", line)
        if len(columns) > 6:
            notes.count("lines with text after the sixth column, which is ignored", f"line {line}")
        score = parsed(columns[4].decode())
        if score is None:
            raise source.error(f"the score {shown(columns[4].decode())} is not a finite number", line)
        question, chunk = columns[0].decode(), columns[2].decode()
        if max(len(question), len(chunk)) > LONGEST_ID:
            checked_id(max(question, chunk, key=len), Spot(source, line))
        scores.setdefault(question, []).append((score, chunk))
    rankings: dict[str, list[Ranked]] = {}
    for question, scored in scores.items():
        ranking = rankings[question] = [*by_score(scored, notes, question=question)]
        note_duplicates(ranking, notes, question=question)
    if not rankings:
        raise source.error("holds no ranking")
    return Loaded(rankings, "trec", notes.lines())


def is_trec(source: Source) -> bool:
    """Whether any of the first lines is one of qrels or of a run, or nearly so: what is damaged is still TREC."""
    lines = [line.split() for line in source.data.split(b"\n", _LOOKED_AT)[:_LOOKED_AT] if not line.startswith(b"#")]
    rows = [columns for columns in lines if columns]
    return not rows or any(_is_row(columns) for columns in rows)


def _is_row(columns: list[bytes]) -> bool:
    if len(columns) >= 3 and columns[1].upper() in {b"0", b"Q0"}:
        return True
    figures = {4: columns[-1:], 6: columns[3:5]}.get(len(columns), [])
    return bool(figures) and all(parsed(figure.decode()) is not None for figure in figures)


def is_beir_qrels(source: Source) -> bool:
    """Whether the first line is the header BEIR puts over its qrels."""
    return source.data.partition(b"\n")[0].lower().split() == BEIR_HEADER


def _rows(source: Source, notes: Notes, *, header: bool) -> Iterator[tuple[int, list[bytes]]]:
    # Bytes, because they split at ASCII blanks alone, as TREC's own reader does.
    for line, written in enumerate(source.data.split(b"\n"), start=1):
        columns = written.split()
        if not columns or (header and line == 1):
            continue
        if written.startswith(b"#"):
            notes.count("comment lines skipped", f"line {line}")
            continue
        yield line, columns
