"""What can be compared exactly: numbers with and without units, money, shares, dates, times, versions, identifiers.

Each is an `Entity` with the keys it *wants* and the keys it *provides*: one entity states another if it provides one of
the keys that the other wants. "72 hours" and "three days" both want and provide ("time", 259200); "15 February 1985"
provides the year 1985, while "1985" does not provide the day.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, cast

from msgspec import Struct

from befund.core.rules import numerals
from befund.core.rules.units import ADJECTIVES, PERIODIC, PREFIXES, TIMES, UNITS, Reading
from befund.core.rules.vocabulary import listed
from befund.core.rules.words import Token

Key = tuple[str | float | int, ...]
Bound = Literal["", "min", "max"]


class Entity(Struct, frozen=True):
    """Something exact that a text says.

    Attributes:
        kind: What it is.
        text: As written, tokens joined by spaces.
        start: First token.
        end: Token after the last.
        wants: Any of these states it.
        provides: What it states.
        near: Any of these states it where the unit or the century goes without saying.
        dimensions: What it measures; entities of one dimension can contradict each other.
        weak: Too common to be missed ("one", "first").
        bound: Whether it is a lower or an upper bound.
        per: The time it is counted per, in seconds; None where nothing is said.
    """

    kind: Literal["quantity", "number", "date", "clock", "version", "name"]
    text: str
    start: int
    end: int
    wants: frozenset[Key]
    provides: frozenset[Key]
    near: frozenset[Key] = frozenset()
    dimensions: frozenset[str] = frozenset()
    weak: bool = False
    bound: Bound = ""
    per: float | None = None


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jan jänner", "february februar feb", "march märz mar mrz", "april apr", "may mai",
            "june juni jun", "july juli jul", "august aug", "september sep sept", "october oktober oct okt",
            "november nov", "december dezember dec dez",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_VERSION_WORDS = frozenset({"version", "versions", "release", "v", "versionen"})
_MIN = frozenset({"least", "mindestens", "minimum", "wenigstens", "over", "exceeding"})
_MAX = frozenset({"most", "höchstens", "maximum", "maximal", "under", "längstens", "below"})
_MORE = frozenset({"more", "longer", "greater", "mehr", "länger", "grösser"})
_LESS = frozenset({"less", "fewer", "weniger", "kürzer", "shorter"})
_THAN = frozenset({"than", "als"})
_NO = frozenset({"no", "not", "nicht", "kein", "keine"})
_PER = frozenset({"per", "pro", "a", "an", "every", "each", "je", "jede", "jeden", "/", "in"})
_JOINS = frozenset({",", "or", "and", "to", "-", "oder", "und", "bis", "/"})
_QUALIFIERS = listed(
    "office business working calendar full whole more additional consecutive further ganze ganzen volle vollen "
    "weitere "
    "weiteren aufeinanderfolgende aufeinanderfolgenden"
)
_TIMES_AFTER = frozenset({"uhr", "pm", "am"})


def entities(found: Sequence[Token]) -> list[Entity]:
    """Everything exact in these tokens, in order.

    >>> from befund.core.rules.words import tokens
    >>> [entity.text for entity in entities(tokens("Orbit 3.0 wiederholt drei Tage lang, ab 14. Mai 2026, 5 % öfter"))]
    ['3.0', 'drei tage', '14 . mai 2026', '5 %']
    """
    reader = _Reader(found)
    raw: list[_Number | Entity] = []
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
        or text in _MONTHS
        or text in _VERSION_WORDS
        or text in PERIODIC
        or text in numerals.FRACTIONS
        or text in numerals.ARTICLES
        or numerals.cardinal(text) is not None
        or numerals.ordinal(text) is not None
        or text.startswith(("viertel", "dreiviertel", "halb"))
        or any(ending in text for ending in ADJECTIVES)
    )


class _Number(Struct):
    """A number before it is known what it counts."""

    values: tuple[float, ...]
    start: int
    end: int
    units: tuple[Reading, ...] = ()
    weak: bool = False
    decimal: str | None = None
    ordinal: bool = False


class _Reader:
    """Reads one item at a position; looks at most a few tokens ahead."""

    def __init__(self, found: Sequence[Token]) -> None:
        self.found = found

    def text(self, at: int) -> str:
        return self.found[at].text if 0 <= at < len(self.found) else ""

    def kind(self, at: int) -> str:
        return self.found[at].kind if 0 <= at < len(self.found) else ""

    def read(self, at: int) -> "_Number | Entity | None":
        token = self.found[at]
        if token.kind == "name":
            return _named(token, at)
        return self.date(at) or self.clock(at) or self.version(at) or self.number(at)

    def date(self, at: int) -> Entity | None:
        token = self.found[at]
        if token.kind == "date":
            return _dated(self.found, at, at + 1, _written_dates(token.text))
        if token.kind == "number" and token.text.isdigit() and len(token.text) <= 2:
            after = at + 1
            while self.text(after) in (".", "st", "nd", "rd", "th", "of"):
                after += 1
            month = self.month(after)
            if month and int(token.text):
                year, end = self.year(after + 1)
                return _dated(self.found, at, end, [(year, month, int(token.text))])
        if month := self.month(at):
            return self._month_first(at, month)
        return None

    def _month_first(self, at: int, month: int) -> Entity | None:
        after = at + 1 + (self.text(at + 1) == ".")
        day = self.text(after)
        if self.kind(after) == "number" and day.isdigit() and len(day) <= 2 and int(day):
            end = after + 1
            if self.text(end) in ("st", "nd", "rd", "th"):
                end += 1
            year, end = self.year(end)
            return _dated(self.found, at, end, [(year, month, int(day))])
        year, end = self.year(at + 1)
        if year:
            return _dated(self.found, at, end, [(year, month, 0)])
        return None

    def month(self, at: int) -> int:
        if self.kind(at) != "word" or not self.found[at].raw[:1].isupper():
            return _MONTHS.get(self.text(at), 0) if len(self.text(at)) > 3 else 0
        return _MONTHS.get(self.text(at), 0)

    def year(self, at: int) -> tuple[int, int]:
        """A year at this position, perhaps after a comma or "of", and the position after it; 0 and `at` if none."""
        after = at
        while self.text(after) in (",", "of", "."):
            after += 1
        text = self.text(after)
        if self.kind(after) == "number" and len(text) == 4 and text.isdigit():
            return int(text), after + 1
        return 0, at

    def clock(self, at: int) -> Entity | None:
        token, end = self.found[at], at + 1
        if token.kind == "clock":
            parts = [int(part) for part in token.text.split(":")]
            unit = UNITS.get(self.text(end), ())
            if any(reading == ("time", 3600.0) for reading in unit):
                return _measured(self.found, at, end + 1, (parts[0] + parts[1] / 60,), unit)
            minutes = parts[0] * 60 + parts[1] + (parts[2] / 60 if len(parts) > 2 else 0)
        elif token.kind == "number" and len(token.text) <= 5:
            half, end = self.half_of_day(at + 1)
            if not half or not numerals.digits(token.text):
                return None
            hours, _, rest = token.text.replace(",", ".").partition(".")
            minutes = int(hours) * 60 + (int(rest) if rest else 0)
            return _timed(self.found, at, end, minutes, half)
        else:
            return None
        half, after = self.half_of_day(end)
        return _timed(self.found, at, after, minutes, half)

    def half_of_day(self, at: int) -> tuple[str, int]:
        """Which half of the day this position names ("pm", "am", "uhr"), and the position after it."""
        text = self.text(at)
        if text in _TIMES_AFTER and not (text == "am" and self.kind(at + 1) in ("number", "date")):
            return text, at + 1
        if text in ("a", "p") and self.text(at + 1) == "." and self.text(at + 2) == "m":
            return text + "m", at + 3 + (self.text(at + 3) == ".")
        return "", at

    def version(self, at: int) -> Entity | None:
        token = self.found[at]
        if token.kind == "version":
            return _versioned(self.found, at, at + 1, token.text.lstrip("v"))
        if token.kind == "word" and token.text in _VERSION_WORDS and self.kind(at + 1) in ("number", "version"):
            return _versioned(self.found, at, at + 2, self.text(at + 1).lstrip("v"))
        return None

    def number(self, at: int) -> _Number | None:
        prefix = UNITS[self.text(at)] if self.text(at) in PREFIXES else ()
        found = self.value(at + bool(prefix))
        if found is None:
            return None
        found.start = at
        if prefix:
            found.units, found.weak = prefix, False
        elif not found.units:
            self.unit(found)
        if found.units and self.text(found.end) in ("and", "und") and self.text(found.end + 2) in numerals.FRACTIONS:
            half = self.halved(_Number((0.0,), at, found.end))
            found.values = tuple(value + half.values[0] for value in found.values)
            found.end = half.end
        if (
            self.text(at - 1) == "-"
            and len(self.text(at)) == 2
            and len(year := self.text(at - 2)) == 4
            and year.isdigit()
        ):
            found.values = tuple(value + int(year) // 100 * 100 for value in found.values)  # "2018-19"
        elif self.text(at - 1) in ("-", "minus") and not self.is_joint(at - 1):
            found.values = tuple(-value for value in found.values)
        return found

    def is_joint(self, at: int) -> bool:
        """Whether the dash here joins ("3-5", "SHA-256") and is no sign."""
        return self.text(at) == "-" and (self.found[at].glued or not self.found[at + 1].glued)

    def value(self, at: int) -> _Number | None:
        """The number that begins here, with all words that belong to it."""
        if self.kind(at) not in ("number", "word"):
            return None
        text = self.text(at)
        if self.kind(at) == "number":
            values = numerals.digits(text)
            if not values:
                return None
            found = _Number(values, at, at + 1, decimal=text if text.count(".") == 1 and "," not in text else None)
            if self.text(at + 1) in ("st", "nd", "rd", "th") and self.found[at + 1].glued:
                found.end, found.ordinal = at + 2, True
        else:
            word = self.word(at)
            if word is None:
                return None
            found = word
        return self.scaled(self.halved(found))

    def word(self, at: int) -> _Number | None:
        text = self.text(at)
        if self.kind(at) != "word":
            return None
        for ending, unit in ADJECTIVES.items():
            stem, hit, _ = text.partition(ending)
            if hit and (value := numerals.cardinal(stem)) is not None:
                return _Number((value,), at, at + 1, units=UNITS[unit])
        for start, part in (("dreiviertel", 0.75), ("viertel", 0.25), ("halb", 0.5)):
            if text.startswith(start) and len(text) > len(start) + 3 and text[len(start) :] in UNITS:
                return _Number((part,), at, at + 1, units=UNITS[text[len(start) :]])
        if text in PERIODIC:
            return _Number((1.0,), at, at + 1, units=UNITS[PERIODIC[text]], weak=True)
        if text in numerals.FRACTIONS:
            return self.fraction(at, text)
        if text in numerals.ARTICLES:
            following = self.text(at + 1)
            if following in numerals.FRACTIONS:
                return self.fraction(at + 1, following)
            if (
                (following in UNITS and len(following) > 2)
                or following in numerals.SCALES
                or (following == "-" and text in ("one", "ein"))
            ):
                return _Number((1.0,), at, at + 1)
            return _Number((1.0,), at, at + 1, weak=True) if text in ("one", "eins") else None
        value = numerals.cardinal(text)
        if value is None:
            order = numerals.ordinal(text)
            if order is None:
                return None
            return _Number((order,), at, at + 1, weak=order < 4, ordinal=True)
        end = at + 1
        if numerals.is_ten(text):
            after = end + (self.text(end) == "-")
            more = numerals.cardinal(self.text(after)) if self.text(after) not in numerals.ARTICLES - {"one"} else None
            if more is None and self.kind(after) == "word":
                more = numerals.ordinal(self.text(after))
            if more is not None and 0 < more < 10:
                value, end = value + more, after + 1
        return _Number((value,), at, end)

    def fraction(self, at: int, text: str) -> _Number | None:
        """Half, a quarter: only of something ("half an hour", "eine halbe Stunde", "a quarter of a million")."""
        end = at + 1
        while self.text(end) in ("of", "a", "an", "einer", "eines", "-"):
            end += 1
        if self.text(end) in UNITS or self.text(end) in numerals.SCALES:
            return _Number((numerals.FRACTIONS[text],), at, end)
        if (joined := text + self.text(end)) and self.text(at + 1) in ("stunde", "stunden"):
            return _Number((numerals.FRACTIONS[text],), at, at + 1, weak=not joined)
        return None

    def halved(self, found: _Number) -> _Number:
        """A half that follows a number: "two and a half"."""
        at = found.end
        if self.text(at) in ("and", "und", "-") and self.text(at + 1) in ("a", "eine", "ein"):
            at += 2
        fraction = numerals.FRACTIONS.get(self.text(at))
        if fraction and (at > found.end or self.text(at) in ("half", "quarter", "dreiviertel")):
            found.values = tuple(value + fraction for value in found.values)
            found.end, found.weak = at + 1, False
        return found

    def scaled(self, found: _Number) -> _Number:
        """Scale words after a number, and what is added to them: "two hundred and five thousand", "1.2 million"."""
        sums = [(0.0, value) for value in found.values]
        end, last = found.end, 0.0
        while True:
            at = end + (self.text(end) == "-")
            if factors := self.scale(at):
                sums = [
                    (total, part * factor) if factor == 100 else (total + (part or 1) * factor, 0.0)
                    for total, part in sums
                    for factor in factors
                ][:8]
                end, last = at + 1, factors[0]
                end += self.text(at) in ("mio", "mrd", "tsd") and self.text(end) == "."
                continue
            while last and self.text(at) in ("and", ",", "und"):
                at += 1
            small = self.word(at) if last >= 100 and self.text(at) not in numerals.ARTICLES else None
            if small is None or small.units or small.ordinal or small.values[0] >= last:
                break
            sums = [(total, part + small.values[0]) for total, part in sums]
            end, last = small.end, small.values[0]
            if self.scale(end):
                last = 1.0
        if end != found.end:
            found.values = tuple(total + part for total, part in sums)
            found.end, found.weak, found.decimal = end, False, None
        return found

    def scale(self, at: int) -> tuple[float, ...]:
        text = self.text(at)
        if text in ("k", "m", "mn") and self.kind(at - 1) == "number" and self.found[at].glued:
            return {"k": (1e3,), "mn": (1e6,)}.get(text, ())
        return numerals.SCALES.get(text, ())

    def unit(self, found: _Number) -> None:
        """The unit after the number, if there is one: "72 hours", "72-hour", "8 office hours", "acht Bürostunden"."""
        at = found.end + (self.text(found.end) == "-")
        if self.text(at) == "degrees" or self.text(at) == "grad":
            at += self.text(at + 1) in ("celsius", "fahrenheit")
        if self.text(at) == "°" and self.text(at + 1) in ("c", "f"):
            found.units, found.end = UNITS["°" + self.text(at + 1)], at + 2
            return
        if found.ordinal:
            return
        for place in (at, at + 1):
            text = self.text(place)
            units = self.unit_at(place, found)
            if units and (place == at or (units[0][0] in TIMES and self.text(at) in _QUALIFIERS)):
                found.units, found.end = units, place + 1
                if text == "per" or (text == "km" and self.text(place + 1) == "/" and self.text(place + 2) == "h"):
                    found.units, found.end = UNITS["km/h"], place + 3
                found.weak = False
                return

    def unit_at(self, at: int, found: _Number) -> tuple[Reading, ...]:
        text = self.text(at)
        if text == "per" and self.text(at + 1) in ("cent", "mille"):
            return ()
        if text == "s" and self.found[at].glued and len(self.text(at - 1)) > 3:
            return ()  # "1990s"
        for ending, unit in ADJECTIVES.items():
            if text.startswith(ending):
                return UNITS[unit]
        if text in UNITS:
            symbol = self.found[at].raw
            if len(text) == 1 and text.isalpha() and (symbol.isupper() != (text in "bvwl") or found.decimal == ""):
                return UNITS[text] if text in "bvwl" and self.found[at].glued else ()
            return UNITS[text]
        for ending in ("stunden", "tage", "tagen", "minuten", "wochen", "monate", "monaten", "jahre", "jahren"):
            if text.endswith(ending) and len(text) > len(ending) + 2:
                return UNITS[ending]
        return ()


def _number_key(value: float) -> float:
    return float(f"{min(max(value, -1e300), 1e300):.9g}")


def _named(token: Token, at: int) -> Entity:
    keys = frozenset({("name", token.text)})
    return Entity("name", token.text, at, at + 1, keys, keys, dimensions=frozenset({_shape(token.text)}))


def _shape(name: str) -> str:
    """What names of one family share: the part before the first mark ("telemetry:"), or the kind of their letters."""
    for mark in ":_./@":
        head, found, _ = name.partition(mark)
        if found and head:
            return f"{head}{mark}"
    return name.rstrip("0123456789") if name[-1:].isdigit() else f"name/{name}"


def _text(found: Sequence[Token], start: int, end: int) -> str:
    return " ".join(token.text for token in found[start:end])


def _written_dates(text: str) -> list[tuple[int, int, int]]:
    if "-" in text:
        year, month, day = map(int, text.split("-"))
        return [(year, month, day)]
    first, second, year = map(int, text.replace("/", ".").split("."))
    readings = [(year, second, first), (year, first, second)] if "/" in text else [(year, second, first)]
    return [reading for reading in readings if 1 <= reading[1] <= 12 and 1 <= reading[2] <= 31]


def _dated(found: Sequence[Token], start: int, end: int, readings: list[tuple[int, int, int]]) -> Entity | None:
    if not readings:
        return None
    wants: set[Key] = set()
    provides: set[Key] = set()
    near: set[Key] = set()
    for year, month, day in readings:
        wants.add(("date", year, month, day))
        provides |= {("date", y, m, d) for y in {year, 0} for m in {month, 0} for d in {day, 0} if (m or not d)}
        provides.add(("said", year, month, day))
        if not year:
            provides.add(("month", month))
        near |= {("said", 0, month, day) if day else ("month", month)} if year else set()
    provides.discard(("date", 0, 0, 0))
    return Entity(
        "date", _text(found, start, end), start, end, frozenset(wants), frozenset(provides), frozenset(near),
        frozenset({"date"}),
    )  # fmt: skip


def _timed(found: Sequence[Token], start: int, end: int, minutes: float, half: str) -> Entity:
    if half == "pm" and minutes < 720:
        minutes += 720
    if half == "am" and 720 <= minutes < 780:
        minutes -= 720
    key = ("clock", _number_key(minutes))
    definite = half or minutes >= 780 or found[start].text.startswith("0")
    near: frozenset[Key] = frozenset() if definite else frozenset({("clock", _number_key(minutes + 720))})
    return Entity(
        "clock", _text(found, start, end), start, end, frozenset({key}), frozenset({key}), near, frozenset({"clock"})
    )


def _version_key(text: str) -> Key:
    parts = [int(part) for part in text.replace(",", ".").split(".") if part]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return ("version", *parts)


def _versioned(found: Sequence[Token], start: int, end: int, text: str) -> Entity:
    keys = {_version_key(text)}
    plain = {("", _number_key(value)) for value in numerals.digits(text)}
    return Entity(
        "version", _text(found, start, end), start, end, frozenset(keys), frozenset(keys | plain), frozenset(plain),
        frozenset({"version"}),
    )  # fmt: skip


def _measured(
    found: Sequence[Token], start: int, end: int, values: tuple[float, ...], units: tuple[Reading, ...], **extra: object
) -> Entity:
    keys = {(name, _number_key(value * factor)) for value in values for name, factor in units}
    amounts = {("amount", _number_key(value)) for value in values}
    plain = {("", _number_key(value)) for value in values if value != 1}
    return Entity(
        "quantity", _text(found, start, end), start, end, frozenset(keys), frozenset(keys | amounts),
        frozenset(plain), frozenset(name for name, _ in units), **extra,  # type: ignore[arg-type]
    )  # fmt: skip


def _finish(found: Sequence[Token], raw: list["_Number | Entity"]) -> list[Entity]:
    """Give numbers in a list the unit of its last, add up what belongs together, make entities of all."""
    for left, right in zip(reversed(raw[:-1]), reversed(raw[1:]), strict=True):
        if isinstance(left, _Number) and isinstance(right, _Number) and not left.units and right.units:
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
        while at < len(raw) and _adds_up(found, item, raw[at]):
            more = raw[at]
            item = _summed(item, cast("_Number", more))
            at += 1
        done.append(_counted(found, item))
    return done


def _adds_up(found: Sequence[Token], left: _Number, right: "_Number | Entity") -> bool:
    """Whether two times are one: "3 hours and 42 minutes"."""
    if not isinstance(right, _Number) or not left.units or not right.units:
        return False
    between = [token.text for token in found[left.end : right.start]]
    same = left.units[0][0] == right.units[0][0] == "time" or left.units[0][0] == right.units[0][0] == "months"
    return (
        same
        and left.units[0][1] > right.units[0][1]
        and right.values[0] * right.units[0][1] < left.units[0][1]
        and between in ([], ["and"], ["und"], [","])
    )


def _summed(left: _Number, right: _Number) -> _Number:
    base = left.units[0][1]
    value = left.values[0] + right.values[0] * right.units[0][1] / base
    return _Number((value,), left.start, right.end, units=left.units[:1])


def _counted(found: Sequence[Token], item: _Number) -> Entity:
    bound = _bound(found, item.start)
    per = _per(found, item.end)
    if item.units:
        return _measured(found, item.start, item.end, item.values, item.units, bound=bound, per=per, weak=item.weak)
    wants: set[Key] = {("", _number_key(value)) for value in item.values}
    provides = set(wants)
    near: set[Key] = {("amount", _number_key(value)) for value in item.values}
    if item.decimal:
        provides.add(_version_key(item.decimal))
    value = item.values[0]
    if 0 < value < 3000 and value == int(value):
        near.add(("version", int(value)))
        if value >= 1000:
            near.add(("date", int(value), 0, 0))
            provides.add(("date", int(value), 0, 0))
    return Entity(
        "number", _text(found, item.start, item.end), item.start, item.end, frozenset(wants), frozenset(provides),
        frozenset(near), frozenset({""}), weak=item.weak, bound=bound, per=per,
    )  # fmt: skip


def _bound(found: Sequence[Token], start: int) -> Bound:
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


def _per(found: Sequence[Token], end: int) -> float | None:
    """The period right after a quantity, within its noun: "10 events per second", "5,000 Anfragen pro Minute"."""
    for at in range(end, min(end + 4, len(found) - 1)):
        if found[at].text in ("per", "pro", "/", "je") or (found[at].text in _PER and at > end):
            for reading in UNITS.get(found[at + 1].text, ()):
                if reading[0] == "time":
                    return reading[1]
                if reading[0] == "months":
                    return reading[1] * 1e9
        if found[at].kind == "mark" and found[at].text != "/":
            return None
    return None
