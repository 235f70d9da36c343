"""What is acknowledged stays: through kill -9, a full disk, and writers at the same time."""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

QUESTIONS = 40
ACKNOWLEDGED_BEFORE_KILL = 60

Serve = Callable[..., Any]


def dataset(mark: str) -> dict[str, Any]:
    return {"questions": [{"id": f"Q{i}", "question": mark, "relevant": ["c1"]} for i in range(QUESTIONS)]}


def measurement(run: str, mark: str, **changes: Any) -> dict[str, Any]:
    rankings = {f"Q{i}": [mark, "c1"] for i in range(QUESTIONS)}
    body = {"dataset": dataset("same"), "retrieval": {"rankings": rankings}, "run": run, "per_question": False}
    return body | changes


def marks(url: str, run: str) -> list[str]:
    """The mark of every record of a run."""
    records = httpx.get(f"{url}/runs/{run}", params={"limit": 1000}).json()["records"]
    return [record["retrieval"]["ranking"][0] for record in records]


class Storm:
    """Callers that write until the service is gone, and what was acknowledged to them."""

    def __init__(self, url: str) -> None:
        self.runs: dict[str, int] = {}
        self.datasets: dict[str, str] = {}
        self.enough = threading.Event()
        self._url = url
        self._numbers = count()

    def write(self, kind: str) -> None:
        with httpx.Client(base_url=self._url, timeout=120) as client:
            for number in self._numbers:
                try:
                    self._write_one(client, kind, number)
                except httpx.TransportError:
                    return
                if len(self.runs) + len(self.datasets) >= ACKNOWLEDGED_BEFORE_KILL:
                    self.enough.set()

    def _write_one(self, client: httpx.Client, kind: str, number: int) -> None:
        if kind == "dataset":
            answer = client.put(f"/datasets/d{number}", json=dataset(f"m{number}"))
            assert answer.status_code == 201, answer.text
            self.datasets[f"d{number}"] = answer.json()["version"]["version"]
            return
        run = "hot" if kind == "hot" else f"r{number}"
        answer = client.post("/retrieve-eval", json=measurement(run, f"m{number}"))
        assert answer.status_code == 200, answer.text
        self.runs[run] = number


def test_everything_acknowledged_is_there_after_kill_9_and_nothing_is_half(serve: Serve, tmp_path: Path) -> None:
    process = serve(BEFUND_DATA_DIR=str(tmp_path))
    storm = Storm(process.url)
    kinds = ["hot", "run", "run", "run", "dataset", "dataset"]
    with ThreadPoolExecutor(len(kinds)) as pool:
        writers = [pool.submit(storm.write, kind) for kind in kinds]
        assert storm.enough.wait(60)
        process.popen.kill()
        for writer in writers:
            writer.result()
    url = serve(BEFUND_DATA_DIR=str(tmp_path)).url
    listed = httpx.get(f"{url}/runs", params={"limit": 500}).json()["runs"]
    assert storm.runs.keys() <= {run["name"] for run in listed}
    assert {run["questions"] for run in listed} == {QUESTIONS}
    for run, number in storm.runs.items():
        found = marks(url, run)
        assert len(set(found)) == 1
        assert int(found[0][1:]) >= number if run == "hot" else found[0] == f"m{number}"
    stored = httpx.get(f"{url}/datasets").json()["datasets"]
    assert storm.datasets.items() <= {each["name"]: each["versions"][0]["version"] for each in stored}.items()
    for name in storm.datasets:
        assert len(httpx.get(f"{url}/datasets/{name}").json()["questions"]) == QUESTIONS


def test_two_writers_of_one_run_never_mix(serve: Serve) -> None:
    url = serve().url
    with ThreadPoolExecutor(8) as pool:
        bodies = [measurement("same", f"m{i}", config={"prompt": i % 2}, metrics=["mrr"]) for i in range(24)]
        answers = list(pool.map(lambda body: httpx.post(f"{url}/retrieve-eval", json=body, timeout=120), bodies))
    accepted = {i % 2 for i, answer in enumerate(answers) if answer.status_code == 200}
    refused = {i % 2 for i, answer in enumerate(answers) if answer.status_code == 409}
    assert (len(accepted), refused) == (1, {0, 1} - accepted)
    found = marks(url, "same")
    assert (len(found), len(set(found))) == (QUESTIONS, 1)
    assert int(found[0][1:]) % 2 in accepted


def test_runs_begun_anew_by_several_at_once_are_one_of_theirs(serve: Serve) -> None:
    url = serve().url
    bodies = [measurement("same", f"m{i}", config={"prompt": i}, replace_run=True) for i in range(12)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda body: httpx.post(f"{url}/retrieve-eval", json=body, timeout=120), bodies))
    assert {answer.status_code for answer in answers} == {200}
    run = httpx.get(f"{url}/runs/same").json()
    assert set(marks(url, "same")) == {f"m{run['config']['prompt']}"}


def fill(url: str) -> tuple[list[str], httpx.Response]:
    """Write runs until one is refused."""
    written: list[str] = []
    for number in range(2000):
        answer = httpx.post(f"{url}/retrieve-eval", json=measurement(f"r{number}", f"m{number}"), timeout=120)
        if answer.status_code != 200:
            return written, answer
        written.append(f"r{number}")
    pytest.fail("the disk never got full")


def check_full(url: str, written: list[str], refused: httpx.Response) -> None:
    assert refused.status_code == 503
    assert refused.json()["type"] == "/problems/store-unavailable"
    assert refused.headers["retry-after"] == "5"
    assert "Nothing was stored" in refused.json()["detail"]
    assert httpx.get(f"{url}/readyz").status_code == 200
    listed = httpx.get(f"{url}/runs", params={"limit": 500}).json()["runs"]
    assert sorted(run["name"] for run in listed) == sorted(written)
    assert {run["questions"] for run in listed} == {QUESTIONS}


def test_a_file_that_may_not_grow_refuses_writes_and_loses_nothing(serve: Serve, tmp_path: Path) -> None:
    process = serve(BEFUND_DATA_DIR=str(tmp_path))
    unlimited = resource.prlimit(process.popen.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.popen.pid, resource.RLIMIT_FSIZE, (1_500_000, unlimited[1]))
    written, refused = fill(process.url)
    check_full(process.url, written, refused)
    resource.prlimit(process.popen.pid, resource.RLIMIT_FSIZE, unlimited)
    assert httpx.post(f"{process.url}/retrieve-eval", json=measurement("after", "m")).status_code == 200
    assert set(marks(process.url, "after")) == {"m"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder],  # noqa: S607
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"A FULL DISK WAS NOT TRIED: no file system could be mounted ({mounted.stderr.decode().strip()})")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)  # noqa: S607


def test_a_full_disk_refuses_writes_and_loses_nothing(serve: Serve, small_disk: Path) -> None:
    url = serve(BEFUND_DATA_DIR=str(small_disk)).url
    written, refused = fill(url)
    check_full(url, written, refused)
    assert "the disk is full" in refused.json()["detail"]
    assert [marks(url, run)[0] for run in written[:3]] == ["m0", "m1", "m2"]
    subprocess.run(["mount", "-o", "remount,size=8m", small_disk], check=True)  # noqa: S607
    assert httpx.post(f"{url}/retrieve-eval", json=measurement("after", "m")).status_code == 200
    assert set(marks(url, "after")) == {"m"}


def start(data: Path) -> subprocess.CompletedProcess[str]:
    """Run a service that is expected to end at once."""
    return subprocess.run(
        [sys.executable, "-m", "befund", "serve", "--port", "0"],
        env={**os.environ, "BEFUND_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_store_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "befund.sqlite").write_text("no database " * 1000)
    done = start(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1].startswith("befund: The store failed, its file is no SQLite database")


@pytest.mark.parametrize("folder", [".", "new"])
def test_a_disk_that_may_not_be_written_to_stops_the_start(small_disk: Path, folder: str) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)  # noqa: S607
    done = start(small_disk / folder)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert done.stderr.startswith("befund: The ")


def test_a_large_run_is_kept_in_one_piece(serve: Serve) -> None:
    url = serve().url
    rankings = {f"Q{i}": [f"D{i}-chunk-{rank}" for rank in range(100)] for i in range(3000)}
    questions = [{"id": f"Q{i}", "question": "?", "relevant": [f"D{i}-chunk-7"]} for i in range(3000)]
    body = {
        "dataset": {"questions": questions},
        "retrieval": {"rankings": rankings},
        "run": "large",
        "per_question": False,
    }
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx.post, f"{url}/retrieve-eval", content=json.dumps(body), timeout=60)
        while not asked.done():
            assert httpx.get(f"{url}/healthz").status_code == 200
        assert asked.result().status_code == 200
    run = httpx.get(f"{url}/runs/large", params={"limit": 1}, timeout=60).json()
    assert run["questions"] == 3000
    assert run["metrics"]["mrr@10"]["value"] == pytest.approx(0.125)
    assert len(run["records"][0]["retrieval"]["ranking"]) == 100
