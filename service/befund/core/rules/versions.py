"""Of which version a sentence speaks: a figure for one version says nothing about another."""

from collections.abc import Sequence

from befund.core.rules.entity import Entity, Key
from befund.core.rules.reading import Sentence, Text
from befund.core.rules.vocabulary import listed

_BEFORE = listed("in for of to from on with für von nach auf ab bei and und unter mit zu or oder")


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
    return frozenset(
        key for text in texts for sentence in text.sentences if sentence.entities for _, key in named(sentence)
    )


def scopes(sentences: Sequence[Sentence], known: frozenset[Key]) -> list[frozenset[Key]]:
    """For each sentence the versions last named before it."""
    found: list[frozenset[Key]] = []
    last: frozenset[Key] = frozenset()
    for sentence in sentences:
        found.append(last)
        if sentence.entities:
            last = frozenset(key for _, key in named(sentence, known)) or last
    return found


def scope_at(sentence: Sentence, token: int, around: frozenset[Key], here: list[tuple[Entity, Key]]) -> frozenset[Key]:
    """The versions that hold at a token: of its clause, else named before it, else in a later clause, else `around`.

    `here` is what the sentence names.
    """
    if not here:
        return around
    clause = sentence.clause_at(token)
    own = frozenset(key for entity, key in here if clause.start <= entity.start < clause.end)
    before = frozenset(key for entity, key in here if entity.start < token)
    return own or before or _after(sentence, token, here) or around


def _after(sentence: Sentence, token: int, here: list[tuple[Entity, Key]]) -> frozenset[Key]:
    """The versions of the next clause that names any, if it gives no figure of its own."""
    for clause in sentence.clauses:
        keys = frozenset(key for entity, key in here if token < clause.start <= entity.start < clause.end)
        if keys:
            inside = [entity for entity in sentence.entities if clause.start <= entity.start < clause.end]
            return keys if len(inside) == len(keys) else frozenset()
    return frozenset()
