"""Dates and times of day, in English and German."""

from befund.core.rules import numerals
from befund.core.rules.cursor import Cursor
from befund.core.rules.entity import Entity, dated, measured, timed
from befund.core.rules.units import UNITS

MONTHS = {
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
_TIMES_AFTER = frozenset({"uhr", "pm", "am"})


class Moments(Cursor):
    """Reads a date or a time of day at a position."""

    def date(self, at: int) -> Entity | None:
        """The date that begins here, as far as it is given: a day with or without its year, a month of a year."""
        token = self.found[at]
        if token.kind == "date":
            return dated(self.found, at, at + 1, _written_dates(token.text))
        if token.kind == "number" and token.text.isdigit() and len(token.text) <= 2:
            after = at + 1
            while self.text(after) in (".", "st", "nd", "rd", "th", "of"):
                after += 1
            month = self._month(after)
            if month and int(token.text):
                year, end = self._year(after + 1)
                return dated(self.found, at, end, [(year, month, int(token.text))])
        if month := self._month(at):
            return self._month_first(at, month)
        return None

    def _month_first(self, at: int, month: int) -> Entity | None:
        after = at + 1 + (self.text(at + 1) == ".")
        day = self.text(after)
        if self.kind(after) == "number" and day.isdigit() and len(day) <= 2 and int(day):
            end = after + 1
            if self.text(end) in ("st", "nd", "rd", "th"):
                end += 1
            year, end = self._year(end)
            return dated(self.found, at, end, [(year, month, int(day))])
        year, end = self._year(at + 1)
        if year:
            return dated(self.found, at, end, [(year, month, 0)])
        return None

    def _month(self, at: int) -> int:
        if self.kind(at) != "word" or not self.found[at].raw[:1].isupper():
            return MONTHS.get(self.text(at), 0) if len(self.text(at)) > 3 else 0
        return MONTHS.get(self.text(at), 0)

    def _year(self, at: int) -> tuple[int, int]:
        """A year at this position, perhaps after a comma or "of", and the position after it; 0 and `at` if none."""
        after = at
        while self.text(after) in (",", "of", "."):
            after += 1
        text = self.text(after)
        if self.kind(after) == "number" and len(text) == 4 and text.isdigit():
            return int(text), after + 1
        return 0, at

    def clock(self, at: int) -> Entity | None:
        """The time of day that begins here, or the duration where hours follow ("1:30 h")."""
        token, end = self.found[at], at + 1
        if token.kind == "clock":
            parts = [int(part) for part in token.text.split(":")]
            unit = UNITS.get(self.text(end), ())
            if any(reading == ("time", 3600.0) for reading in unit):
                return measured(self.found, at, end + 1, (parts[0] + parts[1] / 60,), unit)
            minutes = parts[0] * 60 + parts[1] + (parts[2] / 60 if len(parts) > 2 else 0)
        elif token.kind == "number" and len(token.text) <= 5:
            half, end = self._half_of_day(at + 1)
            if not half or not numerals.digits(token.text):
                return None
            hours, _, rest = token.text.replace(",", ".").partition(".")
            minutes = int(hours) * 60 + (int(rest) if rest else 0)
            return timed(self.found, at, end, minutes, half)
        else:
            return None
        half, after = self._half_of_day(end)
        return timed(self.found, at, after, minutes, half)

    def _half_of_day(self, at: int) -> tuple[str, int]:
        """Which half of the day this position names ("pm", "am", "uhr"), and the position after it."""
        text = self.text(at)
        if text in _TIMES_AFTER and not (text == "am" and self.kind(at + 1) in ("number", "date")):
            return text, at + 1
        if text in ("a", "p") and self.text(at + 1) == "." and self.text(at + 2) == "m":
            return text + "m", at + 3 + (self.text(at + 3) == ".")
        return "", at


def _written_dates(text: str) -> list[tuple[int, int, int]]:
    if "-" in text:
        year, month, day = map(int, text.split("-"))
        return [(year, month, day)]
    first, second, year = map(int, text.replace("/", ".").split("."))
    readings = [(year, second, first), (year, first, second)] if "/" in text else [(year, second, first)]
    return [reading for reading in readings if 1 <= reading[1] <= 12 and 1 <= reading[2] <= 31]
