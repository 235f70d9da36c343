"""What a model replied, read strictly: the form, the ids and the quotes are checked; nothing is guessed or filled in.

Normalised are only: text around the one JSON object (prose, a code fence, a leading <think> block), and case, spaces
and quotes around a verdict. Anything else that is not as asked makes the reply unusable.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from befund.contract import ClaimVerdict, ExpectedBehavior, FactVerdict
from befund.core.injection import injection_flags
from befund.core.judging import REFUSALS, Claim, Fact, Observation
from befund.core.quotes import stands_in
from befund.core.rubric.prompt import Brief

LONGEST_REASON = 2_000
_CHOSEN = frozenset({"verdict", "observed", "id", "chunk_id"})
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class UnusableReplyError(Exception):
    """The reply does not say what was asked; the text says what is wrong, without quoting it.

    `well_formed` says whether it has at least the form asked for.
    """

    def __init__(self, what: str, *, well_formed: bool = True) -> None:
        super().__init__(what)
        self.well_formed = well_formed


class _Part(Struct, frozen=True, forbid_unknown_fields=True):
    """Part of a reply: everything is there, and nothing else."""


class _Behavior(_Part, frozen=True):
    rationale: str
    observed: ExpectedBehavior


class _Fact(_Part, frozen=True):
    id: str
    rationale: str
    quote: str | None
    verdict: FactVerdict


class _Reference(_Part, frozen=True):
    id: str
    rationale: str
    verdict: Literal["agrees", "disagrees"]


class _Claim(_Part, frozen=True):
    claim: str
    rationale: str
    chunk_id: str | None
    quote: str | None
    verdict: ClaimVerdict


class _Sentence(_Part, frozen=True):
    id: str
    claims: list[_Claim]


class _Reply(_Part, frozen=True):
    behavior: _Behavior
    facts: list[_Fact]
    references: list[_Reference]
    sentences: list[_Sentence]
    reason: str


def _without_references(schema: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    """The schema with its parts in place and every type said, as the pickiest endpoints need it."""
    if "$ref" in schema:
        schema = named[schema["$ref"].rpartition("/")[2]]
    inlined: dict[str, Any] = {"type": "string"} if "enum" in schema else {}
    for key, value in schema.items():
        if key == "properties":
            inlined[key] = {name: _without_references(part, named) for name, part in value.items()}
        elif key == "items":
            inlined[key] = _without_references(value, named)
        elif key != "title":
            inlined[key] = value
    return inlined


_ROOT, _NAMED = msgspec.json.schema_components([_Reply])
SCHEMA: dict[str, Any] = _without_references(dict(_ROOT[0]), _NAMED)
"""The form of a reply as JSON schema."""
MOST_EXACT = 60
"""Facts, references and sentences that a schema spells out one by one; a longer one takes endpoints too long."""


def exact_schema(brief: Brief) -> dict[str, Any]:
    """The form of the reply to one brief: every fact, reference and sentence in its place, and nothing else.

    An endpoint that lets a model write nothing but this gets complete replies out of small models too.
    """
    asked = {"facts": brief.fact_ids, "references": brief.reference_ids, "sentences": brief.sentence_ids}
    if sum(map(len, asked.values())) > MOST_EXACT:
        return SCHEMA
    parts = SCHEMA["properties"]
    exact = {name: _each_in_order(parts[name]["items"], ids) for name, ids in asked.items()}
    return {**SCHEMA, "properties": {**parts, **exact}}


def _each_in_order(schema: dict[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    if not ids:
        return {"const": []}
    every = [{**schema, "properties": {**schema["properties"], "id": {"const": name}}} for name in ids]
    return {"type": "array", "prefixItems": every, "minItems": len(ids), "maxItems": len(ids)}


def read_reply(text: str, brief: Brief) -> Observation:
    """What the model saw.

    Raises:
        UnusableReplyError: The reply is not JSON of the form asked for, leaves out or invents a fact, reference or
            sentence, shows no quote for what it says, or contradicts itself.
    """
    try:
        reply = msgspec.convert(_object_in(text), _Reply)
    except msgspec.ValidationError as error:
        raise UnusableReplyError(
            f"it is not of the form asked for: {_in_our_words(error)}", well_formed=False
        ) from error
    _each_once("fact", (fact.id for fact in reply.facts), brief.fact_ids)
    _each_once("reference", (reference.id for reference in reply.references), brief.reference_ids)
    if brief.sentences:
        _each_once("sentence", (sentence.id for sentence in reply.sentences), brief.sentence_ids)
    facts = _facts(reply, brief)
    return Observation(
        facts=facts,
        agrees=any(found.verdict == "agrees" for found in reply.references) if reply.references else None,
        claims=_claims(reply, brief, states_facts=any(fact.verdict != "missing" for fact in facts)),
        observed_behavior=reply.behavior.observed,
        reason=reply.reason.strip()[:LONGEST_REASON],
        flags=injection_flags(brief.item),
    )


def _in_our_words(error: msgspec.ValidationError) -> str:
    """What is wrong and where, without anything the model wrote: it goes into the next request."""
    place = re.search(r" - at `(\$[a-z_.\[\].]*)`\Z", re.sub(r"\d+", "...", str(error)))
    where = f" at {place[1]}" if place else ""
    match str(error).split("`")[0]:
        case "Object missing required field ":
            return f"something is missing{where}"
        case "Object contains unknown field ":
            return f"there is a field that was not asked for{where}"
        case _:
            return f"there is a value that is not allowed{where}"


def _object_in(text: str) -> dict[str, Any]:
    """The one JSON object in the text; prose and fences around it are passed over, a second object is not."""
    text = _THOUGHT.sub("", text)
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise UnusableReplyError("it holds no JSON object", well_formed=False)
    try:
        found: dict[str, Any] = json.loads(text[start : end + 1], object_pairs_hook=_pairs)
    except ValueError as error:
        raise UnusableReplyError("it is not one valid JSON object", well_formed=False) from error
    except RecursionError as error:
        raise UnusableReplyError("it is nested too deeply", well_formed=False) from error
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the reply; a key given twice is two answers to one question."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise UnusableReplyError("it gives one key twice", well_formed=False)
        found[key] = _normalised(key, value) if key in _CHOSEN and isinstance(value, str) else value
    return found


def _normalised(key: str, value: str) -> str:
    bare = value.strip(" \t\r\n\"'`")
    return bare.upper() if key in ("id", "chunk_id") else bare.lower()


def _each_once(kind: str, given: Iterable[str], asked: Sequence[str]) -> None:
    counts = Counter(given)
    for name in asked:
        if counts[name] != 1:
            raise UnusableReplyError(f"it judges {kind} {name} {counts[name]} times instead of once")
    if len(counts) > len(asked):
        raise UnusableReplyError(f"it judges a {kind} that was not asked for")


def _facts(reply: _Reply, brief: Brief) -> list[Fact]:
    judged = {fact.id: fact for fact in reply.facts}
    facts = []
    for name, expected in zip(brief.fact_ids, brief.item.expected_facts, strict=True):
        found = judged[name]
        quote = None if found.verdict == "missing" else found.quote
        if found.verdict != "missing" and not stands_in(quote or "", brief.item.answer):
            raise UnusableReplyError(f"its quote for {name} is not in the answer")
        facts.append(Fact(expected, found.verdict, quote))
    return facts


def _claims(reply: _Reply, brief: Brief, *, states_facts: bool) -> list[Claim]:
    """Every claim; where the context has no text nothing was asked, and what an answer says is unsupported."""
    answers = reply.behavior.observed not in REFUSALS
    if not brief.sentences:
        asserts = answers and brief.item.context_is_known
        return [Claim(brief.item.answer.strip(), "unsupported")] if asserts else []
    made = [claim for sentence in reply.sentences for claim in sentence.claims]
    if not made and answers and states_facts:
        raise UnusableReplyError("it finds no claim in an answer that speaks of the expected facts")
    verdicts: dict[str, str] = {}
    for claim in made:
        if verdicts.setdefault(" ".join(claim.claim.casefold().split()), claim.verdict) != claim.verdict:
            raise UnusableReplyError("it gives one claim two verdicts")
    return [_claim(claim, brief) for claim in made]


def _claim(claim: _Claim, brief: Brief) -> Claim:
    if not claim.claim.strip():
        raise UnusableReplyError("it judges an empty claim")
    if claim.verdict == "unsupported":
        return Claim(claim.claim, "unsupported")
    passage = brief.passages.get(claim.chunk_id or "")
    return Claim(
        claim.claim,
        claim.verdict,
        chunk_id=passage.id if passage else None,
        quote=claim.quote,
        quote_verified=passage is not None and stands_in(claim.quote or "", passage.text or ""),
    )
