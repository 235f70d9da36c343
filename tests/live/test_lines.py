"""A batch of 50 MB that comes in line by line."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

LINES = 10_000
TEXT = "Orbit 3.0 retries failed webhook deliveries for 72 hours. " * 86
LINE = json.dumps({"question": "How long?", "answer": "", "context": [{"id": "c1", "text": TEXT}]}).encode() + b"\n"
MORE_THAN_THE_BODY_MB = 30
HEADERS = {"content-type": "application/x-ndjson"}


def megabytes(pid: int, what: str) -> float:
    found = re.search(rf"^{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


def ended(client: httpx.Client, answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 202, answer.text
    events = client.get(f"{answer.headers['location']}/events").text.split("data: ")
    last: dict[str, Any] = json.loads(events[-1])
    return last


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs /proc to look at memory")
def test_it_is_held_once_and_healthz_answers_meanwhile(serve: Callable[..., Any]) -> None:
    process = serve()
    halfway, go_on = threading.Event(), threading.Event()

    def body() -> Iterator[bytes]:
        for place in range(LINES):
            if place == LINES // 2:
                halfway.set()
                go_on.wait(60)
            yield LINE

    with httpx.Client(base_url=process.url, timeout=300) as client, ThreadPoolExecutor(1) as pool:
        ended(client, client.post("/judge/batch", content=LINE * 300, headers=HEADERS))  # everything is loaded
        before = megabytes(process.popen.pid, "VmRSS")
        Path(f"/proc/{process.popen.pid}/clear_refs").write_text("5")  # the peak from now on
        sent = pool.submit(client.post, "/judge/batch", content=body(), headers=HEADERS)
        assert halfway.wait(60)
        with httpx.Client(base_url=process.url, timeout=60) as another:
            assert another.get("/healthz").status_code == 200
        go_on.set()
        job = ended(client, sent.result())
        peak = megabytes(process.popen.pid, "VmHWM")
    assert (job["state"], job["done"], job["failed"]) == ("done", LINES, 0)
    assert peak - before < LINES * len(LINE) / 1024**2 + MORE_THAN_THE_BODY_MB
