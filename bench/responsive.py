"""How long /healthz waits while a large request is evaluated: 10,000 questions x 100 results, a real service.

    python bench/responsive.py [--questions 10000] [--times 5]

A second process asks /healthz all the time, on the core that the service does not need; it prints what it waited while
nothing else was asked, and what while large requests were under way.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
from retrieval import make_body

PAUSE_SECONDS = 0.002


@contextmanager
def service() -> Iterator[str]:
    """A service on a free port."""
    with tempfile.TemporaryDirectory() as data_dir:
        process = subprocess.Popen(
            [sys.executable, "-m", "befund", "serve", "--port", "0"],
            env={**os.environ, "BEFUND_DATA_DIR": data_dir},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("Befund listens on ").strip()
        finally:
            process.terminate()
            process.wait()


def main() -> None:
    """Run the benchmark, or (with --watch) ask /healthz until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--watch", metavar="URL")
    options = parser.parse_args()
    if options.watch:
        watch(options.watch)
        return
    body = make_body(options.questions)
    with service() as url:
        report("idle", watched(url, lambda: time.sleep(2)))
        report(
            f"{options.times} requests of {len(body) / 1e6:.1f} MB",
            watched(url, lambda: post(url, body, options.times)),
        )


def post(url: str, body: bytes, times: int) -> None:
    """Post the request several times, one after the other."""
    with httpx.Client(timeout=120) as client:
        for _ in range(times):
            answer = client.post(f"{url}/retrieve-eval", content=body, headers={"content-type": "application/json"})
            assert answer.status_code == 200, answer.text


def watched(url: str, work: Callable[[], None]) -> list[float]:
    """What /healthz waited, in milliseconds, while the work was done."""
    watcher = subprocess.Popen(
        [sys.executable, __file__, "--watch", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert watcher.stdout is not None
    watcher.stdout.readline()
    work()
    output, _ = watcher.communicate("stop\n")
    return [float(line) for line in output.splitlines()]


def watch(url: str) -> None:
    """Ask /healthz until a line comes in, then print every wait in milliseconds."""
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    waits = []
    with httpx.Client(timeout=30) as client:
        client.get(f"{url}/healthz")
        print("ready", flush=True)
        while not stop.is_set():
            asked = time.perf_counter()
            assert client.get(f"{url}/healthz").status_code == 200
            waits.append((time.perf_counter() - asked) * 1000)
            time.sleep(PAUSE_SECONDS)
    print("\n".join(f"{wait:.3f}" for wait in waits))


def report(name: str, waits: list[float]) -> None:
    """One line: how often it was asked, and what it waited."""
    print(
        f"{name}: /healthz asked {len(waits)} times, waited {statistics.median(waits):.1f} ms (median), "
        f"{statistics.quantiles(waits, n=100)[98]:.1f} ms (99th percentile), {max(waits):.1f} ms at most"
    )


if __name__ == "__main__":
    main()
