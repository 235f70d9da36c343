"""Answers that name several candidates, or hedge between two, and so state none."""

from collections.abc import Sequence

from befund.core.rules.entity import Entity
from befund.core.rules.language import STOPWORDS
from befund.core.rules.reading import Sentence
from befund.core.rules.words import Token

OR = frozenset({"or", "oder", "either", "entweder", "beziehungsweise", "bzw", "alternatively", "alternativ", "perhaps",
                "maybe", "possibly", "vielleicht", "eventuell"})  # fmt: skip
_SEPARATORS = frozenset({",", ";", "/", "|", "•"})
_JOINERS = frozenset({"or", "oder", "and", "und", "&"})
MANY = 4
"""So many candidates are a list; fewer only where "or" stands between them."""
_LONGEST_ITEM = 12
_NEAR = 12
_BESIDE = 4
"""Entities before and after one that can be alternatives to it."""


Listing = Sequence[frozenset[str]]
"""Things listed side by side: the words of each."""


def _lines(sentences: Sequence[Sentence]) -> list[Listing]:
    """The list that short lines, one after the other, make."""
    short = [
        frozenset(_words(sentence.tokens)) for sentence in sentences if _item_length(sentence.tokens) <= _LONGEST_ITEM
    ]
    items = [item for item in short if item]
    return [items] if len(items) >= 3 else []


def _within(found: Sequence[Token]) -> list[Listing]:
    """Lists between separators; what is longer than a few words is no item and ends a list."""
    if not any(token.text in _SEPARATORS or token.text in _JOINERS for token in found):
        return []
    pieces: list[list[Token]] = [[]]
    for at, token in enumerate(found):
        glued = token.glued and at + 1 < len(found) and found[at + 1].glued and token.text != "/"
        if (token.kind == "mark" and token.text in _SEPARATORS and not glued) or (
            token.kind == "word" and token.text in _JOINERS
        ):
            pieces.append([])
        else:
            pieces[-1].append(token)
    done: list[Listing] = []
    run: list[frozenset[str]] = []
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        first = number == 0
        words = _words(piece[-_LONGEST_ITEM:] if first else piece[:_LONGEST_ITEM] if last else piece)
        if len(piece) > _LONGEST_ITEM and not first and not last:
            done.extend(_closed(run))
            run = []
            continue
        if words:
            run.append(frozenset(words))
    return [*done, *_closed(run)]


def _closed(run: list[frozenset[str]]) -> list[Listing]:
    return [run] if len(run) >= 2 else []


def _words(found: Sequence[Token]) -> list[str]:
    return [token.text for token in found if token.kind != "mark"]


def _item_length(found: Sequence[Token]) -> int:
    return sum(token.kind != "mark" for token in found)


def lists_candidates(sentences: Sequence[Sentence], stated: Sequence[frozenset[str]], known: frozenset[str]) -> bool:
    """Whether what is stated is one item of a list whose other items are something else, and is said nowhere plainly.

    Args:
        sentences: The answer.
        stated: The words of everything that would be right.
        known: Words of the question, which make no candidate.
    """
    stated = [own - STOPWORDS or own for own in stated]
    known = known | STOPWORDS
    if any(_hides(listing, stated, known) for listing in _lines(sentences)):
        return True
    hiding = [any(_hides(listing, stated, known) for listing in _within(each.tokens)) for each in sentences]
    if not any(hiding):
        return False
    plain = [set(_words(each.tokens)) for each, hides in zip(sentences, hiding, strict=True) if not hides]
    return not any(own <= words for own in stated for words in plain)


def _hides(listing: Listing, stated: Sequence[frozenset[str]], known: frozenset[str]) -> bool:
    all_stated: frozenset[str] = frozenset().union(*stated)
    right = [any(item & own for own in stated) for item in listing if item - known or item & all_stated]
    wrong = right.count(False)
    return any(right) and wrong >= MANY and wrong >= 2 * right.count(True)


def hedged(sentence: Sentence, entity: Entity) -> bool:
    """Whether another value of the same kind is offered beside this one: "24 or 72 hours", "30 seconds or 60"."""
    place = next(at for at, other in enumerate(sentence.entities) if other is entity)
    beside = sentence.entities[max(0, place - _BESIDE) : place + _BESIDE + 1]
    for other in beside:
        if other is entity or other.wants & entity.provides:
            continue
        first, last = sorted((entity, other), key=lambda each: each.start)
        between = [token.text for token in sentence.tokens[first.end : last.start]]
        names = other.kind == entity.kind == "name" and len(between) <= 2
        if not other.dimensions & entity.dimensions and not names:
            continue
        if len(between) <= _NEAR and not OR.isdisjoint(between):
            return True
        before = [token.text for token in sentence.tokens[max(0, first.start - 3) : first.start]]
        if len(between) <= _NEAR and not {"either", "entweder"}.isdisjoint(before):
            return True
    return _one_of_many(sentence, [other for other in beside if other.dimensions & entity.dimensions], entity)


def _one_of_many(sentence: Sentence, row: Sequence[Entity], entity: Entity) -> bool:
    """Whether it stands in a row of values with nothing but commas between them."""
    place = next(at for at, other in enumerate(row) if other is entity)
    size = 1
    for step in (-1, 1):
        at = place
        while 0 <= at + step < len(row):
            first, last = sorted((row[at], row[at + step]), key=lambda each: each.start)
            between = [token.text for token in sentence.tokens[first.end : last.start]]
            if len(between) > 2 or not set(between) <= {",", "/", "|", "and", "und", "or", "oder", ";"}:
                break
            size, at = size + 1, at + step
            if size >= MANY:
                return True
    return False
