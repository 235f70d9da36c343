"""The recorded answers of the bundled corpus, judged: agreement with their human labels by kind of answer."""

import json
from pathlib import Path
from typing import Any

from befund.core.judging import Item, Passage, Verdicts, verdicts_of
from befund.core.rules.judge import Knowledge, judge

FOLDER = Path(__file__).parents[1] / "data" / "teralune"
DIMENSIONS = ("correct", "faithful", "behaved")


def recorded() -> list[tuple[Item, dict[str, bool | None], str, str]]:
    """Every recorded answer as an item, with its labels, kind and question id."""
    questions = {row["id"]: row for row in _rows("questions.jsonl")}
    found = []
    for row in _rows("answers.jsonl"):
        question = questions[row["question_id"]]
        item = Item(
            question["question"],
            row["answer"],
            tuple(question["expected_facts"]),
            tuple(question["reference_answers"]),
            tuple(Passage(chunk["id"], chunk["text"]) for chunk in row["context"]),
            question["expected_behavior"],
        )
        found.append((item, row["human"], row["kind"], row["question_id"]))
    return found


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def judged(knowledge: Knowledge, *, force: bool = False) -> list[tuple[str, str, dict[str, bool | None], Verdicts]]:
    """Question id, kind, labels and verdicts of every recorded answer."""
    return [
        (name, kind, human, verdicts_of(item, judge(item, knowledge, force=force)))
        for item, human, kind, name in recorded()
    ]


def table(knowledge: Knowledge) -> str:
    """Markdown: a row a dimension."""
    lines = ["| recorded answers | labelled | agree | differ | abstained |", "|---|---|---|---|---|"]
    found = judged(knowledge)
    for dimension in DIMENSIONS:
        pairs = [
            (human[dimension], getattr(verdicts, dimension).verdict)
            for _, _, human, verdicts in found
            if human[dimension] is not None
        ]
        agree = sum(said == label for label, said in pairs)
        silent = sum(said is None for _, said in pairs)
        lines.append(f"| {dimension} | {len(pairs)} | {agree} | {len(pairs) - agree - silent} | {silent} |")
    return "\n".join(lines)
