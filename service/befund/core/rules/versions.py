"""Of which version a sentence speaks: a figure for one version says nothing about another."""

from collections.abc import Sequence

from befund.core.rules.quantities import Entity, Key
from befund.core.rules.reading import Sentence, Text

_BEFORE = frozenset({"in", "for", "of", "to", "from", "on", "with", "für", "von", "nach", "auf", "ab", "bei", "and", "und",
                     "unter", "mit", "zu", "or", "oder"})  # fmt: skip


def named(sentence: Sentence, known: frozenset[Key] = frozenset()) -> list[tuple[Entity, Key]]:
    """The versions a sentence names, with where: "Orbit 3.0", "version 3", and bare ones that are `known`."""
    found = []
    for entity in sentence.entities:
        key = next((key for key in entity.provides if key[0] == "version"), None)
        if key is None:
            continue
        before = sentence.tokens[entity.start - 1] if entity.start else None
        after_name = (
            before is not None and before.kind == "word" and before.raw[:1].isupper() and before.text not in _BEFORE
        )
        if entity.kind == "version" or after_name or (key in known and entity.kind == "number"):
            found.append((entity, key))
    return found


def keys_of(texts: Sequence[Text]) -> frozenset[Key]:
    """Every version named in these texts."""
    return frozenset(key for text in texts for sentence in text.sentences for _, key in named(sentence))


def scopes(sentences: Sequence[Sentence], known: frozenset[Key]) -> list[frozenset[Key]]:
    """For each sentence the versions it is about: its own, else those last named before it."""
    found: list[frozenset[Key]] = []
    last: frozenset[Key] = frozenset()
    for sentence in sentences:
        last = frozenset(key for _, key in named(sentence, known)) or last
        found.append(last)
    return found


def scope_at(sentence: Sentence, token: int, around: frozenset[Key], known: frozenset[Key]) -> frozenset[Key]:
    """The versions that hold at a token: those of its clause, else of its sentence, else what is held `around` it."""
    here = named(sentence, known)
    clause = sentence.clause_at(token)
    return (
        frozenset(key for entity, key in here if clause.start <= entity.start < clause.end)
        or frozenset(key for _, key in here)
        or around
    )
