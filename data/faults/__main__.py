"""Seed faults into a pipeline over the bundled corpus, and see whether diagnoses trace them to what was broken.

python data/faults            print a table, exit 1 if a fault is not traced
python data/faults --json     print what was diagnosed
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "service"))

from pipeline import Fault, Pipeline
from seeded import FAULTS

from befund.bundled import bundled
from befund.here import service

QUESTIONS = "teralune/questions.jsonl"


def main() -> int:
    """Seed, diagnose, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(diagnosed(Path(folder)))
    traced = [is_traced(fault, each) for fault, each in zip(FAULTS, found, strict=True)]
    if options.json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        print(table(found))
        print(f"\n{sum(traced)} of {len(FAULTS)} faults are traced to what was seeded.")
    return 0 if all(traced) else 1


async def diagnosed(folder: Path) -> list[dict[str, Any]]:
    """What the service says of every fault, all of them sent in one batch."""
    lines = (bundled(QUESTIONS) / QUESTIONS).read_text(encoding="utf-8").splitlines()
    questions = {question["id"]: question for question in map(json.loads, lines)}
    pipeline = Pipeline(folder)
    await pipeline.open()
    items = [await pipeline.item(number, fault, questions[fault.question]) for number, fault in enumerate(FAULTS)]
    await pipeline.close()
    os.environ["BEFUND_DATA_DIR"] = str(folder)
    async with service(None) as client:
        body = json.dumps({"dataset": "teralune", "judge": "rules", "items": items}).encode()
        answer = json.loads(await client.post("/diagnose/batch", body))
    return [result["diagnosis"] or {"problem": result["problem"]} for result in answer["results"]]


def is_traced(fault: Fault, found: dict[str, Any]) -> bool:
    """Whether class and cause are what was seeded."""
    cause = (found.get("cause") or {}).get("code")
    return (found.get("diagnosis"), cause) == (fault.diagnosis, fault.cause)


def table(found: list[dict[str, Any]]) -> str:
    """The faults with what was found, in Markdown."""
    lines = ["| seeded | question | found | because |", "|---|---|---|---|"]
    for fault, each in zip(FAULTS, found, strict=True):
        cause = each.get("cause") or {}
        mark = "" if is_traced(fault, each) else f" (seeded: {fault.diagnosis} {fault.cause})"
        detail = str(cause.get("detail", each.get("problem"))).replace("|", "\\|")
        lines.append(f"| {fault.kind} | {fault.question} | `{cause.get('code')}`{mark} | {detail} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
