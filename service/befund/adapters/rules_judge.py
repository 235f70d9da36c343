"""The rules judge with its data: installed language packages, and weights fitted by `calibration/fit.py`."""

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock

import msgspec

from befund.core.judged import Judged, judged_by
from befund.core.judging import Item, Observation
from befund.core.rules.judge import RULES, Knowledge, judge
from befund.core.rules.weights import Weights

WEIGHTS = Path(__file__).with_name("rules_weights.json")
"""Written by `calibration/fit.py`."""
_LOADING = Lock()
_PACKAGES = ("sentencex", "simplemma", "wordllama")


class RulesJudge:
    """Judges offline and always alike; a `befund.ports.Judge`. The first answer waits until its data is loaded.

    Attributes:
        name: Its configured name.
        model: None; it asks none.
        models: None likewise.
        rubric: The version of its rules.
        concurrency: More at once would only take turns.
        fingerprint: Changes with rules, weights, the packages it stands on, and whether it is forced.
    """

    model: str | None = None
    models: Sequence[str] = ()
    rubric: str | None = RULES
    concurrency = 2

    def __init__(self, name: str = "rules", *, force: bool = False, threads: ThreadPoolExecutor | None = None) -> None:
        weights = WEIGHTS.read_bytes()
        self.name = name
        self._force = force
        parts = [RULES, str(force), *(f"{package} {version(package)}" for package in _PACKAGES)]
        self.fingerprint = "sha256:" + hashlib.sha256(weights + "\n".join(parts).encode()).hexdigest()
        self._threads = threads or ThreadPoolExecutor(max_workers=self.concurrency, thread_name_prefix="rules")

    def forced(self) -> "RulesJudge":
        """The same judge, made to decide where it would abstain; both share their threads."""
        return RulesJudge(self.name, force=True, threads=self._threads)

    async def observe(self, item: Item) -> Observation:
        """What the rules see in one answer, looked at beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._observe, item)

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        """Judge one answer; see `befund.ports.Judge`."""
        return judged_by(self.name, item, await self.observe(item))

    async def load(self) -> None:
        """Load its data before the first answer asks for it."""
        await asyncio.get_running_loop().run_in_executor(self._threads, _knowledge_once)

    async def ready(self) -> None:
        """It can always be asked."""

    async def close(self) -> None:
        """Begin no further answer."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _observe(self, item: Item) -> Observation:
        return judge(item, _knowledge_once(), force=self._force)


def _knowledge_once() -> Knowledge:
    with _LOADING:
        return _knowledge()


@lru_cache(maxsize=1)
def _knowledge() -> Knowledge:
    """Loaded once a process: it takes about a second, and some tens of megabytes."""
    from befund.adapters.lexicon import InstalledLexicon  # the packages behind it are slow to import

    return Knowledge(InstalledLexicon(), msgspec.json.decode(WEIGHTS.read_bytes(), type=Weights))
