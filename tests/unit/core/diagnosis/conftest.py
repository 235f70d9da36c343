"""Cases in short form."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from befund.adapters.lexicon import InstalledLexicon
from befund.adapters.rules_judge import WEIGHTS
from befund.contract import JudgedClaim, JudgedFact, JudgeInfo, Judgment, JudgmentStatus, Usage
from befund.core.diagnosis.evidence import Evidence, Reading, Sought, evidence_in
from befund.core.diagnosis.gold import Wanted
from befund.core.diagnosis.stating import statement_of
from befund.core.judging import Item, Passage
from befund.core.rules.judge import Knowledge, judge
from befund.core.rules.weights import Weights

QUESTION = "How long does Orbit 3.0 retry failed webhooks?"
Look = Callable[..., Evidence]


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """Language data and weights as the service has them."""
    return Knowledge(InstalledLexicon(), msgspec.json.decode(WEIGHTS.read_bytes(), type=Weights))


@pytest.fixture
def look(knowledge: Knowledge) -> Look:
    """Looks for facts in a context, read by the rules."""

    def looked(
        context: dict[str, str | None] | None,
        *,
        question: str = QUESTION,
        facts: Sequence[str] = ("72 hours",),
        wanted: Sequence[Wanted] = (),
        false_positives: Sequence[str] = (),
    ) -> Evidence:
        def read(texts: dict[str, str]) -> list[Reading]:
            return [
                Reading(id_, [*map(statement_of, judge(Item(question, text, expected_facts=facts), knowledge).facts)])
                for id_, text in texts.items()
            ]

        passages = None if context is None else [Passage(id_, text) for id_, text in context.items()]
        texts = {id_: text for id_, text in (context or {}).items() if text is not None}
        quotes = {each.id: each.quote for each in wanted if each.quote}
        sought = Sought(question, facts, wanted, frozenset(false_positives))
        return evidence_in(sought, passages, read(texts), read(quotes))

    return looked


def judgment(**changes: Any) -> Judgment:
    """A judgment; a wrong answer unless said otherwise."""
    statuses = {
        name: "scored" if changes.get(name, default) is not None else "abstained"
        for name, default in (("correct", False), ("faithful", True), ("behaved", True))
    }
    fields: dict[str, Any] = {
        "correct": False,
        "faithful": True,
        "behaved": True,
        "status": JudgmentStatus(**statuses),
        "reason": "",
        "facts": [],
        "claims": [],
        "observed_behavior": "answer",
        "agreement": 1.0,
        "flags": [],
        "judge": JudgeInfo(name="rules", model=None, rubric=None, fingerprint="sha256:0"),
        "usage": Usage(),
        "cached": False,
        "latency_ms": 1.0,
        "id": "j",
    }
    return Judgment(**(fields | changes))


def fact(verdict: str | None, quote: str | None = None, *, name: str = "72 hours") -> JudgedFact:
    return JudgedFact(fact=name, verdict=verdict, quote=quote)  # type: ignore[arg-type]


def claim(text: str, verdict: Any = "unsupported") -> JudgedClaim:
    return JudgedClaim(claim=text, verdict=verdict, chunk_id=None, quote=None, quote_verified=None)
