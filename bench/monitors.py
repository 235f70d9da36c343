"""How long GET /monitors/{name} takes over 100,000 answers: a real service on a real file.

    python bench/monitors.py [--answers 100000] [--times 9]

The answers are written to the file directly, spread over the last day, in shapes that vary as a model judge's do.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from befund.adapters.store_sql import SqlStore
from befund.contract import Usage
from befund.core.judged_tally import Shape
from befund.core.monitors import DAY_SECONDS, Entry

PORTION = 1_000
QUERIES = ("", "?step=3600", "?step=87", "?window=3600")
TEXT = b"x" * 2_000


def main() -> None:
    """Fill a store, start a service on it, ask."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        asyncio.run(fill(Path(folder) / "befund.sqlite", options.answers))
        print(f"{options.answers:,} answers written in {time.perf_counter() - began:.1f} s")
        environ = {**os.environ, "BEFUND_DATA_DIR": folder}
        command = [sys.executable, "-m", "befund", "serve", "--port", "0"]
        with subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("Befund listens on ").strip()
            ask(f"{url}/monitors/prod", options.times, process.pid)
            process.terminate()


async def fill(file: Path, answers: int) -> None:
    """Append answers, the last of them now."""
    rng, now = random.Random(7), time.time()  # noqa: S311 - no secret
    moment = now - DAY_SECONDS + 120
    store = SqlStore(file, clock=lambda: moment)
    await store.open()
    for start in range(0, answers, PORTION):
        moment = now - (DAY_SECONDS - 120) * (1 - start / answers)
        await store.monitors.append("prod", [entry(rng, start + i) for i in range(min(PORTION, answers - start))])
    await store.close()


def entry(rng: random.Random, place: int) -> Entry:
    """One answer."""

    def mark() -> Any:
        return rng.choices(("true", "false", "abstained"), (85, 10, 5))[0]

    expected, observed = rng.choices(("answer", "no_answer", "clarify", "deny"), (85, 9, 3, 3), k=2)
    return Entry(
        key=f"{place:032x}",
        shape=Shape(
            judge=f"sha256:{place * 2 // 100_000:064x}",
            correct=mark(),
            faithful=mark(),
            behaved=mark(),
            claims=rng.random() < 0.9,
            expected=expected,  # type: ignore[arg-type]
            observed=observed,  # type: ignore[arg-type]
        ),
        usage=Usage(input_tokens=500, output_tokens=90, cached_tokens=0, cost_usd=0.0004),
        judge_ms=rng.uniform(300, 900),
        generation_ms=rng.uniform(500, 2_000),
        json=TEXT,
    )


def ask(url: str, times: int, pid: int) -> None:
    """Print what each query takes: on the clock, and of the service's CPU time."""
    with httpx.Client(timeout=60) as client:
        for query in QUERIES:
            took, used = [], cpu_ms(pid)
            for _ in range(times):
                began = time.perf_counter()
                answer = client.get(url + query)
                took.append((time.perf_counter() - began) * 1_000)
            found = answer.json()
            print(
                f"{query or '(a day)':12} {found['answers']:,} answers, {len(found['windows'])} windows: "
                f"{statistics.median(took):.0f} ms (median), {max(took):.0f} ms at most, "
                f"{(cpu_ms(pid) - used) / times:.0f} ms of CPU"
            )


def cpu_ms(pid: int) -> float:
    """CPU time a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
