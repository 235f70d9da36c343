"""Several looks at one answer become one: by majority, or one after the other."""

from collections.abc import Sequence

import msgspec

from befund.contract import Confidence, DecidedBy
from befund.core.judged import Judged
from befund.core.judging import ABSTAINED, NOT_EVALUABLE, Dimension, Observation, Outcome, Verdicts, scored
from befund.core.usage import total

DIMENSIONS: tuple[Dimension, ...] = ("correct", "faithful", "behaved")


def majority(votes: Sequence[Judged], *, judge: str) -> Judged:
    """What more than half of all votes say, dimension by dimension; without such a majority the dimension abstains.

    Facts, claims and reason are those of the vote that agrees with the majority on most dimensions, the first of them.

    Args:
        votes: At least one.
        judge: Who is named as having decided.
    """
    outcomes = {name: _majority([_outcome(vote, name) for vote in votes]) for name in DIMENSIONS}
    verdicts = Verdicts(**{name: outcome for name, (outcome, _) in outcomes.items()})
    spokesman = max(votes, key=lambda vote: sum(_outcome(vote, name) == outcomes[name][0] for name in DIMENSIONS))
    return Judged(
        observation=_with_flags(spokesman.observation, votes),
        verdicts=verdicts,
        decided_by=_deciders({name: judge for name in DIMENSIONS}, verdicts),
        usage=total(vote.usage for vote in votes),
        agreement=min(share for _, share in outcomes.values()),
        confidence=Confidence(
            **{name: share for name, (outcome, share) in outcomes.items() if outcome.status == "scored"}
        ),
        cached=all(vote.cached for vote in votes),
    )


def filled_up(first: Judged, second: Judged) -> Judged:
    """The first judgment, and from the second what the first abstained on, with what it follows from."""
    taken = {name for name in DIMENSIONS if _outcome(first, name).status == "abstained"}
    source = {name: second if name in taken else first for name in DIMENSIONS}
    verdicts = Verdicts(**{name: _outcome(judged, name) for name, judged in source.items()})
    correct, faithful, behaved = (source[name].observation for name in DIMENSIONS)
    behavior = behaved.observed_behavior or second.observation.observed_behavior
    seen = Observation(
        facts=correct.facts,
        agrees=correct.agrees,
        claims=faithful.claims,
        observed_behavior=behavior,
        reason=" ".join(filter(None, (first.observation.reason, second.observation.reason))),
    )
    return Judged(
        observation=_with_flags(seen, (first, second)),
        verdicts=verdicts,
        decided_by=_deciders({name: _decider(judged, name) for name, judged in source.items()}, verdicts),
        usage=total((first.usage, second.usage)),
        agreement=min(judged.agreement for judged in source.values()),
        confidence=Confidence(**{name: getattr(judged.confidence, name) for name, judged in source.items()}),
        cached=first.cached and second.cached,
    )


def is_decided(judged: Judged) -> bool:
    """Whether no dimension abstained."""
    return all(_outcome(judged, name).status != "abstained" for name in DIMENSIONS)


def _majority(outcomes: Sequence[Outcome]) -> tuple[Outcome, float]:
    """What more than half say, and their share; else abstention, and the share of the strongest side."""
    if all(outcome == NOT_EVALUABLE for outcome in outcomes):
        return NOT_EVALUABLE, 1.0
    shares = {verdict: outcomes.count(scored(verdict)) / len(outcomes) for verdict in (True, False)}
    shares_abstained = outcomes.count(ABSTAINED) / len(outcomes)
    for verdict, share in shares.items():
        if share > 0.5:
            return scored(verdict), share
    return ABSTAINED, max(shares_abstained, *shares.values())


def _outcome(judged: Judged, name: Dimension) -> Outcome:
    outcome: Outcome = getattr(judged.verdicts, name)
    return outcome


def _decider(judged: Judged, name: Dimension) -> str | None:
    decider: str | None = getattr(judged.decided_by, name)
    return decider


def _deciders(names: dict[Dimension, str | None] | dict[Dimension, str], verdicts: Verdicts) -> DecidedBy:
    decided = {name: who if getattr(verdicts, name).status == "scored" else None for name, who in names.items()}
    return DecidedBy(**decided)


def _with_flags(seen: Observation, every: Sequence[Judged]) -> Observation:
    flags = tuple(dict.fromkeys(flag for judged in every for flag in judged.observation.flags))
    return msgspec.structs.replace(seen, flags=flags)
