"""What the generator did with the context it received: the generation side of a diagnosis."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from befund.contract import Cause, JudgedFact, Judgment
from befund.core.diagnosis.evidence import Evidence
from befund.core.diagnosis.stating import Statement
from befund.core.diagnosis.wording import listed, short
from befund.core.judging import REFUSALS

_VERSION = re.compile(r"(?<![\d.,])\d+\.\d+(?:\.\d+)*(?![\d,])")


class Echo(Struct, frozen=True):
    """What one chunk of the context says of a wrong statement of the answer."""

    statement: str
    chunk: str
    found: Statement


class Said(Struct, frozen=True):
    """An answer, and what is known of the context it was given from.

    Attributes:
        question: What was asked.
        judgment: The verdicts on it.
        error: What the generator reported instead of an answer.
        evidence: What the context held.
        echoes: What the context says of its wrong statements.
        about: Metadata of the context's chunks, by id.
        gold_chunks: Chunks that hold the gold.
        about_gold: Their metadata, as far as it is known.
    """

    question: str
    judgment: Judgment
    error: str | None
    evidence: Evidence
    echoes: Sequence[Echo] = ()
    about: Mapping[str, Mapping[str, object]] = {}
    gold_chunks: frozenset[str] = frozenset()
    about_gold: Mapping[str, Mapping[str, object]] = {}


def wrong_statements(judgment: Judgment, answer: str) -> list[str]:
    """What of a wrong answer is to be looked for in the context, in the answer's own words."""
    wrong = [fact for fact in judgment.facts if fact.verdict != "stated"]
    quoted = [fact.quote for fact in wrong if fact.quote]
    if not quoted and judgment.observed_behavior == "answer" and len(answer) <= 2_000:
        quoted = [claim.claim for claim in judgment.claims] or [answer]
    return list(dict.fromkeys(quoted))[:3]


def wrong_answer_causes(said: Said) -> list[Cause]:
    """Why an answer is wrong although its context held the evidence; the decisive cause first."""
    causes = [*_no_answer(said)] or [*_confusions(said), *_misreading(said)]
    return causes or [
        Cause(
            code="UNKNOWN",
            detail="the context holds the evidence, and nothing tells what went wrong",
            confidence="inferred",
        )
    ]


def without_evidence_causes(said: Said) -> list[Cause]:
    """What the generator added to a wrong answer whose context lacked the evidence."""
    if said.error or "EMPTY_ANSWER" in said.judgment.flags:
        return [*_no_answer(said)]
    if said.judgment.observed_behavior in REFUSALS:
        return []
    confusions = [*_confusions(said)]
    if confusions or said.judgment.faithful is not False:
        return confusions
    return [_outside(said)]


def unsupported_cause(said: Said) -> Cause:
    """Where a right answer came from, when nothing in the context says so."""
    if said.judgment.faithful is True:
        detail = "the answer is right and follows from the context by the judge, though no passage states the facts"
        return Cause(code="OUTSIDE_KNOWLEDGE", detail=detail, confidence="inferred")
    measured = said.judgment.faithful is False
    detail = "the answer is right, and nothing in the context says so: it comes from elsewhere"
    return Cause(code="OUTSIDE_KNOWLEDGE", detail=detail, confidence="measured" if measured else "inferred")


def addition_cause(judgment: Judgment) -> Cause | None:
    """A claim beyond the evidence."""
    if judgment.faithful is not False:
        return None
    claim = next((claim for claim in judgment.claims if claim.verdict in ("unsupported", "contradicted")), None)
    said = f'"{short(claim.claim)}"' if claim else "a claim"
    verb = "contradicts" if claim and claim.verdict == "contradicted" else "is not in"
    return Cause(
        code="UNSUPPORTED_ADDITION",
        detail=f"{said} {verb} the context",
        confidence="measured",
        passage=claim.claim if claim else None,
    )


def _no_answer(said: Said) -> Iterator[Cause]:
    judgment = said.judgment
    if said.error:
        yield Cause(code="GENERATION_ERROR", detail=f"the generator failed: {short(said.error)}", confidence="measured")
    elif "EMPTY_ANSWER" in judgment.flags:
        yield Cause(
            code="GENERATION_ERROR", detail="the answer is empty, and no error was reported", confidence="inferred"
        )
    elif judgment.observed_behavior in REFUSALS:
        detail = f"the answer does not answer ({judgment.observed_behavior}), though the context holds what it needs"
        yield Cause(code="WRONG_REFUSAL", detail=detail, confidence="measured")


def _confusions(said: Said) -> Iterator[Cause]:
    """Passages that say what the answer says: for another version, or for this question too."""
    for echo in said.echoes:
        passage, chunk = echo.found.quote, echo.chunk
        if echo.found.what == "other_version":
            detail = f'"{short(echo.statement)}" is what {chunk} says of another version'
        elif echo.found.what == "stated" and (other := _other_version(said, echo)):
            detail = f'"{short(echo.statement)}" is what {chunk} says: {other}'
        elif echo.found.what == "stated" and chunk not in said.gold_chunks and said.evidence.present:
            detail = f'"{short(echo.statement)}" is what {chunk} says, and the evidence says otherwise'
            yield Cause(
                code="CONTRADICTORY_CONTEXT", detail=detail, confidence="measured", chunk=chunk, passage=passage
            )
            continue
        else:
            continue
        yield Cause(code="VERSION_CONFUSION", detail=detail, confidence="measured", chunk=chunk, passage=passage)


def _other_version(said: Said, echo: Echo) -> str | None:
    """How a passage that says the same is one of another version than the question is about."""
    asked = set(_VERSION.findall(said.question))
    named = [version for version in _VERSION.findall(echo.statement) if version not in asked]
    if asked and named and not asked.intersection(_VERSION.findall(echo.statement)):
        return f"the answer speaks of {named[0]}, the question of {', '.join(sorted(asked))}"
    own = said.about.get(echo.chunk, {})
    golds = [about for about in said.about_gold.values() if about]
    if echo.chunk in said.gold_chunks or not golds:
        return None
    for field in ("version", "status"):
        value = own.get(field)
        if value is not None and all(field in gold and gold[field] != value for gold in golds):
            return f"its {field} is {value}, that of the evidence {golds[0][field]}"
    return None


def _misreading(said: Said) -> Iterator[Cause]:
    judgment = said.judgment
    # Another value in a sentence that states an expected one is that one, and no contradiction of the next.
    right = {fact.quote for fact in judgment.facts if fact.verdict == "stated"}
    contradicted = [fact for fact in judgment.facts if fact.verdict == "contradicted" and fact.quote not in right]
    several = [fact for fact in judgment.facts if fact.verdict == "missing" and fact.quote and fact.quote not in right]
    wrong = [fact.fact for fact in (*contradicted, *several)]
    missing = [
        fact.fact for fact in judgment.facts if fact.verdict in ("missing", "contradicted") and fact.fact not in wrong
    ]
    for fact in contradicted or several:
        yield _misread(said, fact)
    stands = any(echo.found.what in ("stated", "denied", "other_version") for echo in said.echoes)
    if contradicted and judgment.faithful is False and not stands:
        yield _outside(said)
    if missing:
        stated = [fact.fact for fact in judgment.facts if fact.verdict == "stated"]
        yield Cause(
            code="OMISSION",
            detail=f"the answer does not say {listed(missing)}"
            + (f", though it says {listed(stated)}" if stated else ""),
            confidence="measured",
        )
    if not judgment.facts and judgment.correct is False:
        yield Cause(
            code="MISREAD", detail="the answer differs from every reference answer, and the context holds the evidence",
            confidence="inferred",
        )  # fmt: skip


def _misread(said: Said, fact: JudgedFact) -> Cause:
    place = next((place for place in said.evidence.facts if place.fact == fact.fact), None)
    where = f"{place.chunk} states it" if place and place.chunk else "the context states it"
    verb = "says otherwise" if fact.verdict == "contradicted" else "leaves it open"
    echo = next((echo for echo in said.echoes if echo.found.what == "stated"), None)
    taken = f"; {echo.chunk} says the like of something else" if echo else ""
    quote = f': "{short(fact.quote)}"' if fact.quote else ""
    return Cause(
        code="MISREAD",
        detail=f'"{fact.fact}" is expected and {where}, but the answer {verb}{quote}{taken}',
        confidence="measured" if place and place.chunk else "inferred",
        chunk=place.chunk if place else None,
        passage=place.passage if place else None,
    )


def _outside(said: Said) -> Cause:
    claim = next((claim.claim for claim in said.judgment.claims if claim.verdict == "unsupported"), None)
    shown = f'"{short(claim)}"' if claim else "what the answer says"
    return Cause(
        code="OUTSIDE_KNOWLEDGE",
        detail=f"{shown} stands nowhere in the context",
        confidence="inferred",
        passage=claim,
    )
