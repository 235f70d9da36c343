"""Whether a claim and a passage deny what the other says."""

from befund.core.rules.polarity import WITHOUT
from befund.core.rules.reading import Sentence

_REACH = 8
"""Tokens behind a denial that it can be about."""


def conflict(claim: Sentence, passage: Sentence) -> bool:
    """Whether one denies what the other says, in the same words."""
    return _denies(claim, passage) or _denies(passage, claim)


def denied_there(claim: Sentence, passage: Sentence) -> bool:
    """Whether at least half of what the passage has of the claim's words stands in a denial that the claim lacks."""
    if claim.denied or not passage.denied:
        return False
    keys = claim.keys
    shared = {term.key: term.at in passage.denied_at for term in passage.terms if term.key in keys}
    return 0 < len(shared) <= 2 * sum(shared.values())


def _denies(one: Sentence, other: Sentence) -> bool:
    """Whether what one denies, right behind a cue or else right before it, the other says and does not deny."""
    if not one.denied:
        return False
    there = {term.key: term.at in other.denied_at for term in other.terms}
    for clause in one.clauses:
        for cue in clause.cues:
            if one.tokens[cue].text in WITHOUT:
                continue
            after = [term.key for term in one.terms if cue < term.at < min(clause.end, cue + _REACH)]
            before = [term.key for term in one.terms if clause.start <= term.at < cue][-3:]
            scope = (after or before)[:4]
            shared = [key for key in scope if key in there]
            close = shared[:1] == scope[:1] or 2 * len(shared) >= len(scope)
            if shared and close and not any(there[key] for key in shared):
                return True
    return False
