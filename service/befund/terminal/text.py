"""Text of others, made fit for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

ELLIPSIS = "…"
MOST_LISTED = 8
LONGEST_ID = 40


def literal(text: str) -> str:
    r"""Show what would steer a terminal instead of doing it; blanks of every kind become one space each.

    >>> literal("red \x1b[31m\nnext")
    'red \\x1b[31m next'
    """
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def shortened(text: str, longest: int) -> str:
    """Cut the end off a long text.

    >>> shortened("a long question", 8)
    'a long …'
    """
    shown = literal(text)
    return shown if len(shown) <= longest else shown[: longest - 1] + ELLIPSIS


def shortened_at_word(text: str, longest: int) -> str:
    """Cut the end off a long text, between words where one ends in the second half of what is kept.

    >>> shortened_at_word("a long question", 12)
    'a long …'
    """
    shown = literal(text)
    if len(shown) <= longest:
        return shown
    kept = shown[: longest - 1]
    blank = kept.rfind(" ")
    return f"{kept[:blank].rstrip()} {ELLIPSIS}" if blank >= longest // 2 else kept + ELLIPSIS


def short_id(identity: str) -> str:
    """Cut the middle out of a long id: what tells ids apart is often at their end."""
    shown = literal(identity)
    if len(shown) <= LONGEST_ID:
        return shown
    half = (LONGEST_ID - 1) // 2
    return shown[:half] + ELLIPSIS + shown[-half:]


def listed(ids: Sequence[str], *, most: int = MOST_LISTED) -> str:
    """List ids, the first few by name and the rest by number.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    named = ", ".join(short_id(identity) for identity in ids[:most])
    return named if len(ids) <= most else f"{named} and {len(ids) - most} more"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "question"), counted(2, "question")
    ('1 question', '2 questions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(time: datetime) -> str:
    """Write a time, which is in UTC, to the minute."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else character.encode("unicode_escape", "backslashreplace").decode()
