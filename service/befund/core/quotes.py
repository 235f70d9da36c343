"""Whether a quote stands in a text."""

import unicodedata
from functools import lru_cache

_SAME = str.maketrans(
    dict.fromkeys("‘’‚‛′", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("*`", "")
)
_AT_THE_ENDS = " \"'.,;:…"
_FIRST_WITHOUT_SPACES = "⺀"
"""Scripts from here on (Chinese, Japanese) put no spaces between words."""
_LONGEST_REMEMBERED = 4_000
_MOST_PLACES = 1_000
"""Where a quote is looked at; only a text made for it has it so often inside of words."""


def stands_in(quote: str, text: str) -> bool:
    """Whether the words of the quote stand in the text, whole and in a row.

    Case, whitespace, emphasis, the form of quotes and dashes, and punctuation at the ends of the quote do not count. A
    quote without a letter or digit stands nowhere.

    >>> stands_in("retried  FOR 72", "It is retried for **72** hours."), stands_in("2 hours", "72 hours")
    (True, False)
    """
    wanted, whole = (_remembered(each) if len(each) <= _LONGEST_REMEMBERED else _folded(each) for each in (quote, text))
    wanted = wanted.strip(_AT_THE_ENDS)
    if not any(character.isalnum() for character in wanted):
        return False
    at = whole.find(wanted)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return False
        if not _splits_a_word(whole, at):
            if not _splits_a_word(whole, at + len(wanted)):
                return True
            at += 1
        at = whole.find(wanted, _word_from(whole, at))
    return False


def _word_from(text: str, at: int) -> int:
    """Where the next word begins, from inside one: nothing before can be the whole of a quote."""
    while _splits_a_word(text, at):
        at += 1
    return at


def _splits_a_word(text: str, at: int) -> bool:
    """Whether a word goes on across this place."""
    if not 0 < at < len(text):
        return False
    return all(character.isalnum() and character < _FIRST_WITHOUT_SPACES for character in text[at - 1 : at + 1])


@lru_cache(maxsize=500)
def _remembered(text: str) -> str:
    """Many quotes are looked for in one passage, and one quote for many answers."""
    return _folded(text)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_SAME).casefold().split())
