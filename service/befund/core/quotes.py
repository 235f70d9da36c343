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
    while at >= 0:
        if not _splits_a_word(whole, at) and not _splits_a_word(whole, at + len(wanted)):
            return True
        at = whole.find(wanted, at + 1)
    return False


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
