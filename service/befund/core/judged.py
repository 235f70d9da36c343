"""What one judge gives back for one answer: what it saw, the verdicts, who decided, and what it used."""

from msgspec import Struct

from befund.contract import Confidence, DecidedBy, Usage
from befund.core.confidence import confidence_of
from befund.core.injection import injection_flags
from befund.core.judging import Fact, Item, Observation, Verdicts, verdicts_of

NO_USAGE = Usage(input_tokens=0, output_tokens=0, cached_tokens=0, cost_usd=0.0)
"""Of what asks no model, or comes from the cache."""


class Judged(Struct, frozen=True, kw_only=True):
    """One answer, judged.

    Attributes:
        observation: What the verdicts follow from; where several samples voted, that of one the majority agrees with.
        verdicts: The three dimensions.
        decided_by: Name of the judge that decided each dimension; None where none did.
        usage: What it used; a part is None where it is not known.
        agreement: The smallest share of votes, over the evaluable dimensions, that went to the outcome given.
        confidence: How sure of each verdict; where several voted, the share of votes for it.
        cached: Whether it was given before.
    """

    observation: Observation
    verdicts: Verdicts
    decided_by: DecidedBy
    usage: Usage = NO_USAGE
    agreement: float = 1.0
    confidence: Confidence = Confidence()
    cached: bool = False


def judged_by(name: str, item: Item, seen: Observation, *, usage: Usage = NO_USAGE) -> Judged:
    """What one judge alone saw, with the verdicts that follow."""
    verdicts = verdicts_of(item, seen)
    return Judged(
        observation=seen,
        verdicts=verdicts,
        decided_by=DecidedBy(
            correct=name if verdicts.correct.status == "scored" else None,
            faithful=name if verdicts.faithful.status == "scored" else None,
            behaved=name if verdicts.behaved.status == "scored" else None,
        ),
        usage=usage,
        confidence=confidence_of(item, seen, verdicts),
    )


def nothing_said(item: Item) -> Observation:
    """What there is to see in an answer that says nothing."""
    return Observation(
        facts=[Fact(fact, "missing", confidence=1.0) for fact in item.expected_facts],
        agrees=False if item.reference_answers else None,
        reason="The answer says nothing.",
        flags=("EMPTY_ANSWER", *injection_flags(item)),
        agrees_confidence=1.0,
        behavior_confidence=1.0,
    )
