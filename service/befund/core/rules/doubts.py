"""Values that an answer names and does not mean: asked for, taken back, passed on, of the past, doubted, bounded."""

from collections.abc import Sequence

from befund.core.judging import FactVerdict
from befund.core.rules import doubt_wordings as worded
from befund.core.rules.asked import is_asked
from befund.core.rules.entity import Entity
from befund.core.rules.reading import Sentence, Text
from befund.core.rules.words import Token

Doubt = tuple[str, FactVerdict | None]
"""The rule, and what it makes of the fact; None where nobody can tell."""

_MAY_DIFFER: Doubt = ("bound may differ", None)
_REACH = 12
"""Tokens before a value that can say how it is meant."""
_BETWEEN = frozenset({"to", "-", "and", "bis", "und"})
"""These join the two ends of a range."""


def doubt_of(
    said: Sequence[Sentence], row: int, span: tuple[int, int], entity: Entity | None, question: Text, read: Text
) -> Doubt | None:
    """Why what stands here is named and not meant; None if it is meant.

    Args:
        said: The sentences of the answer.
        row: Which of them it stands in.
        span: First token, and token after the last.
        entity: The value, if it is one.
        question: What was asked.
        read: The fact, which may itself be a bound, a doubt or of the past.
    """
    sentence = said[row]
    before_at, after_at = _between_rivals(sentence, span, entity)
    before = _text(sentence.tokens[before_at : span[0]])
    after = _text(sentence.tokens[span[1] : after_at])
    following = said[row + 1] if row + 1 < len(said) and after_at == len(sentence.tokens) else None
    rivals = entity is not None and _has_rival(said, entity, question)
    if withdrawn := _taken_back(sentence, span, entity, before, after, following):
        return withdrawn, "contradicted"
    if is_asked(sentence) and not (following and worded.CONFIRMED.match(_text(following.tokens))):
        return "asked", "contradicted" if rivals else None
    given = _text([token for text in (question, read) for each in text.sentences for token in each.tokens])
    if _is_past(sentence, span, before, after, entity) and (rule := _past(question, read, rivals=rivals)):
        return rule
    if entity is not None and (bounded := _bounded(sentence, span, before, entity, question, read)):
        return bounded
    if worded.PASSED_ON.search(before) and not worded.PASSED_ON.search(given):
        return "passed on", "contradicted" if rivals else None
    near = _stretch(sentence.tokens[before_at : span[0]])
    hedged = (
        worded.HEDGE.search(near) or worded.HEDGED_AFTER.search(after) or worded.UNSURE.search(_text(sentence.tokens))
    )
    return ("doubted", None) if hedged and not worded.HEDGE.search(given) else None


def _text(found: Sequence[Token]) -> str:
    return " ".join([token.text for token in found])


def _stretch(before: Sequence[Token]) -> str:
    """What stands right before, as far as it is of one breath."""
    start = next((at + 1 for at in range(len(before) - 1, -1, -1) if before[at].text in worded.NEW_START), 0)
    return _text(before[max(start, len(before) - _REACH) :])


def _differs(other: Entity, entity: Entity) -> bool:
    return bool(other.dimensions & entity.dimensions) and other.wants.isdisjoint(entity.provides) and not other.weak


def _between_rivals(sentence: Sentence, span: tuple[int, int], entity: Entity | None) -> tuple[int, int]:
    """From behind the last other value of its kind before it, to the next behind it."""
    others = [other for other in sentence.entities if entity is not None and _differs(other, entity)]
    before = max((other.end for other in others if other.end <= span[0]), default=0)
    return before, min((other.start for other in others if other.start >= span[1]), default=len(sentence.tokens))


def _has_rival(said: Sequence[Sentence], entity: Entity, question: Text) -> bool:
    """Whether the answer names another value of its kind that the question does not."""
    return any(
        _differs(other, entity) and other.wants.isdisjoint(question.provides)
        for sentence in said
        for other in sentence.entities
    )


def _taken_back(
    sentence: Sentence,
    span: tuple[int, int],
    entity: Entity | None,
    before: str,
    after: str,
    following: Sentence | None,
) -> str | None:
    if worded.DISPLACED.search(before):
        return "replaced"
    if worded.IS_WRONG.match(after) or worded.TAKEN_BACK.search(after):
        return "taken back"
    behind = _text(sentence.tokens[span[1] :])
    if worded.CORRECTED.match(behind) and len(after) < len(behind):
        return "taken back"
    if following is None:
        return None
    then = _text(following.tokens)
    if worded.TAKEN_BACK.match(then) or (is_asked(sentence) and worded.DENIED.match(then)):
        return "taken back"
    others = [other for other in following.entities if entity is None or _differs(other, entity)]
    corrected = others and all(other.kind != "version" or other is others[0] for other in following.entities)
    return "taken back" if corrected and worded.CORRECTED.match(then) else None


def _past(question: Text, read: Text, *, rivals: bool) -> Doubt | None:
    """What a value of the past states: nothing, unless the past is asked for."""
    given = {token.text for text in (question, read) for sentence in text.sentences for token in sentence.tokens}
    if not given.isdisjoint(worded.SPEAKS_OF_PAST):
        return None
    if given.isdisjoint(worded.PAST_TENSE):
        return "of the past", "contradicted" if rivals else None
    return ("of the past", None) if rivals else None


def _is_past(sentence: Sentence, span: tuple[int, int], before: str, after: str, entity: Entity | None) -> bool:
    ends = [found.end() for found in worded.PAST.finditer(before)]
    if (ends and not worded.NOW.search(before, ends[-1])) or worded.WAS_ONCE.match(after):
        return True
    later = entity is not None and any(o.start >= span[1] and _differs(o, entity) for o in sentence.entities)
    if later and not worded.NOW.search(before) and worded.SINCE.search(after):
        return True
    return later and bool(worded.FROM.search(before) and worded.CHANGES.search(_text(sentence.tokens)))


def _bounded(
    sentence: Sentence, span: tuple[int, int], before: str, entity: Entity, question: Text, read: Text
) -> Doubt | None:
    """A bound or an end of a range where the fact is neither."""
    if entity.kind == "name" or any(own.bound or (not own.weak and _differs(own, entity)) for own in read.entities):
        return None
    given = _text([token for each in read.sentences for token in each.tokens])
    asked = frozenset(token.text for each in question.sentences for token in each.tokens)
    ordered = entity.kind in ("date", "version")
    if (strict := worded.STRICT.search(before)) and not (ordered and strict[0].strip() in ("under", "unter")):
        if worded.STRICT_GIVEN.search(given):
            return None
        if strict[0].strip() in ("under", "unter") and any(key[0] == "version" for key in entity.provides):
            return _MAY_DIFFER  # "under 3.0" may name the version it runs with
        return ("bound differs", "contradicted") if asked.isdisjoint(worded.ASKS_FOR_LIMIT) else _MAY_DIFFER
    if worded.LEAST.search(before) and asked.isdisjoint(worded.ASKS_FOR_LEAST):
        return "bound differs", "contradicted"
    loose = worded.OPEN_BOUND.search(before) or (ordered and worded.AROUND.search(before))
    if loose and loose[0].split()[0] not in given.split():
        return _MAY_DIFFER
    if worded.AND_MORE.match(_text(sentence.tokens[span[1] :])):
        return _MAY_DIFFER
    return ("end of a range", None) if _ends_range(sentence, entity) else None


def _ends_range(sentence: Sentence, entity: Entity) -> bool:
    """Whether it is the one end of "24 to 72 hours"; what was changed from one value to the other is no range."""
    if entity.kind not in ("quantity", "number") or worded.CHANGES.search(_text(sentence.tokens)):
        return False
    for other in sentence.entities:
        first, last = sorted((other, entity), key=lambda each: each.start)
        between = [token.text for token in sentence.tokens[first.end : last.start]]
        if _differs(other, entity) and len(between) == 1 and between[0] in _BETWEEN:
            opened = sentence.tokens[first.start - 1].text if first.start else ""
            if between[0] not in ("and", "und") or opened in ("between", "zwischen"):
                return True
    return False
