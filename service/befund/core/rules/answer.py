"""The answer as the question puts it, and what is found in it of what was expected."""

from collections.abc import Sequence

from msgspec import Struct

from befund.core.judging import FactVerdict
from befund.core.rules import agreement, versions
from befund.core.rules.asked import asks_openly
from befund.core.rules.candidates import OR, lists_candidates
from befund.core.rules.entity import Entity, Key
from befund.core.rules.exclusion import said_otherwise
from befund.core.rules.reading import Sentence, Text
from befund.core.rules.units import UNITS, Reading
from befund.core.rules.vocabulary import listed

_YES = frozenset({"yes", "ja", "yeah", "yep", "correct", "jawohl", "right", "indeed", "stimmt", "richtig"})
_NO = frozenset({"no", "nein", "nope", "nö"})
_USUALLY = listed("typically generally usually normally mostly basically meist meistens normalerweise üblicherweise")


class Answer(Struct, frozen=True):
    """The answer as the question puts it.

    Attributes:
        raw: As given.
        question: Read.
        text: The answer, read.
        said: Its sentences without refusals and questions.
        lists: Whether it hides what is expected among other candidates.
        known: Every version that question or answer names.
        asked: The versions the question names.
        units: The units the question names.
    """

    raw: str
    question: Text
    text: Text
    said: Sequence[Sentence]
    lists: bool
    known: frozenset[Key]
    asked: frozenset[Key]
    units: Sequence[Reading]


def answer_of(raw: str, question: Text, text: Text, said: Sequence[Sentence], expected: Sequence[Text]) -> Answer:
    """Put together what is asked, what is said, and what is expected."""
    right = [words for each in expected if (words := _plain(each))]
    known = versions.keys_of([question, text])
    asked = frozenset(key for sentence in question.sentences for _, key in versions.named(sentence))
    units = [
        reading
        for sentence in question.sentences
        for token in sentence.tokens
        if token.kind == "word" and len(token.text) > 3
        for reading in UNITS.get(token.text, ())
    ]
    return Answer(raw, question, text, said, lists_candidates(said, right, _plain(question)), known, asked, units)


def _plain(text: Text) -> frozenset[str]:
    return frozenset(token.text for sentence in text.sentences for token in sentence.tokens if token.kind != "mark")


class Finding(Struct, frozen=True):
    """What became of one fact: verdict, where, by which rule; how sure, and what was seen."""

    verdict: FactVerdict | None
    quote: str | None
    rule: str
    confidence: float | None = None
    seen: str | None = None


def objected(rule: str, quote: str | None, confidence: float | None = None) -> Finding:
    """What denies or differs contradicts the fact; what leaves it open, or has other words, misses it."""
    is_open = rule in ("candidates", "hedged", "wording", "nothing said")
    return Finding("missing" if is_open else "contradicted", quote, rule, confidence)


def to_state(read: Text, question: Text) -> list[Entity]:
    """The figures and names an answer must state: those the question lacks, or all where it lacks no word either."""
    return agreement.new_entities(read, question) or (
        [] if read.keys - question.keys else agreement.strong(read.entities)
    )


def opens_with_yes(sentence: Sentence) -> bool:
    """Whether it begins with a yes."""
    return sentence.tokens[0].text in _YES


def is_denied(sentence: Sentence, token: int, question: Text, read: Text) -> bool:
    """Whether what stands here is denied where neither question nor fact denies anything, or the other way round."""
    clause = sentence.clause_at(token)
    here = token in sentence.denied_at and not clause.conditional
    if read.denied:
        return not sentence.denied
    return here and not question.denied


def compare_yes_no(answer: Answer, read: Text) -> Finding | None:
    """Yes against no, where both reference and answer begin with one of them, or the answer is nothing else."""
    if not read.sentences or not answer.said:
        return None
    wanted, given = _word_of(read.sentences[0]), _word_of(answer.said[0])
    if given is None:
        return None
    quote = answer.said[0].raw
    if wanted is None:
        if not _is_bare(answer.said, answer.question, read):
            return None
        wanted = _as_asked(answer.question, read)
        if wanted is None:
            return Finding(None, quote, "yes or no alone")
    if wanted == given:
        return Finding("stated", quote, "yes or no")
    return Finding("contradicted", quote, "yes or no differs")


def _is_bare(said: Sequence[Sentence], question: Text, read: Text) -> bool:
    """Whether yes or no is all that is said to a question that asks for it, and no figure was expected."""
    alone = len(said) == 1 and not said[0].terms and not said[0].entities
    return alone and bool(question.sentences) and not asks_openly(question) and not to_state(read, question)


def _as_asked(question: Text, read: Text) -> bool | None:
    """Whether what is expected says yes to the question or no; None where it says something else."""
    choice = any(token.text in OR for each in question.sentences for token in each.tokens)
    if choice or question.denied or not read.keys <= question.keys:
        return None
    return None if said_otherwise(read.sentences, question.sentences) is not None else not read.denied


def _word_of(sentence: Sentence) -> bool | None:
    words = [token for token in sentence.tokens if token.text not in _USUALLY]
    if words and words[0].text == ",":
        words = words[1:]
    if not words or (len(words) > 1 and words[1].kind != "mark"):
        return None
    first = words[0].text
    return True if first in _YES else False if first in _NO else None
