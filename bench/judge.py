"""How many answers a model judge judges a second, beside the bare openai client: 64 in flight, replies after 200 ms.

    python bench/judge.py [--answers 384] [--rounds 15]

The endpoint is a process of its own on another core, which sends the same right reply each time. The bare client sends
the same requests and reads the text of the reply; the judge also lays the answer before the model, validates the reply,
checks its quotes, derives the verdicts and counts everything. Both take turns; printed are medians over the rounds, and
the median of the ratios within a round, so that a machine whose speed drifts does not spoil it.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import openai
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from befund.adapters.memory_cache import MemoryCache
from befund.adapters.openai_judge.judge import open_judge
from befund.core.configured import ModelJudge
from befund.core.judging import Item, Passage
from befund.core.rubric.prompt import brief_of
from befund.core.rubric.reply import SCHEMA
from befund.judge_metrics import JudgeMetrics

IN_FLIGHT = 64
REPLY_SECONDS = 0.2
ITEM = Item(
    "How long are failed webhooks retried?",
    "Failed webhooks are retried for 72 hours. After that they are dropped, and the sender is told by mail.",
    expected_facts=["72 hours", "they are dropped"],
    context=[
        Passage(f"D{number:03}-chunk-1", "Failed webhooks are retried for 72 hours. After that they are dropped. " * 8)
        for number in range(5)
    ],
    expected_behavior="answer",
)
SUPPORTED = {"rationale": "The passage says so.", "chunk_id": "C1", "verdict": "supported"}
REPLY = {
    "behavior": {"rationale": "It answers.", "observed": "answer"},
    "facts": [
        {"id": "F1", "rationale": "Said.", "quote": "72 hours", "verdict": "stated"},
        {"id": "F2", "rationale": "Said.", "quote": "they are dropped", "verdict": "stated"},
    ],
    "references": [],
    "sentences": [
        {"id": "S1", "claims": [{"claim": "72 hours.", "quote": "retried for 72 hours", **SUPPORTED}]},
        {"id": "S2", "claims": [{"claim": "Dropped.", "quote": "After that they are dropped", **SUPPORTED}]},
    ],
    "reason": "Both facts are stated and supported.",
}


def main() -> None:
    """Run the benchmark, or (with --endpoint) be the endpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--endpoint", action="store_true")
    options = parser.parse_args()
    if options.endpoint:
        asyncio.run(be_the_endpoint())
        return
    keep_to_core(0)
    with endpoint() as url:
        asyncio.run(compare(url, answers=options.answers, rounds=options.rounds))


async def compare(url: str, *, answers: int, rounds: int) -> None:
    """Alternate both, and print answers a second and their ratio."""
    registry = CollectorRegistry()
    configured = ModelJudge(name="openai", model="m", url=url, concurrency=IN_FLIGHT)
    judge = open_judge(configured, cache=MemoryCache(), meter=JudgeMetrics(registry, [configured]))
    client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    items = [replace(ITEM, question=f"{ITEM.question} ({number})") for number in range(answers)]
    briefs = [brief_of(item) for item in items]

    async def ask_bare(number: int) -> None:
        response = await client.responses.create(
            model="m",
            instructions=briefs[number].system,
            input=briefs[number].user,
            text={"format": {"type": "json_schema", "name": "judgment", "strict": True, "schema": SCHEMA}},
            max_output_tokens=2300,
            temperature=0.0,
            store=False,
        )
        assert json.loads(response.output_text)["facts"]

    async def ask_judge(number: int) -> None:
        judged = await judge.judge(items[number])
        assert judged.verdicts.correct.verdict
        assert judged.verdicts.faithful.verdict

    async def ask_judge_anew(number: int) -> None:
        judged = await judge.judge(items[number], use_cache=False)
        assert judged.verdicts.correct.verdict

    contenders = {"bare client": ask_bare, "judge": ask_judge_anew}
    rates: dict[str, list[Rate]] = {name: [] for name in contenders}
    for turn in range(-1, rounds):
        for name in sorted(contenders, reverse=turn % 2 == 0):
            measured = await rate(contenders[name], answers)
            if turn >= 0:
                rates[name].append(measured)
    for name, found in rates.items():
        second = [measured.a_second for measured in found]
        cpu = statistics.median(measured.cpu_ms for measured in found)
        spread = f"({min(second):.1f} to {max(second):.1f})"
        print(f"{name:12} {statistics.median(second):7.1f} answers/s {spread:18} {cpu:5.2f} ms of CPU an answer")
    pairs = list(zip(rates["judge"], rates["bare client"], strict=True))
    print(f"{'ratio':12} {statistics.median(ours.a_second / bare.a_second for ours, bare in pairs):7.2f}", end=" " * 30)
    print(f"{statistics.median(ours.cpu_ms / bare.cpu_ms for ours, bare in pairs):5.2f}")
    await rate(ask_judge, answers)
    print(f"{'from cache':12} {(await rate(ask_judge, answers)).a_second:7.0f} answers/s")
    await client.close()
    await judge.close()


class Rate(NamedTuple):
    """Answers a second, and the milliseconds of this process's CPU that each took."""

    a_second: float
    cpu_ms: float


async def rate(ask: Callable[[int], Awaitable[None]], answers: int) -> Rate:
    """Ask for all, 64 at a time."""
    numbers = iter(range(answers))

    async def worker() -> None:
        for number in numbers:
            await ask(number)

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return Rate(answers / (time.perf_counter() - started), (time.process_time() - cpu) * 1000 / answers)


@contextmanager
def endpoint() -> Iterator[str]:
    """The endpoint, in a process on another core."""
    process = subprocess.Popen([sys.executable, __file__, "--endpoint"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


async def be_the_endpoint() -> None:
    """Answer every request after a while, always the same."""
    keep_to_core(1)
    message = {"type": "message", "content": [{"type": "output_text", "text": json.dumps(REPLY), "annotations": []}]}
    usage = {
        "input_tokens": 2000,
        "output_tokens": 200,
        "total_tokens": 2200,
        "input_tokens_details": {"cached_tokens": 1000},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    answer = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [message], "usage": usage}
    body = json.dumps(answer).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                request = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            length = int(request.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            await asyncio.sleep(REPLY_SECONDS)
            writer.write(head + body)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


def keep_to_core(number: int) -> None:
    """Stay on one core, where the machine has several."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


if __name__ == "__main__":
    main()
