from typing import Any

import pytest

from befund.contract import DecidedBy, Usage
from befund.core.judged import Judged, judged_by, nothing_said
from befund.core.judging import (
    ABSTAINED,
    NOT_EVALUABLE,
    Claim,
    Fact,
    Item,
    Observation,
    Outcome,
    Passage,
    scored,
)
from befund.core.voting import filled_up, is_decided, majority

ITEM = Item("?", "An answer.", expected_facts=["f"], context=[Passage("c", "Text.")], expected_behavior="answer")
YES, NO = scored(True), scored(False)


def seen(fact: Any = "stated", claim: Any = "supported", behavior: Any = "answer", **more: Any) -> Judged:
    observation = Observation(facts=[Fact("f", fact)], claims=[Claim("c", claim)], observed_behavior=behavior, **more)
    return judged_by("j", ITEM, observation, usage=Usage(input_tokens=10, output_tokens=1, cached_tokens=0))


@pytest.mark.parametrize(
    ("facts", "outcome", "agreement"),
    [
        (["stated"], YES, 1.0),
        (["stated", "stated", "missing"], YES, 2 / 3),
        (["missing", "stated", "contradicted"], NO, 2 / 3),
        (["stated", "missing"], ABSTAINED, 0.5),
        (["stated", "stated", "missing", "missing"], ABSTAINED, 0.5),
        (["stated", None, None], ABSTAINED, 2 / 3),
        (["stated", "missing", None], ABSTAINED, 1 / 3),
        (["stated", "stated", None], YES, 2 / 3),
        ([None, None], ABSTAINED, 1.0),
    ],
)
def test_more_than_half_of_all_votes_decide(facts: list[Any], outcome: Outcome, agreement: float) -> None:
    judged = majority([seen(fact) for fact in facts], judge="jury")
    assert judged.verdicts.correct == outcome
    assert judged.agreement == pytest.approx(agreement)


def test_each_dimension_has_its_own_majority() -> None:
    votes = [seen("missing", "supported"), seen("stated", "supported"), seen("stated", "unsupported")]
    judged = majority(votes, judge="jury")
    assert (judged.verdicts.correct, judged.verdicts.faithful, judged.verdicts.behaved) == (YES, YES, YES)
    assert judged.observation.facts[0].verdict == "stated"
    assert judged.observation.claims[0].verdict == "supported"
    assert judged.agreement == pytest.approx(2 / 3)


def test_the_facts_shown_are_those_of_the_majority() -> None:
    judged = majority([seen("missing", reason="No."), seen(reason="Yes."), seen(reason="Also.")], judge="jury")
    assert (judged.observation.facts[0].verdict, judged.observation.reason) == ("stated", "Yes.")


def test_what_cannot_be_evaluated_stays_so() -> None:
    item = Item("?", "An answer.")
    judged = majority([judged_by("j", item, Observation(observed_behavior="answer"))] * 3, judge="jury")
    assert (judged.verdicts.correct, judged.verdicts.behaved, judged.agreement) == (NOT_EVALUABLE, NOT_EVALUABLE, 1.0)
    assert judged.decided_by == DecidedBy(correct=None, faithful=None, behaved=None)


def test_votes_are_paid_together_and_an_unknown_part_stays_unknown() -> None:
    assert majority([seen(), seen()], judge="j").usage == Usage(
        input_tokens=20, output_tokens=2, cached_tokens=0, cost_usd=None
    )


def test_every_flag_is_kept_once() -> None:
    votes = [seen(flags=("A",)), seen(flags=("B", "A")), seen()]
    assert majority(votes, judge="j").observation.flags == ("A", "B")


def test_a_cascade_takes_from_the_next_only_what_was_left_open() -> None:
    rules = judged_by(
        "rules",
        ITEM,
        Observation(facts=[Fact("f", "missing")], claims=[Claim("c", None)], observed_behavior="answer", reason="R."),
    )
    model = judged_by(
        "model",
        ITEM,
        Observation(
            facts=[Fact("f", "stated")], claims=[Claim("c", "supported")], observed_behavior="deny", reason="M."
        ),
    )
    assert not is_decided(rules)
    judged = filled_up(rules, model)
    assert (judged.verdicts.correct, judged.verdicts.faithful, judged.verdicts.behaved) == (NO, YES, YES)
    assert judged.decided_by == DecidedBy(correct="rules", faithful="model", behaved="rules")
    assert (judged.observation.facts[0].verdict, judged.observation.claims[0].verdict) == ("missing", "supported")
    assert (judged.observation.observed_behavior, judged.observation.reason) == ("answer", "R. M.")


def test_what_both_leave_open_is_open_and_nobodys() -> None:
    judged = filled_up(seen(claim=None), seen(claim=None))
    assert judged.verdicts.faithful == ABSTAINED
    assert judged.decided_by.faithful is None
    assert judged.decided_by.correct == "j"


def test_an_answer_that_says_nothing_misses_every_fact() -> None:
    item = Item("How long?", "Answer:", expected_facts=["f"], reference_answers=["r"], expected_behavior="no_answer")
    judged = judged_by("j", item, nothing_said(item))
    assert (judged.verdicts.correct, judged.verdicts.behaved) == (NO, NO)
    assert judged.observation.flags == ("EMPTY_ANSWER",)
