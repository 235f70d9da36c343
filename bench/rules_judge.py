"""How long the rules judge takes for an answer of 2 KB, without and with a context of 2.5 KB.

    python bench/rules_judge.py [--answers 200]

Answers and contexts are put together from sentences of the bundled documents, every answer another, so that no answer
was read before. Passages of a context were, as where questions find the same ones; a context is new, or the same again
as where several systems answer one question. Printed is this process's CPU time, which other work on the machine
disturbs less than the time that passes: the median, and what the fastest tenth of the answers stays below.
"""

import argparse
import json
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from befund.adapters.lexicon import InstalledLexicon
from befund.adapters.rules_judge import WEIGHTS
from befund.core.judging import Item, Passage
from befund.core.rules.judge import Knowledge, judge
from befund.core.rules.weights import Weights

ANSWERS = Path(__file__).parents[1] / "data" / "teralune" / "answers.jsonl"
ANSWER_BYTES, CONTEXT_BYTES = 2_000, 2_500
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")


def main() -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=200)
    count = parser.parse_args().answers
    knowledge = Knowledge(InstalledLexicon(), msgspec.json.decode(WEIGHTS.read_bytes(), type=Weights))
    texts = Texts()
    same = texts.context()
    cases: dict[str, Callable[[], list[Passage] | None]] = {
        "without a context": lambda: None,
        "with a new context": texts.context,
        "with the same context again": lambda: same,
    }
    for name, context in cases.items():
        items = [texts.item(context()) for _ in range(count)]
        found = [milliseconds(item, knowledge) for item in items[count // 4 :]]
        tenth = statistics.quantiles(found, n=10)[0]
        print(
            f"{name:28} {statistics.median(found):5.2f} ms of CPU an answer of 2 KB ({tenth:.2f} at the fastest tenth)"
        )


def milliseconds(item: Item, knowledge: Knowledge) -> float:
    """CPU time of judging it once."""
    started = time.process_time()
    judge(item, knowledge)
    return (time.process_time() - started) * 1000


class Texts:
    """Passages of the bundled documents, and answers made of their sentences."""

    def __init__(self) -> None:
        rows = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
        self._passages = list(dict.fromkeys(chunk["text"] for row in rows for chunk in row["context"]))
        sentences = [each for text in self._passages for each in _SENTENCE_ENDS.split(text) if "\n" not in each]
        self._sentences = list(dict.fromkeys(each for each in sentences if len(each) > 70))
        self._chance = random.Random(1)  # noqa: S311 - the same texts every time

    def item(self, context: list[Passage] | None) -> Item:
        """An answer of 2 KB with a fact and a reference."""
        answer = " ".join(self._chance.sample(self._sentences, 40))[:ANSWER_BYTES]
        return Item("How long does Orbit 3.0 retry?", answer, ["72 hours"], ["It is retried for 72 hours."], context)

    def context(self) -> list[Passage]:
        """Passages of 2.5 KB together, the last one cut."""
        left, found = CONTEXT_BYTES, []
        while left > 0:
            text = self._chance.choice(self._passages)[:left]
            found.append(Passage(f"c{len(found)}", text))
            left -= len(text)
        return found


if __name__ == "__main__":
    main()
