#!/usr/bin/env python3
"""Search the Teralune corpus by BM25 and write what came back, and what is right, in TREC's formats.

python data/demo/make_run.py           write teralune.qrels and teralune-bm25.run beside this file
python data/demo/make_run.py FOLDER    write them there

The same corpus always gives the same bytes.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "teralune"
sys.path.insert(0, str(HERE.parents[1] / "service"))

from befund.adapters.splitter import split_markdown  # noqa: E402  (needs the path above)

K1 = 1.2
B = 0.75
DEPTH = 20


def main(folder: Path = HERE) -> None:
    """Write both files."""
    mapping: dict[str, list[str]] = json.loads((CORPUS / "evidence_mapping.json").read_text(encoding="utf-8"))
    lines = (CORPUS / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [question for question in map(json.loads, lines) if is_mapped(question, mapping)]
    words = {chunk: Counter(tokens(text)) for chunk, text in chunks().items()}
    found = {question["id"]: search(question["question"], words) for question in questions}
    qrels = [
        f"{question['id']} 0 {chunk} {grade}"
        for question in questions
        for chunk, grade in sorted(grades(question, mapping).items())
    ]
    run = [
        f"{question} Q0 {chunk} {rank} {score:.4f} bm25"
        for question, ranking in found.items()
        for rank, (score, chunk) in enumerate(ranking, start=1)
    ]
    for name, written in (("teralune.qrels", qrels), ("teralune-bm25.run", run)):
        (folder / name).write_bytes("".join(f"{line}\n" for line in written).encode())


def is_mapped(question: dict[str, Any], mapping: dict[str, list[str]]) -> bool:
    """Whether there is evidence and all of it is in the index; judged by a part, a search would look too good."""
    return bool(question["evidence"]) and all(evidence["id"] in mapping for evidence in question["evidence"])


def grades(question: dict[str, Any], mapping: dict[str, list[str]]) -> dict[str, int]:
    """Chunk to grade: that of its evidence, the highest where it holds several."""
    best: dict[str, int] = {}
    for evidence in question["evidence"]:
        for chunk in mapping[evidence["id"]]:
            best[chunk] = max(best.get(chunk, 0), evidence["relevance"])
    return best


def chunks() -> dict[str, str]:
    """Texts of the chunks by id, cut as the mapping expects."""
    return {
        chunk.id: chunk.text
        for path in sorted((CORPUS / "documents").glob("*.md"))
        for chunk in split_markdown(path.read_text(encoding="utf-8"), document_id=path.name.partition("-")[0])
    }


def search(query: str, words: dict[str, Counter[str]]) -> list[tuple[float, str]]:
    """Score and id of the best chunks by BM25 with Lucene's idf; a chunk without any word of the query is left out.

    Scores are rounded before they order, ids break ties in descending order: as whoever reads the file will see it.
    """
    average = sum(map(Counter.total, words.values())) / len(words)
    scores: defaultdict[str, float] = defaultdict(float)
    for term in dict.fromkeys(tokens(query)):
        holding = {chunk: counts[term] for chunk, counts in words.items() if term in counts}
        idf = math.log(1 + (len(words) - len(holding) + 0.5) / (len(holding) + 0.5))
        for chunk, count in holding.items():
            length = words[chunk].total() / average
            scores[chunk] += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * length))
    return sorted(((round(score, 4), chunk) for chunk, score in scores.items()), reverse=True)[:DEPTH]


def tokens(text: str) -> list[str]:
    """Lower-cased words."""
    return re.findall(r"\w+", text.lower())


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
