"""What a text says of an expected fact, in a diagnosis' own words, whatever the rules that read it call it."""

from typing import Literal

from msgspec import Struct

from befund.core.judging import Fact

Stating = Literal["stated", "among_others", "denied", "other_version", "objected", "nothing"]
"""The text states the fact; states it among other values, as tables do; denies it; says it of another version; holds
the value in words that leave it open; or does not hold it."""

_RULES: dict[str, Stating] = {
    "candidates": "among_others",
    "hedged": "among_others",
    "negated": "denied",
    "replaced": "denied",
    "taken back": "denied",
    "of the past": "denied",
    "bound differs": "objected",
    "bound may differ": "objected",
    "doubted": "objected",
    "end of a range": "objected",
    "passed on": "objected",
    "version differs": "other_version",
    "words missing beside the figure": "objected",
    "denied in other words": "objected",
    "yes or no alone": "objected",
    "other language": "objected",
}
"""The rules that find a value and object to it; the others found none."""


class Statement(Struct, frozen=True):
    """What a text says of one fact, and its sentence that does."""

    what: Stating
    quote: str | None = None


def statement_of(fact: Fact) -> Statement:
    """What the rules saw in a text that they read (never in an answer that another judge read)."""
    if fact.verdict == "stated":
        return Statement("stated", fact.quote)
    return Statement(_RULES.get(fact.rule or "", "nothing"), fact.quote)
