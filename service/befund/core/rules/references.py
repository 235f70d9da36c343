"""Whether an answer agrees with a reference answer."""

from collections.abc import Sequence

from msgspec import Struct

from befund.core.rules import agreement
from befund.core.rules.answer import Answer, compare_yes_no, is_denied, to_state
from befund.core.rules.candidates import hedged
from befund.core.rules.doubts import Doubt, doubt_of
from befund.core.rules.entity import Entity
from befund.core.rules.exclusion import is_statement, said_otherwise
from befund.core.rules.language import Lexicon
from befund.core.rules.reading import Sentence, Text, text_of, words_found
from befund.core.rules.spelling import spelled_otherwise
from befund.core.rules.weights import Linear, probability


class Agreement(Struct, frozen=True):
    """Whether the answer agrees with a reference, by which rule, where; how sure, and what was seen."""

    agrees: bool | None
    rule: str
    quote: str | None
    confidence: float | None = None
    seen: str | None = None


def _figure_differs(answer: Answer, exact: Sequence[Entity]) -> str | None:
    """Another figure where the reference has one: no words make up for it. A date less exact is left to the model."""
    said = [entity for sentence in answer.said for entity in sentence.entities]
    given = [entity for entity in said if not agreement.states_in(exact, entity)]  # of "3 to 5 days" one is said
    for wanted in exact:
        if any(agreement.states_in([entity], wanted) or agreement.vaguely(wanted, entity) for entity in said):
            continue
        for entity in given:
            if entity.dimensions & wanted.dimensions and entity.wants.isdisjoint(answer.question.provides):
                return f"{wanted.kind} differs"
    return None


def agrees_with(
    answer: Answer, reference: str, read: Text, lexicon: Lexicon, model: Linear, *, force: bool
) -> Agreement:
    """Whether the answer agrees with one reference, by which rule, and the sentence that shows it."""
    if not read.sentences or not answer.said:
        return Agreement(False, "nothing said", None)
    if yes_no := compare_yes_no(answer, read):
        return Agreement(None if yes_no.verdict is None else yes_no.verdict == "stated", yes_no.rule, yes_no.quote)
    said = text_of(answer.said, answer.text.tongue)
    values = agreement.measure(answer.question, said, read, (reference, answer.raw), lexicon)
    score = model.score(values)
    spelled = _otherwise_spelled(answer, read)
    decided = spelled or model.decide(score, force=force)
    best = max(answer.said, key=lambda sentence: _overlap(sentence, read))
    otherwise = denied_otherwise(answer, best, read)
    if decided is not False and (rule := veto(answer, best, read, but_denial=otherwise is True)):
        return Agreement(False, rule, best.raw)
    if otherwise is not None and decided is not otherwise and not force:
        return Agreement(None, "denied in other words", best.raw)
    if decided and (doubt := doubted(answer, best, read)) and (doubt[1] or not force):
        return Agreement(False if doubt[1] else None, doubt[0], best.raw)
    if decided and not force and _denies_elsewhere(answer, read):
        return Agreement(None, "something is denied", best.raw)
    sure = None if decided is None or spelled else probability(score if decided else -score)
    new = read.keys - answer.question.keys or read.keys
    return Agreement(decided, "wording", best.raw, sure, f"{words_found(new, said.keys)} found in the answer")


def doubted(answer: Answer, best: Sentence, read: Text) -> Doubt | None:
    """Whether the figures of the reference, or else its words, are named there and not meant."""
    row = next(at for at, sentence in enumerate(answer.said) if sentence is best)
    exact = to_state(read, answer.question)
    stated = [entity for entity in best.entities if any(agreement.states_in([entity], own) for own in exact)]
    for entity in stated:
        if doubt := doubt_of(answer.said, row, (entity.start, entity.end), entity, answer.question, read):
            return doubt
    keys = read.keys - answer.question.keys or read.keys
    places = [term.at for term in best.terms if term.key in keys]
    if stated or not places:
        return None
    return doubt_of(answer.said, row, (min(places), max(places) + 1), None, answer.question, read)


def _otherwise_spelled(answer: Answer, read: Text) -> bool:
    """Whether the answer has every word of a reference without figures, some as a short form or written out."""
    wanted = read.keys - answer.question.keys
    if wanted <= answer.text.keys or to_state(read, answer.question):
        return False
    same = spelled_otherwise(read.sentences, answer.said)
    return wanted <= same | answer.text.keys


def _denies_elsewhere(answer: Answer, read: Text) -> bool:
    """Whether the answer denies anything where neither question nor reference does."""
    calm = not any(each.denied for each in (*answer.question.sentences, *read.sentences))
    return calm and any(sentence.denied for sentence in answer.said)


def _overlap(sentence: Sentence, read: Text) -> int:
    return len(sentence.keys & read.keys) + 2 * sum(
        agreement.states_in(sentence.entities, entity) for entity in read.entities
    )


def denied_otherwise(answer: Answer, best: Sentence, read: Text) -> bool | None:
    """Whether answer and reference may deny the same, one of them in a word of its own; see `said_otherwise`."""
    found = said_otherwise([best], read.sentences, answer.question)
    return found if found or is_statement(read) else None


def veto(answer: Answer, best: Sentence, read: Text, *, but_denial: bool = False) -> str | None:
    """What speaks against agreement whatever the words are: denial, other figures, a list of candidates.

    Args:
        answer: The answer.
        best: Its sentence that says most of the reference.
        read: The reference.
        but_denial: Leave denials out, since one side may deny in other words.
    """
    exact = to_state(read, answer.question)
    stated = [entity for entity in best.entities if any(agreement.states_in([entity], own) for own in exact)]
    if rule := _figure_differs(answer, exact):
        return rule
    keys = read.keys - answer.question.keys or read.keys
    places = [term.at for term in best.terms if term.key in keys] + [entity.start for entity in stated]
    if but_denial:
        pass
    elif read.denied:
        if not any(each.denied for each in (*answer.said, *answer.question.sentences)):
            return "negated"
    elif places and all(is_denied(best, place, answer.question, read) for place in places):
        return "negated"
    if any(hedged(best, entity) for entity in stated):
        return "hedged"
    if answer.lists:
        return "candidates"
    return None
