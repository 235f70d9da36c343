"""Whether a quote stands in a text."""

import unicodedata

_SAME = str.maketrans(dict.fromkeys("‘’‚‛′", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—−", "-"))


def stands_in(quote: str, text: str) -> bool:
    """Whether the quote is in the text, word for word; case, whitespace and the form of quotes and dashes aside.

    A quote without a letter or digit stands nowhere.

    >>> stands_in("retried  FOR", "It is retried for 72 hours."), stands_in("...", "...")
    (True, False)
    """
    folded = _folded(quote)
    return any(character.isalnum() for character in folded) and folded in _folded(text)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_SAME).casefold().split())
