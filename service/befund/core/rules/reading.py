"""A text, read once: its sentences with words, entities and clauses."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from befund.core.rules.bounds import period_after
from befund.core.rules.entity import Entity, Key
from befund.core.rules.language import STOPWORDS, Lexicon, Tongue, canonical, tongue_of
from befund.core.rules.polarity import WITHOUT, Clause, clauses, denied_tokens
from befund.core.rules.quantities import entities
from befund.core.rules.words import Token, tokens

MAX_CHARACTERS = 200_000
"""Of one text; what stands behind is not read."""
MAX_SENTENCES = 2_000
"""Of one text, likewise."""
_LONGEST_SENTENCE = 2_000
_LONGEST_REMEMBERED = 4_000
_REMEMBERED = 250
"""Texts; a character of one takes about 54 bytes once it is read."""


class Term(Struct, frozen=True):
    """A word that says something: its canonical form, as written, where it stands, whether it looks like a name."""

    key: str
    raw: str
    at: int
    proper: bool


class Sentence(Struct, frozen=True):
    """One sentence.

    Attributes:
        raw: Verbatim from the text it was read from.
        tokens: All of it.
        terms: Its words that say something.
        entities: What is exact in it.
        clauses: In order.
        denied_at: The tokens that are denied.
        denied: Whether anything in it is denied; that something is without something else denies nothing.
    """

    raw: str
    tokens: Sequence[Token]
    terms: Sequence[Term]
    entities: Sequence[Entity]
    clauses: Sequence[Clause]
    denied_at: frozenset[int]
    denied: bool

    def clause_at(self, token: int) -> Clause:
        """The clause in which this token stands."""
        return next((clause for clause in self.clauses if clause.start <= token < clause.end), self.clauses[-1])

    @property
    def keys(self) -> frozenset[str]:
        """The canonical words."""
        return frozenset(term.key for term in self.terms)


class Text(Struct, frozen=True):
    """A text as its sentences.

    Attributes:
        sentences: In order.
        tongue: Its language; empty where nothing tells.
        entities: Every entity of it.
        provides: Every key that an entity of it provides.
        keys: Every canonical word of it.
        denied: Whether anything in it is denied.
    """

    sentences: Sequence[Sentence]
    tongue: Tongue
    entities: Sequence[Entity]
    provides: frozenset[Key]
    keys: frozenset[str]
    denied: bool


def text_of(sentences: Sequence[Sentence], tongue: Tongue) -> Text:
    """Put sentences together."""
    found = [entity for sentence in sentences for entity in sentence.entities]
    return Text(
        sentences,
        tongue,
        found,
        frozenset().union(*[entity.provides for entity in found]),
        frozenset([term.key for sentence in sentences for term in sentence.terms]),
        any(sentence.denied for sentence in sentences),
    )


def words_found(wanted: frozenset[str], given: frozenset[str]) -> str:
    """How many of these words the others have, for a reader.

    >>> words_found(frozenset({"jug", "lid"}), frozenset({"lid"}))
    '1 of 2 content words'
    """
    return f"{len(wanted & given)} of {len(wanted)} content words"


_BLOCK = re.compile(r"\n[ \t]*(?:\n|(?=[-*+•#|>] ?)|(?=\d{1,3}[.)] ))|\|[ \t]*\n")
_MARKER = re.compile(r"^\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)")


def read(text: str, lexicon: Lexicon) -> Text:
    """Read a text: cut it into sentences and each sentence into what can be compared.

    Passages come again with the next question, and references with the next answer: short texts are remembered.
    """
    return _remembered(text, lexicon) if len(text) <= _LONGEST_REMEMBERED else _read(text[:MAX_CHARACTERS], lexicon)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str, lexicon: Lexicon) -> Text:
    return _read(text, lexicon)


def _read(text: str, lexicon: Lexicon) -> Text:
    tongue = tongue_of(text[:5_000].casefold().split())
    found = [read_sentence(raw, lexicon) for raw in _cut(text, lexicon, tongue)]
    return text_of([sentence for sentence in found if sentence is not None], tongue)


def _cut(text: str, lexicon: Lexicon, tongue: Tongue) -> list[str]:
    pieces: list[str] = []
    for block in _blocks(text):
        for stretch in _stretches(block):
            pieces.extend(lexicon.sentences(stretch, tongue))
    return [stripped for piece in pieces if (stripped := piece.strip())][:MAX_SENTENCES]


def _stretches(block: str) -> Iterator[str]:
    """The block in stretches that no sentence splitter takes long over, cut at spaces where there are any."""
    start = 0
    while len(block) - start > _LONGEST_SENTENCE:
        end = block.rfind(" ", start + 1, start + _LONGEST_SENTENCE)
        end = end if end > 0 else start + _LONGEST_SENTENCE
        yield block[start:end]
        start = end
    yield block[start:]


def _blocks(text: str) -> list[str]:
    """Paragraphs, list items, table rows and headings."""
    start = 0
    found: list[str] = []
    for gap in _BLOCK.finditer(text):
        found.append(text[start : gap.start()])
        start = gap.end()
    found.append(text[start:])
    return [block for block in found if block.strip()]


def read_sentence(raw: str, lexicon: Lexicon) -> Sentence | None:
    """One sentence; None if there is nothing in it that could be compared."""
    found = tokens(_MARKER.sub("", raw))
    if not any(token.kind != "mark" for token in found):
        return None
    exact = entities(found)
    taken = {at for entity in exact for at in range(entity.start, entity.end) if entity.kind != "name"}
    for entity in exact:
        if entity.per is not None and (period := period_after(found, entity.end)):
            taken.update(range(period.start, period.end))
    terms = [
        Term(_key(token, lexicon), token.raw, at, at > 0 and token.raw[:1].isupper())
        for at, token in enumerate(found)
        if token.kind in ("word", "name") and at not in taken and token.text not in STOPWORDS and len(token.text) > 1
    ]
    parts = clauses(found)
    denied = any(found[cue].text not in WITHOUT for part in parts for cue in part.cues)
    return Sentence(raw, found, terms, exact, parts, denied_tokens(found, parts), denied)


def _key(token: Token, lexicon: Lexicon) -> str:
    if token.kind == "name":
        return token.text
    return _key_of(token.text, token.raw, lexicon)


@lru_cache(maxsize=50_000)
def _key_of(folded: str, raw: str, lexicon: Lexicon) -> str:
    return canonical(folded, lexicon.lemma(raw).casefold())
