"""What can be compared exactly, as entities with keys: how each kind of thing becomes one.

Each is an `Entity` with the keys it *wants* and the keys it *provides*: one entity states another if it provides one of
the keys that the other wants. "72 hours" and "three days" both want and provide ("time", 259200); "15 February 1985"
provides the year 1985, while "1985" does not provide the day.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from befund.core.rules import numerals
from befund.core.rules.units import Reading
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


def number_key(value: float) -> float:
    """A value to nine digits, so that sums and products of the same meet."""
    return float(f"{min(max(value, -1e300), 1e300):.9g}")


def named(token: Token, at: int) -> Entity:
    """An identifier, code, path or address."""
    keys = frozenset({("name", token.text)})
    return Entity("name", token.text, at, at + 1, keys, keys, dimensions=frozenset({_shape(token.text)}))


def _shape(name: str) -> str:
    """What names of one family share: the part before the first mark ("telemetry:"), or the kind of their letters."""
    for mark in ":_./@":
        head, found, _ = name.partition(mark)
        if found and head:
            return f"{head}{mark}"
    return name.rstrip("0123456789") if name[-1:].isdigit() else f"name/{name}"


def as_written(found: Sequence[Token], start: int, end: int) -> str:
    """These tokens, folded, joined by spaces."""
    return " ".join(token.text for token in found[start:end])


def dated(found: Sequence[Token], start: int, end: int, readings: list[tuple[int, int, int]]) -> Entity | None:
    """A date in every way it can be read: year, month, day, each 0 where it is not said; None without a reading."""
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
        "date", as_written(found, start, end), start, end, frozenset(wants), frozenset(provides), frozenset(near),
        frozenset({"date"}),
    )  # fmt: skip


def timed(found: Sequence[Token], start: int, end: int, minutes: float, half: str) -> Entity:
    """A time of day in minutes from midnight; `half` is "am", "pm", "uhr" or empty."""
    if half == "pm" and minutes < 720:
        minutes += 720
    if half == "am" and 720 <= minutes < 780:
        minutes -= 720
    key = ("clock", number_key(minutes))
    definite = half or minutes >= 780 or found[start].text.startswith("0")
    near: frozenset[Key] = frozenset() if definite else frozenset({("clock", number_key(minutes + 720))})
    text, keys = as_written(found, start, end), frozenset({key})
    return Entity("clock", text, start, end, keys, keys, near, frozenset({"clock"}))


def version_key(text: str) -> Key:
    """A version without the zeros at its end: 3.0 is 3."""
    parts = [int(part) for part in text.replace(",", ".").split(".") if part]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return ("version", *parts)


def versioned(found: Sequence[Token], start: int, end: int, text: str) -> Entity:
    """A version."""
    keys = {version_key(text)}
    plain = {("", number_key(value)) for value in numerals.digits(text)}
    return Entity(
        "version", as_written(found, start, end), start, end, frozenset(keys), frozenset(keys | plain),
        frozenset(plain), frozenset({"version"}),
    )  # fmt: skip


def measured(
    found: Sequence[Token], start: int, end: int, values: tuple[float, ...], units: tuple[Reading, ...], **extra: object
) -> Entity:
    """Values in units, in every way both can be read; `extra` are further attributes of the entity."""
    keys = {(name, number_key(value * factor)) for value in values for name, factor in units}
    amounts = {("amount", number_key(value)) for value in values}
    plain = {("", number_key(value)) for value in values if value != 1}
    return Entity(
        "quantity", as_written(found, start, end), start, end, frozenset(keys), frozenset(keys | amounts),
        frozenset(plain), frozenset(name for name, _ in units), **extra,  # type: ignore[arg-type]
    )  # fmt: skip
