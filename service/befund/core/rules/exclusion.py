"""Denials in a word of their own: "excluded", "free of", "entfällt". The other side may say the same with a "not"."""

from collections.abc import Iterator, Sequence

from befund.core.rules.polarity import WITHOUT
from befund.core.rules.reading import Sentence, Text
from befund.core.rules.vocabulary import listed

_EXCLUDES = listed(
    "excluded excludes exclude exempt exempted lacks lack lacking absent omitted omits prohibited prohibits forbidden "
    "forbids banned impossible unavailable void voids invalid ineligible refused refuses rejected rejects "
    "ausgeschlossen ausgeschlossene ausgenommen entfällt entfallen verboten untersagt unmöglich unzulässig fehlt "
    "fehlen erlischt verweigert abgelehnt ungültig"
)
_FREE = {"free": frozenset({"of", "from"}), "frei": frozenset({"von"})}
_WORDS = _EXCLUDES | WITHOUT | _FREE.keys()
_REACH = 5
"""Tokens behind "without" that it can be about."""
_STATES = listed(
    "is are was were be has have does do did can will may must ist sind war waren hat haben wird werden kann können "
    "darf muss"
)


def said_otherwise(one: Sequence[Sentence], other: Sequence[Sentence], question: Text | None = None) -> bool | None:
    """Whether two sides may say the same where just one of them denies in a word of its own.

    True where both deny or neither does, counted with that word: "is excluded" and "is not covered"; False where one
    does: "is excluded" and "is covered". None where neither or both have such a word, or the question has it.
    """
    asked = frozenset(token.text for each in question.sentences for token in each.tokens) if question else frozenset()
    mine, theirs = _excludes(one, other, asked), _excludes(other, one, asked)
    if mine == theirs or (question and question.denied):
        return None
    denied, denied_there = (any(sentence.denied for sentence in side) for side in (one, other))
    return (denied ^ mine) == (denied_there ^ theirs)


def is_statement(text: Text) -> bool:
    """Whether it says that something is so, and does not just name it."""
    return any(token.text in _STATES for sentence in text.sentences for token in sentence.tokens)


def _excludes(one: Sequence[Sentence], other: Sequence[Sentence], asked: frozenset[str]) -> bool:
    """Whether the one excludes something that the other speaks of, in a word that the other lacks."""
    found = [(sentence, at, scope) for sentence in one for at, scope in _exclusions(sentence)]
    if not found:
        return False
    keys = frozenset().union(*(sentence.keys for sentence in other))
    words = asked.union(token.text for sentence in other for token in sentence.tokens)
    return any(
        sentence.tokens[at].text not in words
        and any(term.key in keys and term.at in scope and term.at != at for term in sentence.terms)
        for sentence, at, scope in found
    )


def _exclusions(sentence: Sentence) -> Iterator[tuple[int, range]]:
    """Where such words stand, and what each can be about."""
    for at, token in enumerate(sentence.tokens):
        if token.text not in _WORDS:
            continue
        if token.text in _EXCLUDES:
            clause = sentence.clause_at(at)
            yield at, range(clause.start, clause.end)
        elif token.text in WITHOUT:
            yield at, range(at + 1, at + 1 + _REACH)
        elif any(after.text in _FREE[token.text] for after in sentence.tokens[at + 1 : at + 2]):
            yield at, range(at + 2, at + 2 + _REACH)
