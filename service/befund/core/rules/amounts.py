"""Numbers with all words that belong to them, and the units behind or before them."""

from msgspec import Struct

from befund.core.rules import numerals
from befund.core.rules.cursor import Cursor
from befund.core.rules.units import ADJECTIVES, PERIODIC, PREFIXES, TIMES, UNITS, Reading
from befund.core.rules.vocabulary import listed

_QUALIFIERS = listed(
    "office business working calendar full whole more additional consecutive further ganze ganzen volle vollen "
    "weitere "
    "weiteren aufeinanderfolgende aufeinanderfolgenden"
)


class Number(Struct):
    """A number before it is known what it counts."""

    values: tuple[float, ...]
    start: int
    end: int
    units: tuple[Reading, ...] = ()
    weak: bool = False
    decimal: str | None = None
    ordinal: bool = False


class Amounts(Cursor):
    """Reads a number at a position."""

    def number(self, at: int) -> Number | None:
        """The number that begins here with its unit and sign; None if none does."""
        prefix = UNITS[self.text(at)] if self.text(at) in PREFIXES else ()
        found = self._value(at + bool(prefix))
        if found is None:
            return None
        found.start = at
        if prefix:
            found.units, found.weak = prefix, False
        elif not found.units:
            self._unit(found)
        if found.units and self.text(found.end) in ("and", "und") and self.text(found.end + 2) in numerals.FRACTIONS:
            half = self._halved(Number((0.0,), at, found.end))
            found.values = tuple(value + half.values[0] for value in found.values)
            found.end = half.end
        if (
            self.text(at - 1) == "-"
            and len(self.text(at)) == 2
            and len(year := self.text(at - 2)) == 4
            and year.isdigit()
        ):
            found.values = tuple(value + int(year) // 100 * 100 for value in found.values)  # "2018-19"
        elif self.text(at - 1) in ("-", "minus") and not self._is_joint(at - 1):
            found.values = tuple(-value for value in found.values)
        return found

    def _is_joint(self, at: int) -> bool:
        """Whether the dash here joins ("3-5", "SHA-256") and is no sign."""
        return self.text(at) == "-" and (self.found[at].glued or not self.found[at + 1].glued)

    def _value(self, at: int) -> Number | None:
        """The number that begins here, with all words that belong to it."""
        if self.kind(at) not in ("number", "word"):
            return None
        text = self.text(at)
        if self.kind(at) == "number":
            values = numerals.digits(text)
            if not values:
                return None
            found = Number(values, at, at + 1, decimal=text if text.count(".") == 1 and "," not in text else None)
            if self.text(at + 1) in ("st", "nd", "rd", "th") and self.found[at + 1].glued:
                found.end, found.ordinal = at + 2, True
        else:
            word = self._word(at)
            if word is None:
                return None
            found = word
        return self._scaled(self._halved(found))

    def _word(self, at: int) -> Number | None:
        text = self.text(at)
        if self.kind(at) != "word":
            return None
        for ending, unit in ADJECTIVES.items():
            stem, hit, _ = text.partition(ending)
            if hit and (value := numerals.cardinal(stem)) is not None:
                return Number((value,), at, at + 1, units=UNITS[unit])
        for start, part in (("dreiviertel", 0.75), ("viertel", 0.25), ("halb", 0.5)):
            if text.startswith(start) and len(text) > len(start) + 3 and text[len(start) :] in UNITS:
                return Number((part,), at, at + 1, units=UNITS[text[len(start) :]])
        if text in PERIODIC:
            return Number((1.0,), at, at + 1, units=UNITS[PERIODIC[text]], weak=True)
        if text in numerals.FRACTIONS:
            return self._fraction(at, text)
        if text in numerals.ARTICLES:
            following = self.text(at + 1)
            if following in numerals.FRACTIONS:
                return self._fraction(at + 1, following)
            if (
                (following in UNITS and len(following) > 2)
                or following in numerals.SCALES
                or (following == "-" and text in ("one", "ein"))
            ):
                return Number((1.0,), at, at + 1)
            return Number((1.0,), at, at + 1, weak=True) if text in ("one", "eins") else None
        value = numerals.cardinal(text)
        if value is None:
            order = numerals.ordinal(text)
            if order is None:
                return None
            return Number((order,), at, at + 1, weak=order < 4, ordinal=True)
        end = at + 1
        if numerals.is_ten(text):
            after = end + (self.text(end) == "-")
            more = numerals.cardinal(self.text(after)) if self.text(after) not in numerals.ARTICLES - {"one"} else None
            if more is None and self.kind(after) == "word":
                more = numerals.ordinal(self.text(after))
            if more is not None and 0 < more < 10:
                value, end = value + more, after + 1
        return Number((value,), at, end)

    def _fraction(self, at: int, text: str) -> Number | None:
        """Half, a quarter: only of something ("half an hour", "eine halbe Stunde", "a quarter of a million")."""
        end = at + 1
        while self.text(end) in ("of", "a", "an", "einer", "eines", "-"):
            end += 1
        if self.text(end) in UNITS or self.text(end) in numerals.SCALES:
            return Number((numerals.FRACTIONS[text],), at, end)
        if (joined := text + self.text(end)) and self.text(at + 1) in ("stunde", "stunden"):
            return Number((numerals.FRACTIONS[text],), at, at + 1, weak=not joined)
        return None

    def _halved(self, found: Number) -> Number:
        """A half that follows a number: "two and a half"."""
        at = found.end
        if self.text(at) in ("and", "und", "-") and self.text(at + 1) in ("a", "eine", "ein"):
            at += 2
        fraction = numerals.FRACTIONS.get(self.text(at))
        if fraction and (at > found.end or self.text(at) in ("half", "quarter", "dreiviertel")):
            found.values = tuple(value + fraction for value in found.values)
            found.end, found.weak = at + 1, False
        return found

    def _scaled(self, found: Number) -> Number:
        """Scale words after a number, and what is added to them: "two hundred and five thousand", "1.2 million"."""
        sums = [(0.0, value) for value in found.values]
        end, last = found.end, 0.0
        while True:
            at = end + (self.text(end) == "-")
            if factors := self._scale(at):
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
            small = self._word(at) if last >= 100 and self.text(at) not in numerals.ARTICLES else None
            if small is None or small.units or small.ordinal or small.values[0] >= last:
                break
            sums = [(total, part + small.values[0]) for total, part in sums]
            end, last = small.end, small.values[0]
            if self._scale(end):
                last = 1.0
        if end != found.end:
            found.values = tuple(total + part for total, part in sums)
            found.end, found.weak, found.decimal = end, False, None
        return found

    def _scale(self, at: int) -> tuple[float, ...]:
        text = self.text(at)
        if text in ("k", "m", "mn") and self.kind(at - 1) == "number" and self.found[at].glued:
            return {"k": (1e3,), "mn": (1e6,)}.get(text, ())
        return numerals.SCALES.get(text, ())

    def _unit(self, found: Number) -> None:
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
            units = self._unit_at(place, found)
            if units and (place == at or (units[0][0] in TIMES and self.text(at) in _QUALIFIERS)):
                found.units, found.end = units, place + 1
                if text == "per" or (text == "km" and self.text(place + 1) == "/" and self.text(place + 2) == "h"):
                    found.units, found.end = UNITS["km/h"], place + 3
                found.weak = False
                return

    def _unit_at(self, at: int, found: Number) -> tuple[Reading, ...]:
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
