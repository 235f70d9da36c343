import pytest

from befund.contract import ExpectedBehavior
from befund.core.judging import (
    ABSTAINED,
    NOT_EVALUABLE,
    Claim,
    ClaimVerdict,
    Fact,
    FactVerdict,
    Item,
    Observation,
    Outcome,
    Passage,
    scored,
    verdicts_of,
)

CONTEXT = (Passage("c1", "Retried for 72 hours."),)


@pytest.mark.parametrize(
    ("verdicts", "agrees", "references", "expected"),
    [
        (["stated", "stated"], None, (), scored(True)),
        (["stated", "missing"], None, (), scored(False)),
        (["stated", "contradicted"], None, (), scored(False)),
        (["stated", None], None, (), ABSTAINED),
        ([None, "missing"], None, (), scored(False)),
        ([], True, ("72 hours",), scored(True)),
        ([], False, ("72 hours",), scored(False)),
        ([], None, ("72 hours",), ABSTAINED),
        (["stated"], False, ("72 hours",), scored(False)),
        ([], None, (), NOT_EVALUABLE),
    ],
)
def test_correct_follows_from_facts_and_references(
    verdicts: list[FactVerdict | None], agrees: bool | None, references: tuple[str, ...], expected: Outcome
) -> None:
    item = Item("?", "An answer.", expected_facts=["f"] * len(verdicts), reference_answers=references)
    seen = Observation(facts=[Fact("f", verdict) for verdict in verdicts], agrees=agrees, observed_behavior="answer")
    assert verdicts_of(item, seen).correct == expected


@pytest.mark.parametrize("behavior", ["no_answer", "clarify", "deny"])
def test_a_refusal_is_not_correct_and_faithful(behavior: ExpectedBehavior) -> None:
    item = Item("?", "I do not know.", expected_facts=["f"], context=CONTEXT)
    found = verdicts_of(item, Observation(facts=[Fact("f", "missing")], observed_behavior=behavior))
    assert (found.correct, found.faithful) == (scored(False), scored(True))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["supported", "supported"], scored(True)),
        (["supported", "unsupported"], scored(False)),
        (["supported", "contradicted"], scored(False)),
        (["supported", None], ABSTAINED),
        ([None, "unsupported"], scored(False)),
        ([], ABSTAINED),
    ],
)
def test_faithful_follows_from_claims(verdicts: list[ClaimVerdict | None], expected: Outcome) -> None:
    seen = Observation(claims=[Claim("c", verdict) for verdict in verdicts], observed_behavior="answer")
    assert verdicts_of(Item("?", "An answer.", context=CONTEXT), seen).faithful == expected


def test_a_support_whose_quote_is_not_there_does_not_count() -> None:
    claim = Claim("c", "supported", chunk_id="c1", quote="for ever", quote_verified=False)
    seen = Observation(claims=[claim], observed_behavior="answer")
    assert verdicts_of(Item("?", "An answer.", context=CONTEXT), seen).faithful == scored(False)


@pytest.mark.parametrize("context", [(), (Passage("c1", " \n"),)])
def test_a_factual_answer_over_nothing_is_not_faithful(context: tuple[Passage, ...]) -> None:
    seen = Observation(observed_behavior="answer")
    assert verdicts_of(Item("?", "An answer.", context=context), seen).faithful == scored(False)


@pytest.mark.parametrize("context", [None, (Passage("c1", None),)])
def test_faithfulness_needs_the_text_of_the_context(context: tuple[Passage, ...] | None) -> None:
    seen = Observation(observed_behavior="answer")
    assert verdicts_of(Item("?", "An answer.", context=context), seen).faithful == NOT_EVALUABLE


@pytest.mark.parametrize(
    ("wanted", "observed", "expected"),
    [
        ("deny", "deny", scored(True)),
        ("deny", "answer", scored(False)),
        ("answer", None, ABSTAINED),
        (None, "answer", NOT_EVALUABLE),
    ],
)
def test_behaved_is_doing_what_was_expected(
    wanted: ExpectedBehavior | None, observed: ExpectedBehavior | None, expected: Outcome
) -> None:
    item = Item("?", "An answer.", expected_behavior=wanted)
    assert verdicts_of(item, Observation(observed_behavior=observed)).behaved == expected


def test_an_empty_answer_is_neither_correct_nor_behaved() -> None:
    found = verdicts_of(
        Item("?", " \n", expected_facts=["f"], context=CONTEXT, expected_behavior="answer"), Observation()
    )
    assert (found.correct, found.faithful, found.behaved) == (scored(False), NOT_EVALUABLE, scored(False))
