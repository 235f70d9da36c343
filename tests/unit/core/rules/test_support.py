import numpy as np

from befund.core.rules.evidence import evidence_of
from befund.core.rules.judge import Knowledge
from befund.core.rules.reading import read
from befund.core.rules.support import supports_of

CONTEXT = [
    "A failed delivery of Orbit 3.0 is retried for 72 hours. Access tokens are valid for 60 minutes.",
    "Orbit 2.4 retried for 24 hours and did not sign with SHA-256. Keys are rotated every 90 days.",
]


def test_a_claim_fares_alike_alone_and_among_hundreds(knowledge: Knowledge) -> None:
    evidence = evidence_of(CONTEXT, knowledge.lexicon)
    others = "".join(f"Delivery number {at} of key{at} is valid and signed by token{at}.\n\n" for at in range(100))
    claims = read(f"{others}Failed deliveries are retried for 72 hours.", knowledge.lexicon).sentences
    among, [alone] = (supports_of(each, evidence, knowledge.lexicon) for each in (claims, claims[-1:]))
    assert len(among) == 101
    assert (among[-1].best, among[-1].window, among[-1].together) == (0, (0, 1), True)
    assert (alone.best, alone.window, alone.together) == (0, (0, 1), True)
    np.testing.assert_allclose(among[-1].features, alone.features, atol=1e-5)


def test_without_a_context_nothing_supports_a_claim(knowledge: Knowledge) -> None:
    evidence = evidence_of(["", " \n"], knowledge.lexicon)
    [found] = supports_of(read("It takes 72 hours.", knowledge.lexicon).sentences, evidence, knowledge.lexicon)
    assert found.best is None
    assert [entity.text for entity in found.missing] == ["72 hours"]
