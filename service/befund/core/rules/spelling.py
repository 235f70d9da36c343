"""The same thing spelled otherwise: short forms, and words written together or apart."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from befund.core.rules.language import STOPWORDS
from befund.core.rules.reading import Sentence
from befund.core.rules.words import Token

_REMARK = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_SHORT, _LONG = 2, 6
"""Letters of a short form."""


def without_remarks(text: str) -> str:
    """The text without what stands in brackets, unless that is all there is.

    >>> without_remarks("ABBA (he directed their films)"), without_remarks("(none)")
    ('ABBA', '(none)')
    """
    bare = _REMARK.sub("", text).strip()
    return bare if any(letter.isalnum() for letter in bare) else text


def spelled_otherwise(wanted: Sequence[Sentence], given: Sequence[Sentence]) -> frozenset[str]:
    """Keys of the wanted words that the given sentences have as a short form, written out, together or apart.

    "WHO" and "World Health Organization" are the same, and "steam ship" and "Steamship".
    """
    theirs = [token for sentence in given for token in sentence.tokens if token.kind in ("word", "name")]
    own = [token for sentence in wanted for token in sentence.tokens if token.kind in ("word", "name")]
    texts = {token.text for token in theirs}
    together = set(_joined(theirs))
    found = {at for at, token in enumerate(own) if token.text in together}
    for at, joined in enumerate(_joined(own)):
        if joined in texts:
            found |= {at, at + 1}
    short_there = {token.text for token in theirs if token.raw.isupper() and _is_short_form(token)}
    for start, end in _written_out(own, short_there):
        found |= set(range(start, end))
    for at, token in enumerate(own):
        if _is_short_form(token) and next(_written_out(theirs, {token.text}), None):
            found.add(at)
    places = {id(own[at]) for at in found}
    return frozenset(
        term.key for sentence in wanted for term in sentence.terms if id(sentence.tokens[term.at]) in places
    )


def _joined(found: Sequence[Token]) -> list[str]:
    """Each two neighbours as one word."""
    return [first.text + second.text for first, second in pairwise(found)]


def _is_short_form(token: Token) -> bool:
    return token.raw.isupper() and _SHORT <= len(token.text) <= _LONG and token.raw.isalpha()


def _written_out(found: Sequence[Token], short: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where words stand whose first letters spell one of these; small words between them may be left out."""
    starts: dict[str, list[int]] = {}
    for at, token in enumerate(found):
        if token.raw[:1].isupper():
            starts.setdefault(token.text[0], []).append(at)
    for form in short:
        for start in starts.get(form[0], ()):
            if end := _spells(found, start, form):
                yield start, end


def _spells(found: Sequence[Token], start: int, form: str) -> int:
    """Where the words that spell it from here on end; 0 where they do not."""
    at = start
    for letter in form:
        while at < len(found) and found[at].text[0] != letter and found[at].text in STOPWORDS and at > start:
            at += 1
        if at >= len(found) or found[at].text[0] != letter or len(found[at].text) < 2:
            return 0
        at += 1
    return at
