"""Whether an answer states an expected fact, and whether it agrees with a reference answer."""

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from befund.core.judging import Fact, FactVerdict
from befund.core.rules import agreement, versions
from befund.core.rules.alignment import likeness, share, terms_of
from befund.core.rules.candidates import hedged, lists_candidates
from befund.core.rules.language import Lexicon
from befund.core.rules.quantities import Entity, Key
from befund.core.rules.reading import Sentence, Text, text_of
from befund.core.rules.units import UNITS, Reading
from befund.core.rules.weights import Linear, probability

_YES = frozenset({"yes", "ja", "yeah", "yep", "correct", "jawohl", "right", "indeed", "stimmt", "richtig"})
_MOST_OCCURRENCES = 50
"""Of one figure in one answer that are looked at."""
_NO = frozenset({"no", "nein", "nope", "nö"})


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


class Finding(Struct, frozen=True):
    """What became of one fact: verdict, where in the answer, by which rule; how sure where the model decided."""

    verdict: FactVerdict | None
    quote: str | None
    rule: str
    confidence: float | None = None


class Agreement(Struct, frozen=True):
    """Whether the answer agrees with a reference, by which rule, where; how sure where the model decided."""

    agrees: bool | None
    rule: str
    quote: str | None
    confidence: float | None = None


def fact_in(answer: Answer, fact: str, read: Text, lexicon: Lexicon, model: Linear, *, force: bool) -> Fact:
    """The verdict on one expected fact."""
    found = _finding(answer, fact, read, lexicon, model, force=force)
    return Fact(fact, found.verdict, found.quote, found.rule, found.confidence)


def _finding(answer: Answer, fact: str, read: Text, lexicon: Lexicon, model: Linear, *, force: bool) -> Finding:
    if yes_no := _yes_no(answer, read):
        return yes_no
    exact = [_as_asked(entity, answer.units) for entity in _to_state(read, answer.question)]
    if not exact:
        return _worded(answer, fact, read, lexicon, model, force=force)
    findings = [_stated(answer, entity, read) for entity in exact]
    worst = next((found for found in findings if found.verdict != "stated"), None)
    if worst is not None:
        return worst
    return _with_words(answer, read, findings[0], lexicon, force=force)


def _to_state(read: Text, question: Text) -> list[Entity]:
    return agreement.new_entities(read, question) or (
        [] if read.keys - question.keys else agreement.strong(read.entities)
    )


def _as_asked(entity: Entity, units: Sequence[Reading]) -> Entity:
    """A bare number in the unit the question names: "72" asked for in hours is three days, too."""
    if entity.kind != "number" or not units:
        return entity
    values = [key[1] for key in entity.wants if key[0] == "" and isinstance(key[1], float)]
    measured: frozenset[Key] = frozenset(
        (name, float(f"{value * factor:.9g}")) for value in values for name, factor in units
    )
    return Entity(
        entity.kind, entity.text, entity.start, entity.end, entity.wants | measured,
        entity.provides | measured, entity.near,
        entity.dimensions | {name for name, _ in units}, entity.weak, entity.bound, entity.per,
    )  # fmt: skip


def _stated(answer: Answer, wanted: Entity, read: Text) -> Finding:
    """Whether this entity is asserted anywhere in the answer, for the version asked about."""
    asked = versions.keys_of([read]) - wanted.wants or answer.asked
    about = versions.scopes(answer.said, answer.known)
    failed: Finding | None = None
    for sentence, around, entity in islice(_occurrences(answer, wanted, about), _MOST_OCCURRENCES):
        rule = _objection(answer, sentence, entity, wanted, around, asked, read)
        if rule is None:
            return Finding("stated", sentence.raw, f"{wanted.kind} stated")
        failed = failed or _objected(rule, sentence.raw)
    if failed:
        return failed
    known = answer.question.provides
    for sentence in answer.said:
        for entity in sentence.entities:
            if entity.dimensions & wanted.dimensions and not entity.weak and entity.wants.isdisjoint(known):
                return Finding("contradicted", sentence.raw, f"{wanted.kind} differs")
    return Finding("missing", None, f"{wanted.kind} missing")


def _occurrences(
    answer: Answer, wanted: Entity, about: Sequence[frozenset[Key]]
) -> Iterator[tuple[Sentence, frozenset[Key], Entity]]:
    for sentence, around in zip(answer.said, about, strict=True):
        for entity in sentence.entities:
            if _equal(entity, wanted, sentence):
                yield sentence, around, entity


def _equal(entity: Entity, wanted: Entity, sentence: Sentence) -> bool:
    if not entity.provides.isdisjoint(wanted.wants):
        return entity.per is None or wanted.per is None or entity.per == wanted.per
    if entity.provides.isdisjoint(wanted.near):
        return False
    if wanted.kind == "number":
        return not (entity.dimensions & wanted.dimensions)
    if wanted.kind == "quantity":
        return _elliptic(sentence, entity)
    return wanted.kind != "date"


def _elliptic(sentence: Sentence, entity: Entity) -> bool:
    """Whether nothing is counted right after the number, so that its unit goes without saying."""
    after = sentence.tokens[entity.end].kind if entity.end < len(sentence.tokens) else "mark"
    return after == "mark"


def _objection(
    answer: Answer,
    sentence: Sentence,
    entity: Entity,
    wanted: Entity,
    around: frozenset[Key],
    asked: frozenset[Key],
    read: Text,
) -> str | None:
    """Why the right value here states nothing; None if it does."""
    if {entity.bound, wanted.bound} == {"min", "max"}:
        return "bound differs"
    if _denied(sentence, entity.start, answer.question, read):
        return "negated"
    if asked and wanted.kind != "version" and len(asked) == 1:
        held = versions.scope_at(sentence, entity.start, around, answer.known)
        if held and not held & asked:
            return "version differs"
    if hedged(sentence, entity):
        return "hedged"
    if answer.lists:
        return "candidates"
    return None


def _plain(text: Text) -> frozenset[str]:
    return frozenset(token.text for sentence in text.sentences for token in sentence.tokens if token.kind != "mark")


def _denied(sentence: Sentence, token: int, question: Text, read: Text) -> bool:
    """Whether what stands here is denied where neither question nor fact denies anything, or the other way round."""
    clause = sentence.clause_at(token)
    here = token in sentence.denied_at and not clause.conditional
    if read.denied:
        return not sentence.denied
    return here and not question.denied


def _with_words(answer: Answer, read: Text, found: Finding, lexicon: Lexicon, *, force: bool) -> Finding:
    """The figures are there; whether the words around them are, too, as far as both speak one language."""
    wanted = terms_of(read.sentences, lexicon, without=answer.question.keys)
    if not wanted.keys or (read.tongue and answer.text.tongue and read.tongue != answer.text.tongue):
        return found
    met = likeness(wanted, terms_of(answer.said, lexicon)).max(axis=1, initial=0.0)
    if share(wanted.weights, met) >= 0.4:
        return found
    return Finding("missing" if force else None, found.quote, "words missing beside the figure")


def _worded(answer: Answer, fact: str, read: Text, lexicon: Lexicon, model: Linear, *, force: bool) -> Finding:
    if (sentence := _other_unit(answer, read)) is not None:
        return Finding("contradicted", sentence.raw, "unit differs")
    keys = read.keys - answer.question.keys or read.keys
    whole = next((sentence for sentence in answer.said if keys and keys <= sentence.keys), None)
    if whole is not None:
        rule = _veto(answer, whole, read)
        return Finding("stated", whole.raw, "words stated") if rule is None else _objected(rule, whole.raw)
    found = agrees_with(answer, fact, read, lexicon, model, force=force)
    if found.agrees is False and found.rule == "wording" and not force and _foreign(answer, read):
        return Finding(None, None, "other language")
    if found.agrees is False:
        return _objected(found.rule, found.quote, found.confidence)
    return Finding("stated" if found.agrees else None, found.quote, found.rule, found.confidence)


def _objected(rule: str, quote: str | None, confidence: float | None = None) -> Finding:
    """What denies or differs contradicts the fact; what leaves it open, or has other words, misses it."""
    return Finding(
        "missing" if rule in ("candidates", "hedged", "wording", "nothing said") else "contradicted",
        quote,
        rule,
        confidence,
    )


def _other_unit(answer: Answer, read: Text) -> Sentence | None:
    """Where the answer names another unit of what the fact names a unit of ("seconds" for "milliseconds")."""
    wanted = {key for key in read.keys if "/" in key}
    if not wanted or wanted & answer.text.keys:
        return None
    dimensions = {key.split("/")[0] for key in wanted}
    return next((s for s in answer.said if any("/" in key and key.split("/")[0] in dimensions for key in s.keys)), None)


def _foreign(answer: Answer, read: Text) -> bool:
    """Whether fact and answer are of different languages, so that words cannot be compared."""
    own, given = read.tongue or answer.question.tongue, answer.text.tongue
    return bool(given) and (not read.tongue or own != given) and given == "de"


def _yes_no(answer: Answer, read: Text) -> Finding | None:
    """Yes against no, where both reference and answer begin with one of them."""
    if not read.sentences or not answer.said:
        return None
    wanted, given = _word_of(read.sentences[0]), _word_of(answer.said[0])
    if wanted is None or given is None:
        return None
    quote = answer.said[0].raw
    if wanted == given:
        return Finding("stated", quote, "yes or no")
    return Finding("contradicted", quote, "yes or no differs")


def _word_of(sentence: Sentence) -> bool | None:
    first = sentence.tokens[0].text
    follows = sentence.tokens[1] if len(sentence.tokens) > 1 else None
    if follows is not None and follows.kind != "mark":
        return None
    return True if first in _YES else False if first in _NO else None


def _figure_differs(answer: Answer, exact: Sequence[Entity]) -> str | None:
    """Another figure where the reference has one: no words make up for it. A date less exact is left to the model."""
    given = [entity for sentence in answer.said for entity in sentence.entities]
    for wanted in exact:
        if any(agreement.states_in([entity], wanted) or agreement.vaguely(wanted, entity) for entity in given):
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
    if yes_no := _yes_no(answer, read):
        return Agreement(yes_no.verdict == "stated", yes_no.rule, yes_no.quote)
    said = text_of(answer.said, answer.text.tongue)
    values = agreement.measure(answer.question, said, read, (reference, answer.raw), lexicon)
    score = model.score(values)
    decided = model.decide(score, force=force)
    best = max(answer.said, key=lambda sentence: _overlap(sentence, read))
    if decided is not False and (rule := _veto(answer, best, read)):
        return Agreement(False, rule, best.raw)
    if decided and not force and _denies_elsewhere(answer, read):
        return Agreement(None, "something is denied", best.raw)
    sure = None if decided is None else probability(score if decided else -score)
    return Agreement(decided, "wording", best.raw, sure)


def _denies_elsewhere(answer: Answer, read: Text) -> bool:
    """Whether the answer denies anything where neither question nor reference does."""
    calm = not any(each.denied for each in (*answer.question.sentences, *read.sentences))
    return calm and any(sentence.denied for sentence in answer.said)


def _overlap(sentence: Sentence, read: Text) -> int:
    return len(sentence.keys & read.keys) + 2 * sum(
        agreement.states_in(sentence.entities, entity) for entity in read.entities
    )


def _veto(answer: Answer, best: Sentence, read: Text) -> str | None:
    """What speaks against agreement whatever the words are: denial, other figures, a list of candidates."""
    exact = _to_state(read, answer.question)
    stated = [entity for entity in best.entities if any(agreement.states_in([entity], own) for own in exact)]
    if rule := _figure_differs(answer, exact):
        return rule
    keys = read.keys - answer.question.keys or read.keys
    places = [term.at for term in best.terms if term.key in keys] + [entity.start for entity in stated]
    if read.denied:
        if not any(each.denied for each in (*answer.said, *answer.question.sentences)):
            return "negated"
    elif places and all(_denied(best, place, answer.question, read) for place in places):
        return "negated"
    if any(hedged(best, entity) for entity in stated):
        return "hedged"
    if answer.lists:
        return "candidates"
    return None
