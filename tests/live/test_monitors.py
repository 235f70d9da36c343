"""What a monitor acknowledged stays through kill -9."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

WRITERS = 4
ACKNOWLEDGED_BEFORE_KILL = 60
ITEM = {"question": "How long?", "answer": "For 72 hours.", "expected_facts": ["72 hours"], "monitor": "prod"}


def test_every_acknowledged_judgment_is_there_after_kill_9_and_counted(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    process = serve(BEFUND_DATA_DIR=str(tmp_path))
    acknowledged: list[str] = []
    enough = threading.Event()

    def write() -> None:
        with httpx.Client(base_url=process.url, timeout=60) as client:
            while True:
                try:
                    answer = client.post("/judge", json=ITEM)
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                acknowledged.append(answer.json()["id"])
                if len(acknowledged) >= ACKNOWLEDGED_BEFORE_KILL:
                    enough.set()

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write) for _ in range(WRITERS)]
        assert enough.wait(120)
        process.popen.kill()
        for writer in writers:
            writer.result()
    url = serve(BEFUND_DATA_DIR=str(tmp_path)).url
    held = {entry["judgment"]["id"] for entry in every_entry(url)}
    assert set(acknowledged) <= held
    assert len(held) - len(acknowledged) <= WRITERS
    monitor = httpx.get(f"{url}/monitors/prod").json()
    assert (monitor["answers"], monitor["held"]) == (len(held), len(held))


def every_entry(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 500}
    while True:
        page = httpx.get(f"{url}/monitors/prod/entries", params=query).json()
        found += page["entries"]
        if page["next"] is None:
            return found
        query["cursor"] = page["next"]
