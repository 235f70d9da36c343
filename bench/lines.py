"""Memory, and how long /healthz waits, while a batch of 50 MB comes in line by line: a real service.

    python bench/lines.py [--lines 10000] [--bytes 5000]

The answers become a job. Resident memory is read from /proc while the batch is sent and until the job has ended.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from responsive import report, watched

SENTENCE = "Orbit 3.0 retries failed webhook deliveries for 72 hours. "
LOOK_SECONDS = 0.02


def main() -> None:
    """Start a service, send a small batch, then the large one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=5_000)
    options = parser.parse_args()
    with service() as (url, pid):
        ended(url, send(url, lines(300, options.bytes)))
        with resident(pid) as idle:
            time.sleep(1)
        print(f"idle after a small batch: {max(idle):.0f} MB")
        body = lines(options.lines, options.bytes)
        jobs: list[str] = []
        with resident(pid) as sending:
            waits = watched(url, lambda: jobs.append(send(url, body)))
        print(f"while {len(body) / 1e6:.1f} MB came in: {max(sending):.0f} MB at most")
        report("meanwhile", waits)
        with resident(pid) as working:
            waits = watched(url, lambda: ended(url, jobs[0]))
        print(f"while they were judged: {max(working):.0f} MB at most")
        report("meanwhile", waits)


def lines(number: int, size: int) -> bytes:
    """So many answers that say nothing, which no judge is asked about, with a context of so many bytes."""
    text = SENTENCE * (size // len(SENTENCE))
    item = {"question": "How long?", "answer": "", "context": [{"id": "c1", "text": text}]}
    return (json.dumps(item).encode() + b"\n") * number


def send(url: str, body: bytes) -> str:
    """Post lines; the job they become."""
    headers = {"content-type": "application/x-ndjson"}
    answer = httpx.post(f"{url}/judge/batch", content=body, headers=headers, timeout=600)
    assert answer.status_code == 202, answer.text
    job: str = answer.json()["id"]
    return job


def ended(url: str, job: str) -> None:
    """Wait for the end of a job."""
    with httpx.stream("GET", f"{url}/jobs/{job}/events", timeout=3_600) as events:
        for _ in events.iter_lines():
            pass


@contextmanager
def resident(pid: int) -> Iterator[list[float]]:
    """Resident megabytes of a process, looked at again and again until the block ends."""
    seen: list[float] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            status = Path(f"/proc/{pid}/status").read_text()
            seen.append(next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")))
            over.wait(LOOK_SECONDS)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


@contextmanager
def service() -> Iterator[tuple[str, int]]:
    """A service on a free port, and its process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "befund", "serve", "--port", "0"]
        environ = {**os.environ, "BEFUND_DATA_DIR": folder}
        process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("Befund listens on ").strip(), process.pid
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
