"""What the rules see in a text, in the words of a diagnosis; each is earned by a text that the rules really read."""

import pytest

from befund.core.diagnosis.stating import statement_of
from befund.core.judging import Item
from befund.core.rules.judge import Knowledge, judge

from .conftest import QUESTION

RETRIES = "Orbit 3.0 retries failed webhooks for "
SAID = [
    ("stated", f"{RETRIES}72 hours."),
    ("stated", "Orbit 3.0 wiederholt fehlgeschlagene Webhooks drei Tage lang."),
    ("among_others", f"{RETRIES}24 hours or 72 hours."),
    ("denied", "Orbit 3.0 does not retry failed webhooks for 72 hours."),
    ("denied", "Orbit 3.0 wiederholt fehlgeschlagene Webhooks nicht 72 Stunden lang."),
    ("denied", "It used to be 72 hours, now it is 24 hours."),
    ("denied", "Everyone says 72 hours, but that is wrong."),
    ("objected", f"{RETRIES}at least 72 hours."),
    ("objected", f"{RETRIES}possibly 72 hours."),
    ("objected", f"{RETRIES}24 to 72 hours."),
    ("other_version", "Orbit 2.4 retries failed webhooks for 72 hours."),
    ("nothing", f"{RETRIES}24 hours."),
    ("nothing", "Charities get a discount."),
]


@pytest.mark.parametrize(("what", "text"), SAID)
def test_what_a_text_says_of_a_fact(what: str, text: str, knowledge: Knowledge) -> None:
    (fact,) = judge(Item(QUESTION, text, expected_facts=["72 hours"]), knowledge).facts
    assert statement_of(fact).what == what


def test_a_value_in_other_words_is_an_objection(knowledge: Knowledge) -> None:
    wanted = "30 retries with exponential backoff"
    item = Item("How are failed calls treated?", "The office has 30 windows.", expected_facts=[wanted])
    (fact,) = judge(item, knowledge).facts
    assert statement_of(fact).what == "objected"
