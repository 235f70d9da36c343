"""Human-labelled samples, read in place; they are other people's data and no part of this repository."""

import json
import sys
from pathlib import Path
from typing import Any

from befund.core.judging import Item, Passage

DEFAULT = Path(__file__).parents[2] / "shared" / "calibration"
SOURCES = {
    "NQ301": "correctness_openqa_nq301",
    "EVOUNA-NQ": "correctness_evouna_nq",
    "EVOUNA-TQ": "correctness_evouna_tq",
    "BEGIN": "faithfulness_begin_wow",
    "WiCE": "faithfulness_wice",
    "Factcheck-GPT": "faithfulness_factcheckgpt",
}


class Sample:
    """One item with its human label: `correct` or `faithful`, whichever the source labels."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.id: str = row["id"]
        self.group: str = row["group"]
        self.dimension = "correct" if row["label_correct"] is not None else "faithful"
        self.label: bool = row[f"label_{self.dimension}"]
        self.item = Item(
            question=row["question"] or "",
            answer=row["answer"],
            reference_answers=tuple(row["reference_answers"]),
            context=tuple(Passage(p["id"], p["text"]) for p in row["context"])
            if self.dimension == "faithful"
            else None,
        )


def read(folder: Path) -> dict[str, list[Sample]]:
    """The samples by source; sources whose file is absent are left out, and said."""
    found = {}
    for name, stem in SOURCES.items():
        path = folder / f"{stem}.dev.jsonl"
        if path.exists():
            found[name] = [Sample(json.loads(line)) for line in path.read_text().splitlines()]
        else:
            print(f"SKIPPED {name}: {path} is not there", file=sys.stderr)
    return found
