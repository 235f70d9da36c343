"""Classes and causes: the truth table, the generation side, questions that are not to be answered."""

from typing import Any

import msgspec
import pytest

from befund.contract import Diagnosis
from befund.core.diagnosis.diagnose import Examined, class_of, diagnose
from befund.core.diagnosis.evidence import Evidence, FactPlace, Seen
from befund.core.diagnosis.generation import Echo, Said, wrong_statements
from befund.core.diagnosis.gold import Wanted
from befund.core.diagnosis.stating import Statement, Stating
from befund.core.diagnosis.trace import Recorded

from .conftest import QUESTION, claim, fact, judgment

GOLD = Wanted(id="E1", grade=1.0, chunks=["g1"], quote="retried for 72 hours")
THERE = Evidence(True, "text", [FactPlace("72 hours", "g1", "retried for 72 hours")], [Seen(GOLD, True, "text")])
NOT_THERE = Evidence(False, "text", [FactPlace("72 hours")], [Seen(GOLD, False, "text")])
WRONG = "Orbit 3.0 retries for 24 hours."


def diagnosed(evidence: Evidence = THERE, **about: Any) -> Diagnosis:
    given = about.pop("judgment", judgment(facts=[fact("contradicted", WRONG)]))
    said = {"question": QUESTION, "error": None, "gold_chunks": frozenset({"g1"})}
    said |= {name: about.pop(name) for name in ("error", "echoes", "about", "about_gold") if name in about}
    case = {"question_id": "Q1", "expected": "answer", "has_truth": True, "recorded": Recorded(context={"g1": "x"})}
    return diagnose(Examined(**case | about, said=Said(**said, evidence=evidence, judgment=given)))  # type: ignore[arg-type]


def echo(chunk: str, what: Stating, *, statement: str = WRONG) -> Echo:
    return Echo(statement, chunk, Statement(what, quote="for 24 hours"))


def codes(found: Diagnosis) -> list[str]:
    return [cause.code for cause in ([found.cause] if found.cause else []) + found.contributing]


@pytest.mark.parametrize(
    ("evidence", "correct", "expected"),
    [
        (True, True, "SUCCESS"),
        (False, False, "RETRIEVAL_FAILURE"),
        (True, False, "GENERATION_FAILURE"),
        (False, True, "UNSUPPORTED_CORRECT_ANSWER"),
        (None, True, "NOT_EVALUABLE"),
        (True, None, "NOT_EVALUABLE"),
    ],
)
def test_the_class_is_a_truth_table(evidence: bool | None, correct: bool | None, expected: str) -> None:
    assert class_of(evidence, correct) == expected


def test_a_clean_success_has_no_cause_and_no_next_step() -> None:
    found = diagnosed(judgment=judgment(correct=True))
    assert (found.diagnosis, found.cause, found.contributing, found.next_step) == ("SUCCESS", None, [], None)
    assert [stage.stage for stage in found.stages] == [
        "ground_truth", "mapping", "index", "filter", "ranking", "context", "answer", "support",
    ]  # fmt: skip


def test_a_success_with_an_addition_keeps_its_class() -> None:
    found = diagnosed(judgment=judgment(correct=True, faithful=False, claims=[claim("Each retry costs 2 euro.")]))
    assert (found.diagnosis, codes(found)) == ("SUCCESS", ["UNSUPPORTED_ADDITION"])
    assert found.cause is not None
    assert found.cause.passage == "Each retry costs 2 euro."
    assert [stage.state for stage in found.stages][-2:] == ["ok", "failed"]


def test_a_wrong_figure_that_stands_nowhere_was_misread_or_made_up() -> None:
    found = diagnosed(judgment=judgment(facts=[fact("contradicted", WRONG)], faithful=False, claims=[claim(WRONG)]))
    assert (found.diagnosis, codes(found)) == ("GENERATION_FAILURE", ["MISREAD", "OUTSIDE_KNOWLEDGE"])
    assert found.cause is not None
    assert (found.cause.chunk, found.cause.passage) == ("g1", "retried for 72 hours")


def test_a_denied_fact_comes_from_nowhere_else() -> None:
    denied = judgment(facts=[fact("contradicted", "It is not retried for 72 hours.")], faithful=False)
    assert codes(diagnosed(judgment=denied, echoes=[echo("g1", "denied")])) == ["MISREAD"]


def test_the_figure_of_another_version() -> None:
    found = diagnosed(echoes=[echo("c2", "other_version")])
    assert codes(found)[0] == "VERSION_CONFUSION"
    assert found.cause is not None
    assert found.cause.chunk == "c2"


def test_an_answer_about_another_version_than_asked() -> None:
    said = "Orbit 2.4 retries for 24 hours."
    found = diagnosed(echoes=[echo("c2", "stated", statement=said)])
    assert codes(found)[0] == "VERSION_CONFUSION"


def test_a_passage_whose_metadata_is_of_another_version() -> None:
    about = {"c2": {"version": "2.4"}, "g1": {"version": "3.0"}}
    found = diagnosed(echoes=[echo("c2", "stated")], about=about, about_gold={"g1": about["g1"]})
    assert codes(found)[0] == "VERSION_CONFUSION"


def test_a_passage_that_contradicts_the_evidence() -> None:
    found = diagnosed(echoes=[echo("c2", "stated"), echo("g1", "nothing")])
    assert codes(found)[0] == "CONTRADICTORY_CONTEXT"


def test_a_figure_of_the_gold_passage_itself_was_misread() -> None:
    assert codes(diagnosed(echoes=[echo("g1", "stated")])) == ["MISREAD"]


def test_a_fact_left_out() -> None:
    facts = [fact("stated", "72 hours"), fact("missing", name="30 seconds")]
    found = diagnosed(judgment=judgment(facts=facts))
    assert codes(found) == ["OMISSION"]
    assert found.cause is not None
    assert found.cause.detail == 'the answer does not say "30 seconds", though it says "72 hours"'


def test_another_expected_value_contradicts_nothing() -> None:
    facts = [fact("stated", "three years", name="3 years"), fact("contradicted", "three years", name="10 years")]
    assert codes(diagnosed(judgment=judgment(facts=facts))) == ["OMISSION"]


def test_a_refusal_over_its_evidence() -> None:
    assert codes(diagnosed(judgment=judgment(observed_behavior="no_answer"))) == ["WRONG_REFUSAL"]


def test_a_refusal_without_evidence_is_no_fault_of_the_generator() -> None:
    found = diagnosed(NOT_THERE, judgment=judgment(observed_behavior="no_answer"))
    assert (found.diagnosis, codes(found)) == ("RETRIEVAL_FAILURE", ["DROPPED_FROM_CONTEXT"])


def test_an_error_of_the_generator() -> None:
    found = diagnosed(error="timeout")
    assert found.cause is not None
    assert (found.cause.code, found.cause.confidence) == ("GENERATION_ERROR", "measured")
    empty = diagnosed(judgment=judgment(flags=["EMPTY_ANSWER"], observed_behavior=None))
    assert empty.cause is not None
    assert (empty.cause.code, empty.cause.confidence) == ("GENERATION_ERROR", "inferred")


def test_an_earlier_stage_comes_before_an_error_of_the_generator() -> None:
    assert codes(diagnosed(NOT_THERE, error="timeout")) == ["DROPPED_FROM_CONTEXT", "GENERATION_ERROR"]


def test_a_right_answer_from_elsewhere() -> None:
    found = diagnosed(NOT_THERE, judgment=judgment(correct=True, faithful=False))
    assert found.diagnosis == "UNSUPPORTED_CORRECT_ANSWER"
    assert codes(found) == ["DROPPED_FROM_CONTEXT", "OUTSIDE_KNOWLEDGE"]


def test_without_ground_truth_nothing_can_be_told() -> None:
    none = Evidence(None, None, (), [])
    found = diagnosed(none, has_truth=False, judgment=judgment(correct=None))
    assert (found.diagnosis, codes(found)) == ("NOT_EVALUABLE", ["NO_GROUND_TRUTH"])
    assert found.stages[0].state == "failed"


def test_without_a_verdict_the_evidence_is_still_looked_for() -> None:
    assert codes(diagnosed(judgment=judgment(correct=None))) == ["UNKNOWN"]
    found = diagnosed(NOT_THERE, judgment=judgment(correct=None))
    assert (found.diagnosis, codes(found)) == ("NOT_EVALUABLE", ["DROPPED_FROM_CONTEXT"])


def test_without_a_context_nothing_can_be_told() -> None:
    unknown = Evidence(None, None, (), [Seen(GOLD, None, None)])
    found = diagnosed(unknown, recorded=Recorded(context={}))
    assert (found.diagnosis, codes(found), found.evidence_present) == ("NOT_EVALUABLE", ["UNKNOWN"], None)


@pytest.mark.parametrize(
    ("behaved", "observed", "leaks", "expected"),
    [
        (True, "clarify", [], ("SUCCESS", [])),
        (False, "answer", [], ("GENERATION_FAILURE", ["ANSWERED_ANYWAY"])),
        (False, "answer", ["s1"], ("GENERATION_FAILURE", ["ACCESS_LEAK", "ANSWERED_ANYWAY"])),
        (False, "no_answer", [], ("GENERATION_FAILURE", ["WRONG_REFUSAL"])),
        (True, "clarify", ["s1"], ("SUCCESS", ["ACCESS_LEAK"])),
        (None, None, [], ("NOT_EVALUABLE", ["UNKNOWN"])),
    ],
)
def test_questions_that_are_not_to_be_answered(
    behaved: bool | None, observed: str | None, leaks: list[str], expected: tuple[str, list[str]]
) -> None:
    verdict = judgment(correct=None, behaved=behaved, observed_behavior=observed)
    found = diagnosed(judgment=verdict, expected="clarify", leaks=leaks)
    assert (found.diagnosis, codes(found)) == expected
    assert found.evidence_present is None


def test_a_leak_contributes_to_any_answer() -> None:
    found = diagnosed(judgment=judgment(correct=True), leaks=["s1", "s2"])
    assert (found.cause, codes(found)) == (None, ["ACCESS_LEAK"])
    assert found.contributing[0].detail == "the context holds s1, s2, which the role that asks may not read"


def test_the_wrong_words_of_an_answer_are_looked_for() -> None:
    facts = [fact("stated", "72 hours"), fact("contradicted", WRONG)]
    assert wrong_statements(judgment(facts=facts), "…") == [WRONG]
    assert wrong_statements(judgment(facts=[fact("missing")], claims=[claim("It is fast.")]), "…") == ["It is fast."]
    assert wrong_statements(judgment(observed_behavior="no_answer"), "I do not know.") == []


def stage(found: Diagnosis, name: str) -> tuple[str, str | None]:
    return next((each.state, each.detail) for each in found.stages if each.stage == name)


def test_a_failed_answer_says_which_fact_it_lacks_or_denies() -> None:
    facts = [fact("contradicted", WRONG), fact("missing", name="30 seconds"), fact("stated", "x", name="twice")]
    said = f'"72 hours" is contradicted: "{WRONG}"; "30 seconds" is missing'
    assert stage(diagnosed(judgment=judgment(facts=facts)), "answer") == ("failed", said)
    right = diagnosed(judgment=judgment(correct=True, facts=[fact("stated", "x")]))
    assert stage(right, "answer") == ("ok", None)


def test_a_failed_support_says_which_claim_is_not_supported() -> None:
    by_quote = msgspec.structs.replace(claim("It is free.", "contradicted"), chunk_id="c1", quote="It costs 30 euro.")
    found = diagnosed(judgment=judgment(faithful=False, claims=[claim("It rains."), by_quote]))
    said = '"It rains." is unsupported; "It is free." is contradicted by c1: "It costs 30 euro."'
    assert stage(found, "support") == ("failed", said)


def test_many_unsupported_claims_are_counted() -> None:
    claims = [claim(f"Claim {number}.") for number in range(5)]
    _, said = stage(diagnosed(judgment=judgment(faithful=False, claims=claims)), "support")
    assert said is not None
    assert said.endswith('"Claim 2." is unsupported; and 2 more')


def test_what_should_not_have_been_answered_says_so_at_its_stage() -> None:
    found = diagnosed(expected="clarify", judgment=judgment(behaved=False))
    assert stage(found, "answer") == ("failed", "clarify was expected, and the question was answered")
