"""How the rules judge shares its threads."""

import asyncio

import pytest

from befund.adapters.rules_judge import RulesJudge
from befund.core.judging import Item, Passage

pytestmark = pytest.mark.anyio

QUESTION = "How long does Orbit 3.0 retry?"


def large(number: int) -> Item:
    context = [
        Passage(f"c{at}", " ".join(f"Device {number}x{at}x{row} of hall{row} waits {row} hours." for row in range(40)))
        for at in range(30)
    ]
    answer = " ".join(f"Device {number} of hall{row} waits {row} hours." for row in range(150))
    return Item(QUESTION, answer, ["72 hours"], context=context)


async def test_a_small_answer_does_not_wait_behind_large_ones() -> None:
    judge = RulesJudge()
    await judge.load()
    slow = [asyncio.create_task(judge.observe(large(number))) for number in range(4)]
    await asyncio.sleep(0)
    seen = await judge.observe(Item(QUESTION, "72 hours.", ["72 hours"]))
    waiting = [task for task in slow if not task.done()]
    assert seen.facts[0].verdict == "stated"
    assert len(waiting) >= 2
    await asyncio.gather(*slow)
    await judge.close()
