"""Refusals, denials and questions against answers that sound alike, in both languages."""

from pathlib import Path

import msgspec
import pytest

from befund.core.judging import Item, Passage, verdicts_of
from befund.core.rules.judge import Knowledge, judge

MEANING = {"a": "answer", "n": "no_answer", "d": "deny", "c": "clarify", "?": None}


def cases() -> list[tuple[str, str, str | None]]:
    found = []
    for block in (Path(__file__).parent / "behaviors.txt").read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        question = next((line[2:] for line in lines if line.startswith("Q ")), "")
        found += [(question, line[2:], MEANING[line[0]]) for line in lines if line[0] in MEANING]
    return found


@pytest.mark.parametrize(("question", "answer", "behavior"), cases())
def test_a_refusal_is_told_from_an_answer(
    knowledge: Knowledge, question: str, answer: str, behavior: str | None
) -> None:
    assert judge(Item(question, answer), knowledge).observed_behavior == behavior


def test_what_may_be_a_refusal_is_abstained_on(knowledge: Knowledge) -> None:
    item = Item("Which colours are there?", "Not available.", context=[Passage("c", "It holds 1.5 litres.")])
    found = verdicts_of(msgspec.structs.replace(item, expected_behavior="answer"), judge(item, knowledge))
    assert (found.faithful.status, found.behaved.status) == ("abstained", "abstained")


def test_what_may_be_a_refusal_is_an_answer_where_it_states_the_fact(knowledge: Knowledge) -> None:
    item = Item("What about hail?", "Not covered.", expected_facts=["not covered"], expected_behavior="answer")
    found = verdicts_of(item, judge(item, knowledge))
    assert (found.correct.verdict, found.behaved.verdict) == (True, True)
