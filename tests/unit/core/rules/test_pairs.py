"""Minimal pairs in both languages: one word, figure or sign decides."""

from pathlib import Path

import pytest

from befund.core.judging import Item, Passage, verdicts_of
from befund.core.rules.judge import Knowledge, judge

MEANING = {"y": True, "n": False, "-": None, "?": None}
STATUS = {"y": "scored", "n": "scored", "-": "not_evaluable", "?": "abstained"}


def pairs() -> list[tuple[Item, str, str]]:
    found = []
    texts = [(Path(__file__).parent / name).read_text().rstrip() for name in ("pairs.txt", "meant.txt")]
    for block in "\n\n".join(texts).split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        given = {key: [line[2:] for line in lines if line[:2] == f"{key} "] for key in "QFRC"}
        for line in lines:
            if line[0] in MEANING:
                item = Item(
                    given["Q"][0],
                    line[4:],
                    expected_facts=given["F"],
                    reference_answers=given["R"],
                    context=[Passage(f"c{at}", text) for at, text in enumerate(given["C"])] if given["C"] else None,
                )
                found.append((item, line[0], line[2]))
    return found


PAIRS = pairs()


@pytest.mark.parametrize(
    ("item", "correct", "faithful"), PAIRS, ids=[f"{item.question} {item.answer}"[:120] for item, *_ in PAIRS]
)
def test_a_pair_is_told_apart(knowledge: Knowledge, item: Item, correct: str, faithful: str) -> None:
    found = verdicts_of(item, judge(item, knowledge))
    assert (found.correct.verdict, found.correct.status) == (MEANING[correct], STATUS[correct])
    if faithful != "-" or item.context is None:
        assert (found.faithful.verdict, found.faithful.status) == (MEANING[faithful], STATUS[faithful])


def test_there_are_enough_pairs() -> None:
    assert len(PAIRS) >= 380
