"""Clauses, what is denied in them, and what is said only under a condition."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from befund.core.rules.vocabulary import listed
from befund.core.rules.words import Token

_CUES = listed(
    "not no never none nor neither nobody nothing nowhere cannot without hardly nicht kein keine keinen keinem "
    "keiner "
    "keines keinerlei nie niemals niemand nichts nirgends weder noch ohne keinesfalls keineswegs keinesfalls "
    "n't ain't unable"
)
WITHOUT = frozenset({"without", "ohne"})
_NOUN_CUES = listed(
    "without ohne no none nothing kein keine keinen keinem keiner keines keinerlei nichts niemand nobody"
)
"""These deny the thing they stand before; the others deny what the whole clause says."""
_SOFTENED = listed("only just merely least until nur zuletzt bloss lediglich than")
"""After "not" or "nicht" these make a bound or an addition of it ("not only")."""
_COMPARED = listed("later more less fewer longer earlier mehr weniger später länger früher")
"""These do where "than" or "als" follows ("nicht länger als")."""

_FALSE = frozenset({"false", "untrue", "incorrect", "wrong", "falsch", "unzutreffend", "unrichtig", "unwahr"})
_MAY_DENY = _CUES | _FALSE
_BE = frozenset({"is", "was", "are", "were", "be", "ist", "war", "sind", "waren", "wäre"})
_THAT = frozenset({"that", "dass", "daß", "whether", "ob"})
_BREAKS = frozenset({",", ";", ":", "(", ")", ".", "!", "?"})
_BUT = listed(
    "but sondern aber while whereas während although obwohl rather instead stattdessen yet jedoch doch and "
    "und because weil denn since"
)
_LISTED = 4
"""A stretch of so few words after a comma goes on with what was denied before it."""
_CONDITIONS = listed(
    "if when unless once wenn falls sofern sobald solange nachdem bevor after before until bis except ausser"
)


class Clause(Struct, frozen=True):
    """A stretch of tokens between commas and conjunctions: `[start, end)`.

    Attributes:
        start: First token.
        end: Token after the last.
        cues: Where words stand that deny it.
        inherits: Denied by the clause before ("it is not true that ...").
        conditional: Says under which condition, not what holds.
    """

    start: int
    end: int
    cues: tuple[int, ...] = ()
    inherits: bool = False
    conditional: bool = False


def clauses(found: Sequence[Token]) -> list[Clause]:
    """The clauses of a sentence, in order, covering every token.

    >>> from befund.core.rules.words import tokens
    >>> [bool(clause.cues) for clause in clauses(tokens("Es sind nicht 24, sondern 72 Stunden."))]
    [True, False]
    """
    bounds = [0]
    for at, token in enumerate(found):
        if token.kind == "mark":
            glued_number = token.glued and at + 1 < len(found) and found[at + 1].glued and token.text in ",.:"
            if token.text in _BREAKS and not glued_number:
                bounds.append(at + 1)
        elif token.kind == "word" and token.text in _BUT and at > bounds[-1]:
            bounds.append(at)
    bounds.append(len(found))
    may = [at for at, token in enumerate(found) if token.text in _MAY_DENY or token.text[-3:] == "n't"]
    made: list[Clause] = []
    for start, end in pairwise(bounds):
        if start < end:
            made.append(_clause(found, start, end, may, made[-1] if made else None))
    return made


def _clause(found: Sequence[Token], start: int, end: int, may: Sequence[int], before: Clause | None) -> Clause:
    first = found[start].text
    denying = [cue for cue in before.cues if _denies_clause(found, cue)] if before and before.cues else []
    inherits = False
    if before and (before.inherits or denying):
        is_done = _is_no(found, before) or any(found[cue].text in _FALSE for cue in denying)
        inherits = first in _THAT or (_goes_on(found, start, end) and not is_done)
    conditional = first in _CONDITIONS or (start + 1 < end and found[start + 1].text in _CONDITIONS)
    cues = tuple([at for at in may if start <= at < end and _is_cue(found, at, end)]) if may else ()
    return Clause(start, end, cues, inherits, conditional)


def _goes_on(found: Sequence[Token], start: int, end: int) -> bool:
    """Whether a short stretch goes on with what was said before it."""
    words = sum(token.kind != "mark" for token in found[start:end])
    first = found[start].text
    return words <= _LISTED and (first not in _BUT or first in ("and", "und")) and found[start - 1].text != ";"


def _is_no(found: Sequence[Token], clause: Clause) -> bool:
    """Whether the clause is nothing but a no."""
    return sum(token.kind != "mark" for token in found[clause.start : clause.end]) <= 1


def _denies_clause(found: Sequence[Token], cue: int) -> bool:
    """Whether the word denies its whole clause, and not only the thing behind it."""
    before = found[cue - 1].text if cue else ""
    after = found[cue + 1].text if cue + 1 < len(found) else ""
    return found[cue].text not in _NOUN_CUES or before in _BE or after in ("longer", "mehr")


def _is_cue(found: Sequence[Token], at: int, end: int) -> bool:
    text = found[at].text
    following = found[at + 1].text if at + 1 < len(found) else ""
    if text in _FALSE:
        return (at > 0 and found[at - 1].text in _BE) or following in _THAT
    if found[at].kind != "word":
        return False
    if text.endswith("n't"):
        return following not in ("only", "just")
    if text not in _CUES:
        return False
    if text in ("no", "noch", "nor"):
        if text == "noch":
            return any(token.text == "weder" for token in found[max(0, at - 12) : at])
        if following in (".", "") and at + 1 < end and found[at + 1].glued and _number_follows(found, at + 2):
            return False
        if _number_follows(found, at + 1):
            return False
        if text == "no" and following in ("longer", "matter"):
            return following == "longer"
        if text == "no" and at == 0 and following in (",", ".", ""):
            return False
    if text in ("not", "nicht", "no") and following in _SOFTENED | _COMPARED:
        return following in _COMPARED and all(token.text not in ("als", "than") for token in found[at + 2 : at + 5])
    return not (text in ("nothing", "nichts") and following in ("but", "als"))


def _number_follows(found: Sequence[Token], at: int) -> bool:
    return at < len(found) and found[at].kind == "number"


def denied_tokens(found: Sequence[Token], parts: Sequence[Clause]) -> frozenset[int]:
    """The tokens that are denied."""
    denied: set[int] = set()
    for part in parts:
        if part.inherits:
            denied.update(range(part.start, part.end))
        for cue in part.cues:
            denied.update(range(part.start if _denies_clause(found, cue) else cue + 1, part.end))
    return frozenset(denied)
