"""Claims that are hardly more than a figure or an identifier: "Two weeks.", "At 9 am.", "It is `a:write`".

No weighing of words tells whether those follow from a passage. What a passage says in answer to the question does.
"""

from collections.abc import Sequence, Set

from befund.core.rules.asked import is_asked
from befund.core.rules.entity import Entity
from befund.core.rules.evidence import Evidence
from befund.core.rules.reading import Sentence, Term, Text
from befund.core.rules.vocabulary import listed

_BESIDE_FIGURES = listed(
    "amount be come cost get give have last run take pro je "
    "beginnen betragen brauchen dauern enden geben gelten haben kosten liegen"
)
"""Words that say no more than that there is a figure."""


def place_of_figures(claim: Sentence, question: Text, evidence: Evidence) -> int | None:
    """The sentence that gives the figures of a claim whose other words are the question's or the sentence's own.

    None where the claim gives no figure of its own, where no sentence has all of them and no rival of any, where
    another sentence with such a figure is closer to the question, or where it lacks a name that is asked about.
    """
    figures = [entity for entity in claim.entities if not entity.weak]
    own = [entity for entity in figures if entity.wants.isdisjoint(question.provides)]
    if not own or claim.denied or is_asked(claim):
        return None
    words = {key for key in claim.keys - question.keys - _BESIDE_FIGURES if "/" not in key}  # that is a unit
    stating = [
        row
        for row in sorted({row for key in own[0].wants for row in evidence.places.get(key, ())})
        if _answers(evidence.sentences[row], words, figures)
    ]
    best = max(stating, key=lambda row: _closeness(question, evidence.sentences[row]), default=None)
    if best is None or _has_rival(evidence.sentences[best], own):
        return None
    names = [term for each in question.sentences for term in each.terms if term.proper]
    closest = _closeness(question, evidence.sentences[best])
    if not closest or not all(_has(evidence.sentences[best], name) for name in names):
        return None
    others = (there for row, there in enumerate(evidence.sentences) if row not in stating and _has_rival(there, own))
    return best if all(_closeness(question, there) < closest for there in others) else None


def _answers(sentence: Sentence, words: Set[str], figures: Sequence[Entity]) -> bool:
    return words <= sentence.keys and not is_asked(sentence) and all(_says(sentence, figure) for figure in figures)


def _closeness(question: Text, sentence: Sentence) -> int:
    """How many of the question's words a sentence has, those it counts included ("30 days of leave")."""
    return sum(_has(sentence, term) for each in question.sentences for term in each.terms)


def _has(sentence: Sentence, term: Term) -> bool:
    return term.key in sentence.keys or any(term.raw.casefold() == token.text for token in sentence.tokens)


def _says(sentence: Sentence, figure: Entity) -> bool:
    """Whether a sentence gives this figure: of the same bound, per the same time, and does not deny it."""
    return any(
        not figure.wants.isdisjoint(other.provides)
        and other.bound == figure.bound
        and (other.per is None or figure.per is None or other.per == figure.per)
        and other.start not in sentence.denied_at
        for other in sentence.entities
    )


def _has_rival(sentence: Sentence, figures: Sequence[Entity]) -> bool:
    """Whether a sentence gives another figure that could be meant instead of one of these."""
    return any(
        not other.weak
        and not figure.dimensions.isdisjoint(other.dimensions)
        and all(each.wants.isdisjoint(other.provides) for each in figures)
        for figure in figures
        for other in sentence.entities
    )
