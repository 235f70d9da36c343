"""What is said around a quantity: that it is a bound, and per which time it is counted."""

from collections.abc import Sequence

from msgspec import Struct

from befund.core.rules.entity import Bound
from befund.core.rules.units import UNITS
from befund.core.rules.words import Token

_MIN = frozenset({"least", "mindestens", "minimum", "wenigstens", "over", "exceeding"})
_MAX = frozenset({"most", "höchstens", "maximum", "maximal", "under", "längstens", "below"})
_MORE = frozenset({"more", "longer", "greater", "mehr", "länger", "grösser"})
_LESS = frozenset({"less", "fewer", "weniger", "kürzer", "shorter"})
_THAN = frozenset({"than", "als"})
_NO = frozenset({"no", "not", "nicht", "kein", "keine"})
_PER = frozenset({"per", "pro", "a", "an", "every", "each", "je", "jede", "jeden", "/", "in"})


def bound_before(found: Sequence[Token], start: int) -> Bound:
    """Whether the words before a quantity make it a bound: "at least", "up to", "nicht länger als"."""
    before = [token.text for token in found[max(0, start - 4) : start]]
    for at in range(len(before) - 1, -1, -1):
        word = before[at]
        if word in _MIN:
            return "min"
        if word in _MAX or (word in ("to", "zu") and at and before[at - 1] in ("up", "bis")):
            return "max"
        if word in _THAN and at:
            more, less = before[at - 1] in _MORE, before[at - 1] in _LESS
            negated = at > 1 and before[at - 2] in _NO
            if more or less:
                return "max" if more == negated else "min"
    return ""


class Period(Struct, frozen=True):
    """The time that something is counted per, and where it is said.

    Attributes:
        seconds: How long it is; a month is set at 1e9, since it is no number of seconds.
        start: The word that says "per".
        end: The token after the unit.
    """

    seconds: float
    start: int
    end: int


def period_after(found: Sequence[Token], end: int) -> Period | None:
    """The period right after a quantity, within its noun: "10 events per second", "49 € a month"."""
    for at in range(end, min(end + 4, len(found) - 1)):
        word = found[at].text
        if word in _PER and (at > end or word != "in"):
            for dimension, factor in UNITS.get(found[at + 1].text, ()):
                if dimension in ("time", "months"):
                    return Period(factor if dimension == "time" else factor * 1e9, at, at + 2)
        if found[at].kind == "mark" and word != "/":
            return None
    return None
