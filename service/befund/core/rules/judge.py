"""The offline judge: from one answer to what can be seen in it, by rules that say which they are."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from befund.contract import ExpectedBehavior
from befund.core.empty import says_nothing
from befund.core.injection import injection_flags, talks_to_the_judge
from befund.core.judged import nothing_said
from befund.core.judging import REFUSALS, Claim, Fact, Item, Observation, Passage
from befund.core.rules import versions
from befund.core.rules.answer import Answer, answer_of
from befund.core.rules.asked import is_asked, is_question
from befund.core.rules.behavior import Act, act_of, behavior_of
from befund.core.rules.claims import Context, claim_of, is_claim
from befund.core.rules.evidence import evidence_of
from befund.core.rules.facts import fact_in
from befund.core.rules.language import Lexicon
from befund.core.rules.reading import Sentence, Text, read
from befund.core.rules.references import Agreement, agrees_with
from befund.core.rules.spelling import without_remarks
from befund.core.rules.support import supports_of
from befund.core.rules.weights import Weights

RULES = "2026-11.4"
"""Version of the rules; a change that can change a verdict changes it."""
MAX_CLAIMS = 200
"""Sentences of one answer that are judged; a longer answer is abstained on beyond them."""
BY_RULE = 0.8
"""How sure a verdict is that a rule decides alone: people confirmed 88 of 104 such verdicts (docs/judging.md)."""


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
    if says_nothing(item.answer, item.question):
        return nothing_said(item)
    lexicon = knowledge.lexicon
    question, text = read(item.question, lexicon), read(item.answer, lexicon)
    acts = _acts(text, question)
    said = [sentence for sentence, act in zip(text.sentences, acts, strict=True) if act in ("answer", None)]
    flags = injection_flags(item)
    meant = [sentence for sentence in said if not (flags and talks_to_the_judge(sentence.raw))]
    facts_read = [read(fact, lexicon) for fact in item.expected_facts]
    references = [read(without_remarks(reference), lexicon) for reference in item.reference_answers]
    answer = answer_of(item.answer, question, text, meant, [*facts_read, *references])
    facts, agreement, why = _correctness(item, answer, facts_read, references, knowledge, force=force)
    behavior = _behavior(answer, acts, facts, agreement.agrees, force=force)
    unsure = {sentence.raw for sentence, act in zip(text.sentences, acts, strict=True) if act is None}
    claims = [
        _not_if_a_refusal(claim) if behavior is None and claim.claim in unsure else claim
        for claim in _claims(item, answer, said, behavior, knowledge, force=force)
    ]
    return Observation(
        facts=[replace(fact, confidence=_sure(fact.verdict, fact.confidence)) for fact in facts],
        agrees=agreement.agrees,
        claims=[replace(claim, confidence=_sure(claim.verdict, claim.confidence)) for claim in claims],
        observed_behavior=behavior,
        reason=_reason(behavior, facts, agreement.agrees, why, claims),
        flags=flags,
        agrees_confidence=agreement.confidence,
        behavior_confidence=_sure(behavior, None),
    )


def _acts(text: Text, question: Text) -> list[Act]:
    """What each sentence does. A question answered by nothing but questions is asked back."""
    acts = [act_of(sentence.raw, question) for sentence in text.sentences]
    asks_back = all(map(is_asked, text.sentences)) and is_question(question)
    return ["clarify" if act == "answer" else act for act in acts] if asks_back else acts


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
        one = agrees_with(answer, without_remarks(reference), each, lexicon, model, force=force)
        found.append(one)
        if one.agrees or not why:
            where = f", in {_short(one.quote)}" if one.quote and one.agrees else ""
            why = f"{_short(reference)}: {_rule(one)}{where}"
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
    answer: Answer, acts: Sequence[Act], facts: Sequence[Fact], agrees: bool | None, *, force: bool
) -> ExpectedBehavior | None:
    if not answer.text.sentences:
        return None
    known = answer.question.provides
    right = bool(agrees) or any(fact.verdict == "stated" for fact in facts)
    if right or force:
        acts = [act or "answer" for act in acts]
    says = [
        right or any(not entity.weak and entity.wants.isdisjoint(known) for entity in sentence.entities)
        for sentence in answer.text.sentences
    ]
    return behavior_of(acts, says)


def _claims(
    item: Item,
    answer: Answer,
    said: Sequence[Sentence],
    behavior: ExpectedBehavior | None,
    knowledge: Knowledge,
    *,
    force: bool,
) -> list[Claim]:
    if not item.context_is_known:
        return []
    sentences = [sentence for sentence in said if is_claim(sentence)]
    if behavior in REFUSALS:
        sentences = [sentence for sentence in sentences if _is_aside(sentence, asks=behavior == "clarify")]
    elif not sentences:
        sentences = list(answer.text.sentences)
    passages = [Passage(passage.id, passage.text) for passage in item.context or ()]
    lexicon = knowledge.lexicon
    context = Context(passages, evidence_of([passage.text or "" for passage in passages], lexicon), answer.question)
    about = dict(zip(map(id, said), versions.scopes(said, context.known), strict=True))
    distinct = {sentence.raw: sentence for sentence in sentences[:MAX_CLAIMS]}
    supports = dict(zip(distinct, supports_of(list(distinct.values()), context.evidence, lexicon), strict=True))
    found = [
        claim_of(
            sentence,
            supports[sentence.raw],
            about.get(id(sentence)) or answer.asked,
            answer.text.tongue,
            context,
            knowledge.weights.support,
            force=force,
        )
        for sentence in sentences[:MAX_CLAIMS]
    ]
    return found + [Claim(sentence.raw, None, rule="too many claims") for sentence in sentences[MAX_CLAIMS:]]


def _not_if_a_refusal(claim: Claim) -> Claim:
    """A claim that may be a refusal, which claims nothing: it is not held against the answer."""
    if claim.verdict in ("supported", None):
        return claim
    return Claim(claim.claim, None, rule="may be a refusal")


def _is_aside(sentence: Sentence, *, asks: bool) -> bool:
    """Whether a sentence beside a refusal or a question claims something of its own."""
    return any(not entity.weak for entity in sentence.entities) or len(sentence.terms) >= (5 if asks else 3)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= 80 else line[:79] + "…"}"'


def _rule(found: Fact | Claim | Agreement) -> str:
    """The rule, with what its name does not tell."""
    return f"{found.rule}: {found.seen}" if found.seen else str(found.rule)


def _reason(
    behavior: ExpectedBehavior | None, facts: Sequence[Fact], agrees: bool | None, why: str, claims: Sequence[Claim]
) -> str:
    """Rule and passage of what decided: the first fact and the first claim that fail, else the first of each."""
    parts: list[str] = []
    if behavior is None:
        parts.append("The answer may be a refusal.")
    if behavior in REFUSALS:
        parts.append(f"The answer is a refusal or a question ({behavior}).")
    fact = next((fact for fact in facts if fact.verdict != "stated"), facts[0] if facts else None)
    if fact:
        parts.append(f"Fact {_short(fact.fact)}: {fact.verdict or 'abstained'} ({_rule(fact)}).")
    if why:
        parts.append(f"Reference {'agrees' if agrees else 'differs' if agrees is False else 'abstained'} ({why}).")
    claim = next((claim for claim in claims if claim.verdict != "supported"), claims[0] if claims else None)
    if claim:
        where = f", passage {claim.chunk_id}" if claim.chunk_id else ""
        parts.append(f"Claim {_short(claim.claim)}: {claim.verdict or 'abstained'} ({_rule(claim)}{where}).")
    return " ".join(parts) or f"The answer does this: {behavior}."
