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
_LARGE = 40_000
"""Characters of answer and context from where on an item takes longer than a tenth of a second or so."""
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

    def __init__(self, name: str = "rules", *, force: bool = False, lanes: "_Lanes | None" = None) -> None:
        weights = WEIGHTS.read_bytes()
        self.name = name
        self._force = force
        parts = [RULES, str(force), *(f"{package} {version(package)}" for package in _PACKAGES)]
        self.fingerprint = "sha256:" + hashlib.sha256(weights + "\n".join(parts).encode()).hexdigest()
        self._lanes = lanes or _Lanes(self.concurrency)

    def forced(self) -> "RulesJudge":
        """The same judge, made to decide where it would abstain; both share their threads."""
        return RulesJudge(self.name, force=True, lanes=self._lanes)

    async def observe(self, item: Item) -> Observation:
        """What the rules see in one answer, looked at beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._lanes.of(item), self._observe, item)

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        """Judge one answer; see `befund.ports.Judge`."""
        return judged_by(self.name, item, await self.observe(item))

    async def load(self) -> None:
        """Load its data before the first answer asks for it."""
        await asyncio.get_running_loop().run_in_executor(self._lanes.small, _knowledge_once)

    async def ready(self) -> None:
        """It can always be asked."""

    async def close(self) -> None:
        """Begin no further answer."""
        self._lanes.close()

    def _observe(self, item: Item) -> Observation:
        return judge(item, _knowledge_once(), force=self._force)


class _Lanes:
    """The threads that judge. Large items have one of their own, so that no other judgment waits behind them."""

    def __init__(self, threads: int) -> None:
        self.small = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="rules")
        self._large = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rules-large")

    def of(self, item: Item) -> ThreadPoolExecutor:
        """Where this item is judged."""
        size = len(item.answer) + sum(len(passage.text or "") for passage in item.context or ())
        return self._large if size > _LARGE else self.small

    def close(self) -> None:
        """Begin nothing any more."""
        for lane in (self.small, self._large):
            lane.shutdown(wait=False, cancel_futures=True)


def _knowledge_once() -> Knowledge:
    with _LOADING:
        return _knowledge()


@lru_cache(maxsize=1)
def _knowledge() -> Knowledge:
    """Loaded once a process: it takes about a second, and some tens of megabytes."""
    from befund.adapters.lexicon import InstalledLexicon  # the packages behind it are slow to import

    return Knowledge(InstalledLexicon(), msgspec.json.decode(WEIGHTS.read_bytes(), type=Weights))
