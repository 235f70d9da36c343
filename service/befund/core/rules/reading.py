"""A text, read once: its sentences with words, entities and clauses."""

import re
from collections.abc import Sequence

from msgspec import Struct

from befund.core.rules.language import STOPWORDS, Lexicon, Tongue, canonical, tongue_of
from befund.core.rules.polarity import Clause, clauses, denied_tokens
from befund.core.rules.quantities import Entity, Key, entities
from befund.core.rules.words import Token, tokens

MAX_CHARACTERS = 200_000
"""Of one text; what stands behind is not read."""
_LONGEST_SENTENCE = 2_000


class Term(Struct, frozen=True):
    """A word that says something: its canonical form, as written, where it stands, whether it looks like a name."""

    key: str
    raw: str
    at: int
    proper: bool


class Sentence(Struct, frozen=True):
    """One sentence. `raw` is verbatim from the text it was read from."""

    raw: str
    tokens: Sequence[Token]
    terms: Sequence[Term]
    entities: Sequence[Entity]
    clauses: Sequence[Clause]
    denied_at: frozenset[int]

    @property
    def denied(self) -> bool:
        """Whether anything in it is denied."""
        return any(clause.cues for clause in self.clauses)

    def clause_at(self, token: int) -> Clause:
        """The clause in which this token stands."""
        return next((clause for clause in self.clauses if clause.start <= token < clause.end), self.clauses[-1])

    @property
    def keys(self) -> frozenset[str]:
        """The canonical words."""
        return frozenset(term.key for term in self.terms)


class Text(Struct, frozen=True):
    """A text as its sentences, with its language."""

    sentences: Sequence[Sentence]
    tongue: Tongue

    @property
    def entities(self) -> list[Entity]:
        """Every entity of it."""
        return [entity for sentence in self.sentences for entity in sentence.entities]

    @property
    def provides(self) -> frozenset[Key]:
        """Every key that an entity of it provides."""
        return frozenset(key for entity in self.entities for key in entity.provides)

    @property
    def keys(self) -> frozenset[str]:
        """Every canonical word of it."""
        return frozenset(term.key for sentence in self.sentences for term in sentence.terms)


_BLOCK = re.compile(r"\n[ \t]*(?:\n|(?=[-*+•#|>] ?)|(?=\d{1,3}[.)] ))|\|[ \t]*\n")
_MARKER = re.compile(r"^\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)")


def read(text: str, lexicon: Lexicon) -> Text:
    """Read a text: cut it into sentences and each sentence into what can be compared."""
    text = text[:MAX_CHARACTERS]
    tongue = tongue_of(text[:5_000].casefold().split())
    found = [read_sentence(raw, lexicon) for raw in _cut(text, lexicon, tongue)]
    return Text([sentence for sentence in found if sentence is not None], tongue)


def _cut(text: str, lexicon: Lexicon, tongue: Tongue) -> list[str]:
    pieces: list[str] = []
    for block in _blocks(text):
        for sentence in lexicon.sentences(block, tongue):
            pieces.extend(
                sentence[start : start + _LONGEST_SENTENCE] for start in range(0, len(sentence), _LONGEST_SENTENCE)
            )
    return [piece.strip() for piece in pieces]


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
    terms = [
        Term(_key(token, lexicon), token.raw, at, at > 0 and token.raw[:1].isupper())
        for at, token in enumerate(found)
        if token.kind in ("word", "name") and at not in taken and token.text not in STOPWORDS and len(token.text) > 1
    ]
    parts = clauses(found)
    return Sentence(raw, found, terms, exact, parts, denied_tokens(found, parts))


def _key(token: Token, lexicon: Lexicon) -> str:
    if token.kind == "name":
        return token.text
    return canonical(token.text, lexicon.lemma(token.raw).casefold())
