"""From what a judge observed to verdicts: the booleans are derived here, never asked of a judge.

A judge, whether rules or a model, reports facts, claims and behaviour (`Observation`). What is correct, faithful and
behaved follows from these alone, in one place, for every judge.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from befund.contract import ClaimVerdict as ClaimVerdict
from befund.contract import ExpectedBehavior
from befund.contract import FactVerdict as FactVerdict
from befund.contract import JudgeStatus as Status
from befund.core.empty import says_nothing

Dimension = Literal["correct", "faithful", "behaved"]

REFUSALS = frozenset({"clarify", "no_answer", "deny"})
"""Behaviours that make no factual claim."""


class Passage(Struct, frozen=True):
    """One chunk of the context that the generator received; `text` is None where the caller may not send it."""

    id: str
    text: str | None


class Item(Struct, frozen=True):
    """One answer to be judged, with all that a judge may look at.

    Attributes:
        question: What was asked.
        answer: What was answered.
        expected_facts: All must be stated.
        reference_answers: Any one suffices.
        context: What the generator received; None where that is not known, empty where it received nothing.
        expected_behavior: What should have been done; None where nobody said.
    """

    question: str
    answer: str
    expected_facts: Sequence[str] = ()
    reference_answers: Sequence[str] = ()
    context: Sequence[Passage] | None = None
    expected_behavior: ExpectedBehavior | None = None

    @property
    def context_is_known(self) -> bool:
        """Whether faithfulness can be judged: the context was given, with its texts."""
        return self.context is not None and all(passage.text is not None for passage in self.context)


class Fact(Struct, frozen=True):
    """One expected fact; `verdict` is None where the judge abstained. `quote` is from the answer.

    `confidence` is from 0 to 1, None where the judge says none. `seen` is what the name of the rule does not tell.
    """

    fact: str
    verdict: FactVerdict | None
    quote: str | None = None
    rule: str | None = None
    confidence: float | None = None
    seen: str | None = None


class Claim(Struct, frozen=True):
    """One claim of the answer; `verdict` is None where the judge abstained. `quote` is from the chunk named.

    `quote_verified` says whether the quote stands in that chunk (whitespace and case folded), None without a quote.
    `confidence` is from 0 to 1, None where the judge says none. `seen` is what the name of the rule does not tell.
    """

    claim: str
    verdict: ClaimVerdict | None
    chunk_id: str | None = None
    quote: str | None = None
    quote_verified: bool | None = None
    rule: str | None = None
    confidence: float | None = None
    seen: str | None = None


class Observation(Struct, frozen=True):
    """What a judge saw in one answer.

    Attributes:
        facts: Every expected fact, in order; empty if there were none.
        agrees: Whether the answer agrees with at least one reference answer; None where there is none, or the judge
            abstained on it.
        claims: Every claim of the answer; empty where it makes none, or the context is not known.
        observed_behavior: What the answer does; None where the judge abstained.
        reason: One or two sentences for a reader, naming rule and passage.
        flags: As `EMPTY_ANSWER`, `POSSIBLE_INJECTION`.
        agrees_confidence: How sure the judge is of `agrees`, from 0 to 1; None where it does not say.
        behavior_confidence: How sure it is of `observed_behavior`.
    """

    facts: Sequence[Fact] = ()
    agrees: bool | None = None
    claims: Sequence[Claim] = ()
    observed_behavior: ExpectedBehavior | None = None
    reason: str = ""
    flags: Sequence[str] = ()
    agrees_confidence: float | None = None
    behavior_confidence: float | None = None


class Outcome(Struct, frozen=True):
    """One dimension: its verdict, None unless `status` is `scored`."""

    verdict: bool | None
    status: Status


class Verdicts(Struct, frozen=True):
    """The three dimensions of one answer."""

    correct: Outcome
    faithful: Outcome
    behaved: Outcome


NOT_EVALUABLE = Outcome(None, "not_evaluable")
ABSTAINED = Outcome(None, "abstained")


def scored(verdict: bool) -> Outcome:
    """A verdict that was reached."""
    return Outcome(verdict, "scored")


def verdicts_of(item: Item, seen: Observation) -> Verdicts:
    """Derive the verdicts (contract section 4).

    Correct: every fact stated, none contradicted, and agreement with a reference where there is one; a refusal is not
    correct. Faithful: every claim supported, with its quote where one was given; what makes no claim is faithful, a
    factual answer over an empty context is not. Behaved: as expected. An empty answer is neither correct nor behaved,
    and there is nothing in it that could be faithful or not.
    """
    if says_nothing(item.answer, item.question):
        return Verdicts(
            correct=scored(False) if item.expected_facts or item.reference_answers else NOT_EVALUABLE,
            faithful=NOT_EVALUABLE,
            behaved=scored(False) if item.expected_behavior else NOT_EVALUABLE,
        )
    return Verdicts(correct=_correct(item, seen), faithful=_faithful(item, seen), behaved=_behaved(item, seen))


def _correct(item: Item, seen: Observation) -> Outcome:
    if not item.expected_facts and not item.reference_answers:
        return NOT_EVALUABLE
    if seen.observed_behavior in REFUSALS:
        return scored(False)
    verdicts = [fact.verdict for fact in seen.facts]
    agreement = [seen.agrees] if item.reference_answers else []
    if "missing" in verdicts or "contradicted" in verdicts or False in agreement:
        return scored(False)
    if None in verdicts or None in agreement or seen.observed_behavior is None:
        return ABSTAINED
    return scored(True)


def _faithful(item: Item, seen: Observation) -> Outcome:
    if not item.context_is_known:
        return NOT_EVALUABLE
    if seen.observed_behavior in REFUSALS and not seen.claims:
        return scored(True)
    texts = [passage.text or "" for passage in item.context or ()]
    if not any(text.strip() for text in texts):
        return ABSTAINED if seen.observed_behavior is None else scored(False)
    verdicts = [
        "unsupported" if claim.verdict == "supported" and claim.quote_verified is False else claim.verdict
        for claim in seen.claims
    ]
    if "unsupported" in verdicts or "contradicted" in verdicts:
        return scored(False)
    if None in verdicts or not verdicts:
        return ABSTAINED
    return scored(True)


def _behaved(item: Item, seen: Observation) -> Outcome:
    if item.expected_behavior is None:
        return NOT_EVALUABLE
    if seen.observed_behavior is None:
        return ABSTAINED
    return scored(seen.observed_behavior == item.expected_behavior)
