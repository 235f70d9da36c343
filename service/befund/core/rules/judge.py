"""The offline judge: from one answer to what can be seen in it, by rules that say which they are."""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from befund.contract import ExpectedBehavior
from befund.core.judging import REFUSALS, Claim, Fact, Item, Observation, Passage
from befund.core.rules import versions
from befund.core.rules.behavior import act_of, behavior_of
from befund.core.rules.claims import Context, claim_of, is_claim
from befund.core.rules.facts import Agreement, Answer, agrees_with, answer_of, fact_in
from befund.core.rules.language import Lexicon
from befund.core.rules.reading import Sentence, Text, read
from befund.core.rules.support import evidence_of
from befund.core.rules.weights import Weights

RULES = "2026-11"
"""Version of the rules; a change that can change a verdict changes it."""
MAX_CLAIMS = 200
"""Sentences of one answer that are judged; a longer answer is abstained on beyond them."""
BY_RULE = 0.8
"""How sure a verdict is that a rule decides alone: people confirmed 73 of 93 such verdicts (docs/judging.md)."""

_INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rubric|rules|prompt|above|previous)\b"
    r"|\b(?:ignoriere?|vergiss|missachte)\b.{0,40}\b(?:anweisung\w*|regeln|vorgaben|rubrik|bisherige\w*)\b"
    r"|\b(?:mark|rate|grade|judge|score|bewerte\w*|werte)\b.{0,40}\b(?:as|als|this|answer|"
    r"antwort)\b.{0,20}\b(?:correct|faithful|"
    r"true|korrekt|richtig|wahr)\b|\bsystem prompt\b|<\|?(?:im_start|system)\|?>",
    re.IGNORECASE,
)


class Knowledge(Struct, frozen=True):
    """What the judge knows beside its rules: language data and fitted weights, loaded outside the core."""

    lexicon: Lexicon
    weights: Weights


def judge(item: Item, knowledge: Knowledge, *, force: bool = False) -> Observation:
    """Observe one answer. The same item gives the same observation, in every process.

    Args:
        item: The answer with all that belongs to it.
        knowledge: Language data and weights.
        force: Decide even where the signal is weak, instead of abstaining.
    """
    flags = _flags(item)
    if not item.answer.strip():
        missing = [Fact(fact, "missing", rule="empty answer") for fact in item.expected_facts]
        return Observation(facts=missing, agrees=None, reason="The answer is empty.", flags=flags)
    lexicon = knowledge.lexicon
    question, text = read(item.question, lexicon), read(item.answer, lexicon)
    acts = [act_of(sentence.raw) for sentence in text.sentences]
    said = [sentence for sentence, act in zip(text.sentences, acts, strict=True) if act == "answer"]
    facts_read = [read(fact, lexicon) for fact in item.expected_facts]
    references = [read(reference, lexicon) for reference in item.reference_answers]
    answer = answer_of(item.answer, question, text, said, [*facts_read, *references])
    facts, agreement, why = _correctness(item, answer, facts_read, references, knowledge, force=force)
    behavior = _behavior(answer, acts, facts, agreement.agrees)
    claims = _claims(item, answer, behavior, knowledge, force=force)
    return Observation(
        facts=[replace(fact, confidence=_sure(fact.verdict, fact.confidence)) for fact in facts],
        agrees=agreement.agrees,
        claims=[replace(claim, confidence=_sure(claim.verdict, claim.confidence)) for claim in claims],
        observed_behavior=behavior,
        reason=_reason(behavior, facts, agreement.agrees, why, claims),
        flags=flags,
        agrees_confidence=agreement.confidence,
        behavior_confidence=BY_RULE,
    )


def _sure(verdict: object, weighed: float | None) -> float | None:
    """How sure of a verdict; what no model weighed, a rule decided."""
    return None if verdict is None else BY_RULE if weighed is None else weighed


def _correctness(
    item: Item, answer: Answer, wanted: Sequence[Text], references: Sequence[Text], knowledge: Knowledge, *, force: bool
) -> tuple[list[Fact], Agreement, str]:
    lexicon, model = knowledge.lexicon, knowledge.weights.agreement
    facts = [
        fact_in(answer, fact, each, lexicon, model, force=force)
        for fact, each in zip(item.expected_facts, wanted, strict=True)
    ]
    found: list[Agreement] = []
    why = ""
    for reference, each in zip(item.reference_answers, references, strict=True):
        one = agrees_with(answer, reference, each, lexicon, model, force=force)
        found.append(one)
        if one.agrees or not why:
            why = f"{_short(reference)}: {one.rule}" + (f", in {_short(one.quote)}" if one.quote and one.agrees else "")
        if one.agrees:
            break
    return facts, _with_any(found), why


def _with_any(found: Sequence[Agreement]) -> Agreement:
    """Agreement with one of several references: as sure as with that one; with none: as sure as of the least sure."""
    if not found:
        return Agreement(None, "no reference", None)
    last = found[-1]
    if last.agrees:
        return replace(last, confidence=_sure(last.agrees, last.confidence))
    if any(one.agrees is None for one in found):
        return replace(last, agrees=None, confidence=None)
    return replace(last, confidence=min(_sure(one.agrees, one.confidence) or 0.0 for one in found))


def _behavior(
    answer: Answer, acts: Sequence[ExpectedBehavior], facts: Sequence[Fact], agrees: bool | None
) -> ExpectedBehavior | None:
    if not answer.text.sentences:
        return None
    known = answer.question.provides
    right = bool(agrees) or any(fact.verdict == "stated" for fact in facts)
    says = [
        right or any(not entity.weak and entity.wants.isdisjoint(known) for entity in sentence.entities)
        for sentence in answer.text.sentences
    ]
    return behavior_of(acts, says)


def _claims(
    item: Item, answer: Answer, behavior: ExpectedBehavior | None, knowledge: Knowledge, *, force: bool
) -> list[Claim]:
    if not item.context_is_known:
        return []
    sentences = [sentence for sentence in answer.said if is_claim(sentence)]
    if behavior in REFUSALS:
        sentences = [sentence for sentence in sentences if _is_aside(sentence, asks=behavior == "clarify")]
    elif not sentences:
        sentences = list(answer.text.sentences)
    passages = [Passage(passage.id, passage.text) for passage in item.context or ()]
    lexicon = knowledge.lexicon
    texts = [read(passage.text or "", lexicon) for passage in passages]
    context = Context(passages, texts, evidence_of(texts, lexicon), answer.question)
    about = dict(zip(map(id, answer.said), versions.scopes(answer.said, context.known), strict=True))
    made: dict[tuple[str, object], Claim] = {}
    found = []
    for sentence in sentences[:MAX_CLAIMS]:
        meant = about.get(id(sentence)) or answer.asked
        key = (sentence.raw, meant)
        if key not in made:
            made[key] = claim_of(
                sentence, meant, answer.text.tongue, context, lexicon, knowledge.weights.support, force=force
            )
        found.append(made[key])
    return found + [Claim(sentence.raw, None, rule="too many claims") for sentence in sentences[MAX_CLAIMS:]]


def _is_aside(sentence: Sentence, *, asks: bool) -> bool:
    """Whether a sentence beside a refusal or a question claims something of its own."""
    return any(not entity.weak for entity in sentence.entities) or (not asks and len(sentence.terms) >= 3)


def _flags(item: Item) -> list[str]:
    flags = [] if item.answer.strip() else ["EMPTY_ANSWER"]
    texts = [item.answer, *(passage.text or "" for passage in item.context or ())]
    if any(_INJECTION.search(text) for text in texts):
        flags.append("POSSIBLE_INJECTION")
    return flags


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= 80 else line[:79] + "…"}"'


def _reason(
    behavior: ExpectedBehavior | None, facts: Sequence[Fact], agrees: bool | None, why: str, claims: Sequence[Claim]
) -> str:
    """Rule and passage of what decided: the first fact and the first claim that fail, else the first of each."""
    parts: list[str] = []
    if behavior in REFUSALS:
        parts.append(f"The answer is a refusal or a question ({behavior}).")
    fact = next((fact for fact in facts if fact.verdict != "stated"), facts[0] if facts else None)
    if fact:
        parts.append(f"Fact {_short(fact.fact)}: {fact.verdict or 'abstained'} ({fact.rule}).")
    if why:
        parts.append(f"Reference {'agrees' if agrees else 'differs' if agrees is False else 'abstained'} ({why}).")
    claim = next((claim for claim in claims if claim.verdict != "supported"), claims[0] if claims else None)
    if claim:
        where = f", passage {claim.chunk_id}" if claim.chunk_id else ""
        parts.append(f"Claim {_short(claim.claim)}: {claim.verdict or 'abstained'} ({claim.rule}{where}).")
    return " ".join(parts) or f"The answer does this: {behavior}."
