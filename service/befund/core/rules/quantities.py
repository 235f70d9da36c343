"""What can be compared exactly: numbers with and without units, money, shares, dates, times, versions, identifiers."""

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from befund.core.rules import numerals
from befund.core.rules.amounts import Amounts, Number
from befund.core.rules.bounds import bound_before, period_after
from befund.core.rules.cursor import Cursor
from befund.core.rules.entity import Entity, Key, as_written, measured, named, number_key, version_key, versioned
from befund.core.rules.moments import MONTHS, Moments
from befund.core.rules.units import ADJECTIVES, PERIODIC, PREFIXES
from befund.core.rules.words import Token

_VERSION_WORDS = frozenset({"version", "versions", "release", "v", "versionen"})
_JOINS = frozenset({",", "or", "and", "to", "-", "oder", "und", "bis", "statt", "/"})


def entities(found: Sequence[Token]) -> list[Entity]:
    """Everything exact in these tokens, in order.

    >>> from befund.core.rules.words import tokens
    >>> [entity.text for entity in entities(tokens("Orbit 3.0 wiederholt drei Tage lang, ab 14. Mai 2026, 5 % öfter"))]
    ['3.0', 'drei tage', '14 . mai 2026', '5 %']
    """
    reader = _Reader(found)
    raw: list[Number | Entity] = []
    end = 0
    for at in [at for at, token in enumerate(found) if token.kind not in ("word", "mark") or _may_begin(token.text)]:
        if at >= end and (item := reader.read(at)) is not None:
            raw.append(item)
            end = item.end
    return _finish(found, raw)


@lru_cache(maxsize=50_000)
def _may_begin(text: str) -> bool:
    """Whether a number, date or version may begin with this word or mark."""
    return (
        text in PREFIXES
        or text in MONTHS
        or text in _VERSION_WORDS
        or text in PERIODIC
        or text in numerals.FRACTIONS
        or text in numerals.ARTICLES
        or numerals.cardinal(text) is not None
        or numerals.ordinal(text) is not None
        or text.startswith(("viertel", "dreiviertel", "halb"))
        or any(ending in text for ending in ADJECTIVES)
    )


class _Reader(Cursor):
    """Reads whatever stands at a position."""

    def __init__(self, found: Sequence[Token]) -> None:
        super().__init__(found)
        self._moments, self._amounts = Moments(found), Amounts(found)

    def read(self, at: int) -> Number | Entity | None:
        token = self.found[at]
        if token.kind == "name":
            return named(token, at)
        return self._moments.date(at) or self._moments.clock(at) or self.version(at) or self._amounts.number(at)

    def version(self, at: int) -> Entity | None:
        token = self.found[at]
        if token.kind == "version":
            return versioned(self.found, at, at + 1, token.text.lstrip("v"))
        if token.kind == "word" and token.text in _VERSION_WORDS and self.kind(at + 1) in ("number", "version"):
            return versioned(self.found, at, at + 2, self.text(at + 1).lstrip("v"))
        return None


def _finish(found: Sequence[Token], raw: list[Number | Entity]) -> list[Entity]:
    """Give numbers in a list the unit of its last, add up what belongs together, make entities of all."""
    for left, right in zip(reversed(raw[:-1]), reversed(raw[1:]), strict=True):
        if isinstance(left, Number) and isinstance(right, Number) and not left.units and right.units:
            between = [token.text for token in found[left.end : right.start]]
            if between and len(between) <= 2 and set(between) <= _JOINS and not left.ordinal and not left.decimal:
                left.units, left.weak = right.units, False
    done: list[Entity] = []
    at = 0
    while at < len(raw):
        item = raw[at]
        at += 1
        if isinstance(item, Entity):
            done.append(item)
            continue
        if done and _is_period(found, done[-1], item):
            continue
        while at < len(raw) and _adds_up(found, item, raw[at]):
            more = raw[at]
            item = _summed(item, cast(Number, more))
            at += 1
        done.append(_counted(found, item))
    return done


def _is_period(found: Sequence[Token], before: Entity, item: Number) -> bool:
    """Whether this is what the quantity before it is counted per: "49 € a month" is no month."""
    period = period_after(found, before.end) if before.per is not None else None
    return period is not None and period.start <= item.start < period.end


def _adds_up(found: Sequence[Token], left: Number, right: Number | Entity) -> bool:
    """Whether two times are one: "3 hours and 42 minutes"."""
    if not isinstance(right, Number) or not left.units or not right.units:
        return False
    between = [token.text for token in found[left.end : right.start]]
    same = left.units[0][0] == right.units[0][0] == "time" or left.units[0][0] == right.units[0][0] == "months"
    return (
        same
        and left.units[0][1] > right.units[0][1]
        and right.values[0] * right.units[0][1] < left.units[0][1]
        and between in ([], ["and"], ["und"], [","])
    )


def _summed(left: Number, right: Number) -> Number:
    base = left.units[0][1]
    value = left.values[0] + right.values[0] * right.units[0][1] / base
    return Number((value,), left.start, right.end, units=left.units[:1])


def _counted(found: Sequence[Token], item: Number) -> Entity:
    bound = bound_before(found, item.start)
    period = period_after(found, item.end)
    per = None if period is None else period.seconds
    if item.units:
        return measured(found, item.start, item.end, item.values, item.units, bound=bound, per=per, weak=item.weak)
    wants: set[Key] = {("", number_key(value)) for value in item.values}
    provides = set(wants)
    near: set[Key] = {("amount", number_key(value)) for value in item.values}
    if item.decimal:
        provides.add(version_key(item.decimal))
    value = item.values[0]
    if 0 < value < 3000 and value == int(value):
        near.add(("version", int(value)))
        if value >= 1000:
            near.add(("date", int(value), 0, 0))
            provides.add(("date", int(value), 0, 0))
    return Entity(
        "number", as_written(found, item.start, item.end), item.start, item.end, frozenset(wants), frozenset(provides),
        frozenset(near), frozenset({""}), weak=item.weak, bound=bound, per=per,
    )  # fmt: skip
