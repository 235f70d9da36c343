"""Prints what the rules judge observes, for a test that compares processes."""

import asyncio
import sys

import msgspec

from befund.adapters.rules_judge import RulesJudge
from befund.core.judging import Item, Passage

PASSAGES = [
    Passage("c1", "A failed delivery of Orbit 3.0 is retried for 72 hours. Access tokens are valid for 60 minutes."),
    Passage("c2", "Orbit 2.4 retried for 24 hours and did not sign with SHA-256."),
]
ITEM = Item(
    "How long does Orbit 3.0 retry?",
    "Orbit 3.0 retries for three days. Tokens live for an hour, and rotation of keys happens monthly.",
    ["72 hours", "keys are rotated"],
    ["three days", "72 hours"],
    PASSAGES,
)
sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(RulesJudge().observe(ITEM))))
