"""Whether an answer states an expected fact."""

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from befund.core.judging import Fact, FactVerdict
from befund.core.rules import versions
from befund.core.rules.alignment import likeness, share, terms_of
from befund.core.rules.answer import Answer, Finding, compare_yes_no, is_denied, objected, to_state
from befund.core.rules.candidates import hedged
from befund.core.rules.doubts import Doubt, doubt_of
from befund.core.rules.entity import Entity, Key
from befund.core.rules.language import Lexicon
from befund.core.rules.reading import Sentence, Text
from befund.core.rules.references import agrees_with, denied_otherwise, doubted, veto
from befund.core.rules.units import Reading
from befund.core.rules.weights import Linear

_MOST_OCCURRENCES = 50
"""Of one figure in one answer that are looked at."""


def fact_in(answer: Answer, fact: str, read: Text, lexicon: Lexicon, model: Linear, *, force: bool) -> Fact:
    """The verdict on one expected fact."""
    found = _finding(answer, fact, read, lexicon, model, force=force)
    return Fact(fact, found.verdict, found.quote, found.rule, found.confidence, found.seen)


def _finding(answer: Answer, fact: str, read: Text, lexicon: Lexicon, model: Linear, *, force: bool) -> Finding:
    if yes_no := compare_yes_no(answer, read):
        return yes_no
    exact = [_as_asked(entity, answer.units) for entity in to_state(read, answer.question)]
    if not exact:
        return _worded(answer, fact, read, lexicon, model, force=force)
    findings = [_stated(answer, entity, read, force=force) for entity in exact]
    worst = next((found for found in findings if found.verdict != "stated"), None)
    if worst is not None:
        return worst
    return _with_words(answer, read, findings[0], lexicon, force=force)


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


def _stated(answer: Answer, wanted: Entity, read: Text, *, force: bool) -> Finding:
    """Whether this entity is asserted anywhere in the answer, for the version asked about."""
    asked = versions.keys_of([read]) - wanted.wants or answer.asked
    about = versions.scopes(answer.said, answer.known)
    failed: Finding | None = None
    for row, around, entity in islice(_occurrences(answer, wanted, about), _MOST_OCCURRENCES):
        sentence = answer.said[row]
        found = _objection(answer, row, entity, wanted, around, asked, read)
        if found is None:
            return Finding("stated", sentence.raw, f"{wanted.kind} stated")
        failed = failed or _failed(found, sentence, force=force)
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
) -> Iterator[tuple[int, frozenset[Key], Entity]]:
    for row, (sentence, around) in enumerate(zip(answer.said, about, strict=True)):
        for entity in sentence.entities:
            if _equal(entity, wanted, sentence):
                yield row, around, entity


def _failed(found: str | Doubt, sentence: Sentence, *, force: bool) -> Finding:
    if isinstance(found, str):
        return objected(found, sentence.raw)
    rule, verdict = found
    return Finding(verdict or ("missing" if force else None), sentence.raw, rule)


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
    row: int,
    entity: Entity,
    wanted: Entity,
    around: frozenset[Key],
    asked: frozenset[Key],
    read: Text,
) -> str | Doubt | None:
    """Why the right value here states nothing; None if it does."""
    sentence = answer.said[row]
    if {entity.bound, wanted.bound} == {"min", "max"}:
        return "bound differs"
    if is_denied(sentence, entity.start, answer.question, read):
        return "negated"
    if asked and wanted.kind != "version" and len(asked) == 1:
        held = versions.scope_at(sentence, entity.start, around, versions.named(sentence, answer.known))
        if held and not held & asked:
            return "version differs"
    if hedged(sentence, entity):
        return "hedged"
    if answer.lists:
        return "candidates"
    return doubt_of(answer.said, row, (entity.start, entity.end), entity, answer.question, read)


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
        otherwise = denied_otherwise(answer, whole, read)
        if otherwise is not None:
            forced: FactVerdict = "stated" if otherwise else "contradicted"
            return Finding(forced if force else None, whole.raw, "denied in other words")
        found = veto(answer, whole, read) or doubted(answer, whole, read)
        return _failed(found, whole, force=force) if found else Finding("stated", whole.raw, "words stated")
    like = agrees_with(answer, fact, read, lexicon, model, force=force)
    if like.agrees is False and like.rule == "wording" and not force and _foreign(answer, read):
        return Finding(None, None, "other language")
    if like.agrees is False:
        return replace(objected(like.rule, like.quote, like.confidence), seen=like.seen)
    return Finding("stated" if like.agrees else None, like.quote, like.rule, like.confidence, like.seen)


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
