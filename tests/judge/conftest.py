"""A judge before an endpoint of the test's own."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from befund.adapters.memory_cache import MemoryCache
from befund.adapters.openai_judge.endpoint import Endpoint
from befund.adapters.openai_judge.judge import OpenAIJudge
from befund.contract import Usage
from befund.core.configured import ModelJudge
from befund.core.judging import Item, Passage

from .endpoint import FakeEndpoint, fake_endpoint

ITEM = Item(
    "How long are webhooks retried?",
    "Webhooks are retried for 72 hours.",
    expected_facts=["72 hours"],
    context=[Passage("D003-chunk-1", "Failed webhooks are retried for 72 hours. Then they are dropped.")],
    expected_behavior="answer",
)


class Counts:
    """Counts what judges do."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.usages: list[Usage] = []
        self.retries = 0
        self.cache: Counter[bool] = Counter()
        self.under_way = 0

    def called(self, outcome: str, *, judge: str, model: str, seconds: float) -> None:
        self.outcomes[outcome] += 1

    def used(self, usage: Usage, *, judge: str, model: str) -> None:
        self.usages.append(usage)

    def retried(self, judge: str) -> None:
        self.retries += 1

    def looked_up(self, *, found: bool) -> None:
        self.cache[found] += 1

    def in_flight(self, change: int) -> None:
        self.under_way += change


Make = Callable[..., OpenAIJudge]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    async with fake_endpoint() as running:
        yield running


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
async def make(endpoint: FakeEndpoint, counts: Counts) -> AsyncIterator[Make]:
    """Makes judges before the endpoint, which do not wait between retries unless they are told to."""
    async with AsyncExitStack() as stack:

        def made(*, cache: MemoryCache | None = None, key: str | None = "k", **options: Any) -> OpenAIJudge:
            own = {name: options.pop(name) for name in ("clock", "pause", "chance") if name in options}
            values = {"name": "openai", "model": "m-1", "url": endpoint.url, "backoff_seconds": 0.0, **options}
            configured = ModelJudge(**values)
            asked = Endpoint(
                url=configured.url, key=key, headers=configured.headers, connections=configured.concurrency
            )
            stack.push_async_callback(asked.close)
            return OpenAIJudge(configured, asked, cache=cache or MemoryCache(), meter=counts, **own)

        yield made


@pytest.fixture
async def judge(make: Make) -> OpenAIJudge:
    return make()
