"""A BEIR folder: queries.jsonl, and judgements as qrels/SPLIT.tsv."""

from __future__ import annotations

from pathlib import Path

import msgspec

from befund.contract import Dataset
from befund_client._errors import FileError
from befund_client._files.json_files import query_texts
from befund_client._files.records import WITHOUT_TEXT
from befund_client._files.source import Loaded, open_source
from befund_client._files.trec import trec_dataset


def beir_dataset(folder: Path, *, split: str | None) -> Loaded[Dataset]:
    """Read the questions that one split judges; each carries the split's name."""
    queries = next((path for path in (folder / "queries.jsonl", folder / "queries.jsonl.gz") if path.is_file()), None)
    if queries is None:
        raise FileError(folder, "is a folder without queries.jsonl: a BEIR folder has one, and qrels/test.tsv")
    qrels, chosen = _qrels(folder, split)
    judged = trec_dataset(open_source(qrels))
    dataset = with_texts(judged, query_texts(open_source(queries)))
    questions = [msgspec.structs.replace(question, split=chosen) for question in dataset.value.questions]
    notes = (f"judgements from qrels/{qrels.name}", *dataset.notes)
    return Loaded(msgspec.structs.replace(dataset.value, questions=questions), "beir", notes)


def with_texts(judged: Loaded[Dataset], texts: dict[str, str]) -> Loaded[Dataset]:
    """Give questions read from judgements their texts."""
    known = {question.id for question in judged.value.questions}
    questions = [
        msgspec.structs.replace(question, question=texts.get(question.id) or question.question)
        for question in judged.value.questions
    ]
    without = sum(1 for identity in known if not texts.get(identity))
    notes = [note for note in judged.notes if not note.startswith(WITHOUT_TEXT)]
    if without:
        notes.append(f"{WITHOUT_TEXT}: {without}")
    if texts.keys() - known:
        notes.append(f"questions without a judgement left out: {len(texts.keys() - known)}")
    dataset = msgspec.structs.replace(judged.value, questions=questions)
    return Loaded(dataset, judged.format, tuple(notes))


def _qrels(folder: Path, split: str | None) -> tuple[Path, str]:
    files = {path.name.split(".")[0]: path for path in sorted((folder / "qrels").glob("*.tsv*"))}
    held = ", ".join(files) or "nothing"
    chosen = split or (next(iter(files)) if len(files) == 1 else "test")
    if chosen not in files:
        raise FileError(folder / "qrels", f"holds no {chosen}.tsv, only {held}: name a split that is there")
    return files[chosen], chosen
