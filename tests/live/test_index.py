"""The index with real processes: who owns the folder, what a killed owner leaves, a Chroma server that goes away."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from befund.adapters.chroma import ChromaIndex, EmbeddedChroma, ServedChroma
from befund.adapters.chroma.connection import Connection
from befund.adapters.embedding import StaticEmbedder
from befund.ports import IndexedChunk

from ..conftest import CHECKOUT, Serve

REQUEST: dict[str, Any] = {
    "dataset": {"questions": [{"id": "Q1", "question": "How long are webhooks retried?", "relevant": ["webhooks"]}]},
    "retrieval": {"collection": "corpus", "top_k": 2},
    "k": [2],
}


async def fill(connection: Connection) -> None:
    static, index = StaticEmbedder(), ChromaIndex(connection)
    await index.create("corpus", embedder=await static.identity(), chunking="x")
    texts = {"webhooks": "Webhooks are retried for three days.", "plans": "Three plans."}
    chunks = [IndexedChunk(id_, text, {}) for id_, text in texts.items()]
    await index.write("corpus", chunks, await static.embed(list(texts.values())))
    await index.close()
    await static.close()


@pytest.fixture
def data_dir(tmp_path: Path) -> str:
    """With the collection `corpus`."""
    embedded = EmbeddedChroma(tmp_path / "chroma")
    embedded.open()
    asyncio.run(fill(embedded))
    return str(tmp_path)


def found(url: str) -> list[str]:
    answer = httpx.post(f"{url}/retrieve-eval", json=REQUEST, timeout=120)
    assert answer.status_code == 200, answer.text
    ids: list[str] = answer.json()["per_question"][0]["retrieved"]
    return ids


def problem(url: str) -> tuple[int, str]:
    answer = httpx.post(f"{url}/retrieve-eval", json=REQUEST, timeout=120)
    return answer.status_code, answer.json()["type"]


def test_a_second_service_on_the_folder_is_refused_at_once_and_the_first_goes_on(serve: Serve, data_dir: str) -> None:
    first = serve(BEFUND_DATA_DIR=data_dir)
    second = subprocess.run(
        [sys.executable, "-m", "befund", "serve", "--port", "0"],
        env={"BEFUND_DATA_DIR": data_dir},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert second.returncode == 3
    assert second.stdout == ""
    [line] = second.stderr.splitlines()
    assert f"is in use by process {first.popen.pid}" in line
    assert found(first.url) == ["webhooks", "plans"]


def test_a_killed_service_leaves_the_folder_free_and_whole(serve: Serve, data_dir: str) -> None:
    first = serve(BEFUND_DATA_DIR=data_dir)
    assert found(first.url) == ["webhooks", "plans"]
    first.popen.kill()
    first.popen.wait()
    assert found(serve(BEFUND_DATA_DIR=data_dir).url) == ["webhooks", "plans"]


def test_a_folder_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "chroma").write_text("a file in place of the index's folder")
    done = subprocess.run(
        [sys.executable, "-m", "befund", "serve", "--port", "0"],
        env={"BEFUND_DATA_DIR": str(tmp_path)},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 3
    assert "cannot be written" in done.stderr
    assert "BEFUND_DATA_DIR" in done.stderr


def test_an_emptied_database_is_said_and_left_alone(serve: Serve, data_dir: str) -> None:
    database = Path(data_dir, "chroma", "chroma.sqlite3")
    segment = Path(data_dir, "chroma", "00000000-0000-0000-0000-000000000000")
    segment.mkdir()
    database.write_bytes(b"")
    service = serve(BEFUND_DATA_DIR=data_dir)
    assert problem(service.url) == (503, "/problems/index-damaged")
    assert httpx.get(f"{service.url}/readyz").status_code == 503
    assert httpx.get(f"{service.url}/healthz").status_code == 200
    assert database.read_bytes() == b""


def test_the_log_holds_one_line_for_a_damaged_index_and_nothing_of_chroma(serve: Serve, data_dir: str) -> None:
    Path(data_dir, "chroma", "chroma.sqlite3").write_bytes(b"x" * 5000)
    service = serve(BEFUND_DATA_DIR=data_dir)
    assert problem(service.url)[0] == 503
    service.popen.terminate()
    code, lines = service.end()
    assert code == 0
    assert [line for line in lines if '"error"' in line and "index-damaged" in line]
    assert not [line for line in lines if "Traceback" in line or "telemetry" in line]


@contextmanager
def chroma_server(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [Path(sys.executable).with_name("chroma"), "run", "--host", "127.0.0.1", "--path", folder]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
            client.get(f"http://127.0.0.1:{port}/api/v2/heartbeat").raise_for_status()
        yield process
        process.kill()


def test_a_chroma_server_may_go_away_and_come_back(serve: Serve, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    service = serve(BEFUND_CHROMA_URL=url)
    assert problem(service.url) == (503, "/problems/index-down")
    with chroma_server(tmp_path, port) as server:
        asyncio.run(fill(ServedChroma(url)))
        assert httpx.get(f"{service.url}/readyz").json()["dependencies"]["index"]["state"] == "ok"
        assert found(service.url) == ["webhooks", "plans"]
        server.kill()
        server.wait()
        assert problem(service.url) == (503, "/problems/index-down")
        assert httpx.get(f"{service.url}/readyz").status_code == 503
    with chroma_server(tmp_path, port):
        assert found(service.url) == ["webhooks", "plans"]
        assert httpx.get(f"{service.url}/readyz").status_code == 200


def test_the_command_measures_a_live_search(serve: Serve, data_dir: str, tmp_path: Path) -> None:
    service = serve(BEFUND_DATA_DIR=data_dir)
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"id": "Q1", "question": "How long are webhooks retried?", "relevant": ["webhooks"]}\n')
    command = ["retrieve-eval", "--dataset", str(questions), "--collection", "corpus", "--k", "1", "--url", service.url]
    done = subprocess.run(
        [sys.executable, "-m", "befund", *command], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1 question: 1 measured" in done.stdout
