"""How sure a verdict is, from what it follows from."""

from typing import Any

import pytest

from befund.core.confidence import confidence_of
from befund.core.judged import Judged, judged_by, nothing_said
from befund.core.judging import Claim, Fact, Item, Observation, Passage, verdicts_of
from befund.core.voting import filled_up, majority

ITEM = Item("?", "An answer.", ["f", "g"], context=[Passage("c", "Text.")], expected_behavior="answer")


def sure(facts: list[Fact], claims: list[Claim], *, behavior: Any = "answer", **more: Any) -> list[float | None]:
    seen = Observation(facts, claims=claims, observed_behavior=behavior, behavior_confidence=0.9, **more)
    found = confidence_of(ITEM, seen, verdicts_of(ITEM, seen))
    return [found.correct, found.faithful, found.behaved]


def fact(verdict: Any, confidence: float | None) -> Fact:
    return Fact("f", verdict, confidence=confidence)


def claim(verdict: Any, confidence: float | None, *, verified: bool | None = None) -> Claim:
    return Claim("c", verdict, quote_verified=verified, confidence=confidence)


def test_what_needs_all_is_as_sure_as_the_least_sure() -> None:
    assert sure([fact("stated", 0.9), fact("stated", 0.6)], [claim("supported", 0.7), claim("supported", 0.8)]) == [
        0.6,
        0.7,
        0.9,
    ]


def test_what_falls_with_one_is_as_sure_as_the_surest_that_fails() -> None:
    facts = [fact("missing", 0.6), fact("contradicted", 0.8), fact("stated", 0.99), fact(None, None)]
    claims = [claim("unsupported", 0.7), claim(None, None), claim("supported", 0.95)]
    assert sure(facts, claims)[:2] == [0.8, 0.7]


def test_a_support_whose_quote_is_not_there_fails_like_the_others() -> None:
    assert sure([], [claim("supported", 0.7, verified=False)])[1] == 0.7


def test_a_refusal_is_as_sure_as_its_behaviour() -> None:
    assert sure([fact("missing", 0.5)], [], behavior="no_answer") == [0.9, 0.9, 0.9]


def test_an_abstention_is_not_sure_of_anything() -> None:
    assert sure([fact(None, None)], [claim(None, None)], behavior=None) == [None, None, None]


def test_a_judge_that_says_nothing_of_one_part_says_nothing_of_the_whole() -> None:
    assert sure([fact("stated", 0.9), fact("stated", None)], [claim("supported", 0.7)])[:2] == [None, 0.7]


def test_agreement_with_a_reference_counts_beside_facts() -> None:
    item = Item("?", "An answer.", ["f"], ["r"])
    seen = Observation([fact("stated", 0.9)], agrees=True, observed_behavior="answer", agrees_confidence=0.7)
    assert confidence_of(item, seen, verdicts_of(item, seen)).correct == 0.7


def test_an_answer_that_says_nothing_is_certainly_wrong() -> None:
    item = Item("?", "", ["f"], expected_behavior="answer")
    found = judged_by("j", item, nothing_said(item)).confidence
    assert (found.correct, found.faithful, found.behaved) == (1.0, None, 1.0)


def seen_by(verdict: Any, confidence: float | None) -> Judged:
    facts = [fact(verdict, confidence), fact("stated", confidence)]
    return judged_by("j", ITEM, Observation(facts, claims=[claim(None, None)], observed_behavior="answer"))


def test_of_several_votes_it_is_their_share() -> None:
    votes = [seen_by("stated", 0.9), seen_by("stated", None), seen_by("missing", 0.9)]
    assert majority(votes, judge="jury").confidence.correct == pytest.approx(2 / 3)
    assert majority(votes, judge="jury").confidence.faithful is None


def test_in_a_cascade_it_is_that_of_who_decided() -> None:
    assert filled_up(seen_by(None, None), seen_by("stated", 0.8)).confidence.correct == 0.8
    assert filled_up(seen_by("stated", 0.7), seen_by("missing", 0.8)).confidence.correct == 0.7
