"""The rules judge with its data: installed language packages, and weights fitted by `calibration/fit.py`."""

import asyncio
import hashlib
from importlib.metadata import version
from pathlib import Path

import msgspec

from befund.adapters.lexicon import InstalledLexicon
from befund.core.judging import Item, Observation
from befund.core.rules.judge import RULES, Knowledge, judge
from befund.core.rules.weights import Weights

WEIGHTS = Path(__file__).with_name("rules_weights.json")
"""Written by `calibration/fit.py`."""
_PACKAGES = ("sentencex", "simplemma", "wordllama")


class RulesJudge:
    """Judges offline and always alike. Making one loads its data, which takes seconds: make one a process.

    Attributes:
        name: Its configured name.
        model: None; it asks none.
        rubric: The version of its rules.
        fingerprint: Changes with rules, weights, the packages it stands on, and whether it is forced.
    """

    model = None
    rubric = RULES

    def __init__(self, name: str = "rules", *, force: bool = False) -> None:
        weights = WEIGHTS.read_bytes()
        self.name = name
        self._force = force
        self._knowledge = Knowledge(InstalledLexicon(), msgspec.json.decode(weights, type=Weights))
        parts = [RULES, str(force), *(f"{package} {version(package)}" for package in _PACKAGES)]
        self.fingerprint = "sha256:" + hashlib.sha256(weights + "\n".join(parts).encode()).hexdigest()

    async def observe(self, item: Item) -> Observation:
        """What the rules see in one answer; long texts are judged beside the event loop."""
        return await asyncio.to_thread(judge, item, self._knowledge, force=self._force)
