"""How sure a judge is of a verdict, from how sure it is of the facts, claims and behaviour the verdict follows from.

A verdict that needs all of them is as sure as the least sure one; one that falls with a single one is as sure as the
surest of those that fail. Where the judge says nothing of one that counts, nothing is known of the verdict.
"""

from collections.abc import Callable, Iterable

from befund.contract import Confidence
from befund.core.judging import REFUSALS, Item, Observation, Verdicts

Sure = float | None


def confidence_of(item: Item, seen: Observation, verdicts: Verdicts) -> Confidence:
    """How sure the judge is of each verdict that it reached.

    >>> from befund.core.judging import Fact, verdicts_of
    >>> item = Item("How long?", "For 72 hours.", ["72 hours", "three days"])
    >>> facts = [Fact("72 hours", "stated", confidence=1.0), Fact("three days", "stated", confidence=0.75)]
    >>> seen = Observation(facts, observed_behavior="answer", behavior_confidence=1.0)
    >>> confidence_of(item, seen, verdicts_of(item, seen)).correct
    0.75
    """
    return Confidence(
        correct=_correct(item, seen, verdicts.correct.verdict),
        faithful=_faithful(seen, verdicts.faithful.verdict),
        behaved=None if verdicts.behaved.verdict is None else seen.behavior_confidence,
    )


def _correct(item: Item, seen: Observation, verdict: bool | None) -> Sure:
    if verdict is None:
        return None
    if seen.observed_behavior in REFUSALS:
        return seen.behavior_confidence
    parts = [(_holds(fact.verdict, "stated"), fact.confidence) for fact in seen.facts]
    if item.reference_answers:
        parts.append((seen.agrees, seen.agrees_confidence))
    return _of_all(parts, verdict)


def _faithful(seen: Observation, verdict: bool | None) -> Sure:
    if verdict is None:
        return None
    parts = [
        (False if claim.quote_verified is False else _holds(claim.verdict, "supported"), claim.confidence)
        for claim in seen.claims
    ]
    return _of_all(parts, verdict) if parts else seen.behavior_confidence


def _holds(verdict: str | None, good: str) -> bool | None:
    return None if verdict is None else verdict == good


def _of_all(parts: Iterable[tuple[bool | None, Sure]], verdict: bool) -> Sure:
    counting = [sure for holds, sure in parts if holds is verdict]
    known = [sure for sure in counting if sure is not None]
    if not known or len(known) < len(counting):
        return None
    weigh: Callable[[list[float]], float] = min if verdict else max
    return weigh(known)
