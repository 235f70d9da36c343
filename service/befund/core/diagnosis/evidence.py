"""Whether the context held what the answer needs, and which passage says so.

With the context's text and expected facts, evidence is there exactly if the text states every fact as an answer to
this question. The rules judge reads each chunk as if it were the answer, so that a figure for another version does not
count. What an expert marked counts over the rules where they found the value and objected to its wording.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from befund.contract import EvidenceBy
from befund.core.diagnosis.aboutness import PRODUCT, is_about
from befund.core.diagnosis.gold import Wanted
from befund.core.diagnosis.stating import Statement
from befund.core.diagnosis.wording import several
from befund.core.evidence_mapping import fold
from befund.core.judging import Passage

_HEADING = re.compile(r"\s*#")
_BARE_NUMBER = re.compile(r"\s*\d[\d.,]*\s*")


class Reading(Struct, frozen=True):
    """What the rules see of the expected facts in one text; `id` is its chunk, or its evidence."""

    id: str
    facts: Sequence[Statement]


class FactPlace(Struct, frozen=True):
    """An expected fact, and the chunk and words of the context that state it; None where nothing does."""

    fact: str
    chunk: str | None = None
    passage: str | None = None


class Seen(Struct, frozen=True):
    """One piece of gold, and whether it is in the context; None where the context is not known."""

    wanted: Wanted
    in_context: bool | None
    by: EvidenceBy | None


class Evidence(Struct, frozen=True):
    """What of the gold is in the context.

    Attributes:
        present: Whether all that the answer needs is there; None where that cannot be told.
        by: Whether text or ids decided; None where neither could.
        facts: Every expected fact, where text was read for them.
        gold: Every piece of gold.
        notes: Where text and ids disagree.
    """

    present: bool | None
    by: EvidenceBy | None
    facts: Sequence[FactPlace]
    gold: Sequence[Seen]
    notes: Sequence[str] = ()

    @property
    def missing(self) -> list[str]:
        """The facts that nothing states."""
        return [place.fact for place in self.facts if place.chunk is None]


class Sought(Struct, frozen=True):
    """What is looked for in a context.

    Attributes:
        question: What was asked.
        facts: What must be stated; nothing, where nothing is expected or no text is kept.
        wanted: The gold.
        false_positives: Chunks known to be wrong; what they say is no evidence.
    """

    question: str
    facts: Sequence[str]
    wanted: Sequence[Wanted]
    false_positives: frozenset[str] = frozenset()


def evidence_in(
    sought: Sought,
    context: Sequence[Passage] | None,
    readings: Sequence[Reading] = (),
    quotes: Sequence[Reading] = (),
) -> Evidence:
    """Look for what an answer needs.

    Args:
        sought: What is looked for.
        context: What the generator received; None where that is not known.
        readings: What the rules see of the facts in each chunk.
        quotes: What they see of them in the quotes of the gold.
    """
    if context is None:
        return Evidence(None, None, (), [Seen(wanted, None, None) for wanted in sought.wanted])
    ids = [passage.id for passage in context]
    texts = {passage.id: passage.text for passage in context if passage.text is not None}
    if len(texts) < len(ids):
        gold = [Seen(wanted, _by_id(wanted, ids), "id") for wanted in sought.wanted]
        there = all(seen.in_context for seen in gold) if gold else None
        return Evidence(there, None if there is None else "id", (), gold)
    folded = {id_: fold(text) for id_, text in texts.items()}
    whole = " ".join(folded.values())
    gold = [_seen(wanted, ids, whole) for wanted in sought.wanted]
    if not sought.facts:
        return _without_facts(gold, _elsewhere(gold, folded))
    facts = [_place(fact, at, sought, folded, readings) for at, fact in enumerate(sought.facts)]
    facts = [place if place.chunk else _by_quote(place, at, gold, folded, quotes) for at, place in enumerate(facts)]
    present = all(place.chunk is not None for place in facts)
    notes = [*_disagreement(present, facts, gold, ids), *_elsewhere(gold, folded)]
    return Evidence(present, "text", facts, gold, notes)


def top_of(wanted: Iterable[Wanted]) -> list[Wanted]:
    """The pieces of the highest grade, which answer the question by themselves."""
    every = list(wanted)
    highest = max((each.grade for each in every), default=0.0)
    return [each for each in every if each.grade == highest]


def states(reading: Reading, at: int) -> bool:
    """Whether the rules see a fact stated, alone or among other values, as a table does rightly."""
    return reading.facts[at].what in ("stated", "among_others")


def _by_id(wanted: Wanted, ids: Sequence[str]) -> bool:
    return bool(wanted.chunks) and set(wanted.chunks) <= set(ids)


def _seen(wanted: Wanted, ids: Sequence[str], whole: str) -> Seen:
    if wanted.quote is None:
        return Seen(wanted, _by_id(wanted, ids), "id")
    return Seen(wanted, wanted.quote in whole, "text")


def _without_facts(gold: Sequence[Seen], notes: Sequence[str]) -> Evidence:
    """Of yes-or-no questions the passages are known, not the words of the answer."""
    if not gold:
        return Evidence(None, None, (), gold)
    top = {wanted.id for wanted in top_of(seen.wanted for seen in gold)}
    decisive = [seen for seen in gold if seen.wanted.id in top and seen.by == "text"] or gold
    return Evidence(all(seen.in_context for seen in decisive), decisive[0].by, (), gold, notes)


def _place(fact: str, at: int, sought: Sought, folded: Mapping[str, str], readings: Sequence[Reading]) -> FactPlace:
    marked_words = [wanted.quote for wanted in sought.wanted if wanted.quote]
    for reading in readings:
        if reading.id in sought.false_positives or not states(reading, at):
            continue
        quote = reading.facts[at].quote
        if (
            quote
            and not _states_nothing(fact, quote)
            and is_about(quote, folded[reading.id], question=sought.question, quotes=marked_words)
        ):
            return FactPlace(fact, reading.id, quote)
    for reading in readings:
        seen = reading.facts[at]
        marked = next((each.quote for each in sought.wanted if each.quote and each.quote in folded[reading.id]), None)
        if marked is not None and seen.what not in ("nothing", "other_version"):
            return FactPlace(fact, reading.id, seen.quote or marked)
    return FactPlace(fact)


def _by_quote(
    place: FactPlace, at: int, gold: Sequence[Seen], folded: Mapping[str, str], quotes: Sequence[Reading]
) -> FactPlace:
    """A fact in words that the rules see in no quote either stands where all the quotes of the highest grade stand.

    A figure would be seen: where no quote gives it, the quotes do not state the fact.
    """
    if any(character.isdigit() for character in place.fact):
        return place
    top = top_of(seen.wanted for seen in gold)
    ids = {wanted.id for wanted in top}
    there = all(seen.in_context for seen in gold if seen.wanted.id in ids)
    unread = quotes and all(wanted.quote for wanted in top) and not any(states(reading, at) for reading in quotes)
    if not (unread and there and top):
        return place
    quote = top[0].quote or ""
    return FactPlace(
        place.fact, next((id_ for id_, text in folded.items() if quote in text), next(iter(folded))), quote
    )


def _states_nothing(fact: str, passage: str) -> bool:
    """Whether it is a heading, or a count that is a version: "Orbit 3.0" does not say that there are three."""
    if _HEADING.match(passage):
        return True
    if not _BARE_NUMBER.fullmatch(fact):
        return False
    without = PRODUCT.sub("", passage)
    return without != passage and not any(character.isdigit() for character in without)


def _disagreement(present: bool, facts: Sequence[FactPlace], gold: Sequence[Seen], ids: Sequence[str]) -> list[str]:
    """What to look at where the text says one thing, and the ids and quotes of the gold another."""
    chunks = {chunk for seen in gold for chunk in seen.wanted.chunks}
    if present and gold and not chunks.intersection(ids) and not any(seen.in_context for seen in gold):
        named = several(dict.fromkeys(place.chunk for place in facts if place.chunk))
        return [
            f"The text of {named} states every fact, but no gold passage or chunk is in the context: review the gold."
        ]
    if not present and chunks and chunks <= set(ids):
        return ["Every gold chunk is in the context by its id, but its text there does not state every fact."]
    return []


def _elsewhere(gold: Sequence[Seen], folded: Mapping[str, str]) -> list[str]:
    """Quotes that stand in the context under another id than that of their chunks."""
    notes = []
    for wanted in (seen.wanted for seen in gold if seen.in_context and seen.by == "text" and seen.wanted.chunks):
        holding = [id_ for id_, text in folded.items() if wanted.quote and wanted.quote in text]
        if holding and not set(holding) & set(wanted.chunks):
            there, mapped = several(holding), several(wanted.chunks)
            notes.append(f"The quote of {wanted.id} stands in {there} of the context, and is mapped to {mapped}.")
    return notes
