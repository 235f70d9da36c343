"""`befund ingest` as a process: into a running service, and into the data folder itself."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from befund.cli import main
from befund.contract import RetrievalOptions
from befund_client import Client, read_dataset

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = ROOT / "data" / "teralune" / "questions.jsonl"
Command = Callable[..., subprocess.CompletedProcess[str]]


def environ(data_dir: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BEFUND_", "FORCE_COLOR"))}
    return {**kept, "COLUMNS": "80", "BEFUND_DATA_DIR": str(data_dir)}


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `befund ingest` with a data folder of its own."""

    def command(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "befund", "ingest", *arguments],
            cwd=tmp_path,
            env=environ(tmp_path / "data") | more,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return command


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with two documents and a file of another kind."""
    folder = tmp_path / "handbook"
    (folder / "guide").mkdir(parents=True)
    (folder / "guide" / "setup.md").write_text("# Setup\n\nPlug it in.")
    (folder / "limits.md").write_text("---\nroles: [staff]\n---\n# Limits\n\nTen devices.")
    (folder / "logo.svg").write_text("<svg/>")
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of commands that run in this process."""
    monkeypatch.delenv("BEFUND_URL", raising=False)
    monkeypatch.setenv("BEFUND_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def text(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def test_the_bundled_corpus_is_36_documents_in_115_chunks(command: Command, service: str) -> None:
    done = command("--bundled", "--url", service)
    assert (done.returncode, done.stderr) == (0, "")
    assert text(done)[-3:] == [
        "Collection teralune_corpus",
        "documents: 36 added, 0 changed, 0 unchanged, 0 removed",
        "chunks: 115, cut as markdown/700/0, embedded by wordllama/l2_supercat/256",
    ]
    assert "not read: 12 other files (2 .csv, 3 .html, 2 .json, 1 .pdf, 2 .txt, 2 .yaml)" in done.stdout
    with Client(service) as client:
        wanted = ["D003-chunk-1", "D036-chunk-3", "D037-chunk-1"]
        assert client.map_evidence("teralune_corpus", chunks=wanted).missing_chunks == ["D037-chunk-1"]


def test_another_chunking_is_measured_on_equal_terms(service: str, tmp_path: Path) -> None:
    url = ("--url", service)
    assert main(["ingest", "--bundled", "--collection", "cut-700", *url]) == 0
    assert main(["ingest", "--bundled", "--collection", "cut-400", "--max-characters", "400", *url]) == 0
    answers = {}
    for name in ("cut-700", "cut-400"):
        mapped = tmp_path / f"{name}.json"
        asked = ["--dataset", str(QUESTIONS), "--collection", name, "--output", str(mapped)]
        assert main(["dataset", "map", *asked, *url]) == 0
        assert main(["dataset", "check", str(mapped), "--collection", name, *url]) == 0
        with Client(service) as client:
            search = RetrievalOptions(collection=name, top_k=10)
            answers[name] = client.retrieve_eval(read_dataset(mapped), search, k=[10], level="evidence")
    before, after = answers["cut-700"], answers["cut-400"]
    assert before.questions.eligible == after.questions.eligible == 78
    assert [each.id for each in before.per_question] == [each.id for each in after.per_question]
    assert before.config["dataset"]["questions"] == after.config["dataset"]["questions"]
    assert before.config["dataset"]["evidence_mapping"] != after.config["dataset"]["evidence_mapping"]
    assert before.metrics["recall@10"].n == after.metrics["recall@10"].n == 78


def test_a_folder_goes_into_the_data_folder_where_no_service_is_named(command: Command, docs: Path) -> None:
    done = command("handbook")
    assert (done.returncode, done.stderr) == (0, "")
    assert text(done) == [
        "Read",
        "handbook: 2 Markdown files",
        "not read: 1 other file (1 .svg)",
        "Collection handbook",
        "documents: 2 added, 0 changed, 0 unchanged, 0 removed",
        "chunks: 2, cut as markdown/700/0, embedded by wordllama/l2_supercat/256",
        "1 of 2 documents names no role: denied to every role",
    ]
    (docs / "guide" / "setup.md").unlink()
    (docs / "limits.md").write_text("# Limits\n\nTwelve devices.")
    again = json.loads(command("handbook", "--prune", "--json").stdout)
    assert again["documents"] == {"added": 0, "changed": 1, "unchanged": 0, "removed": 1, "skipped": []}
    assert again["chunks"] == 1


def test_a_folder_that_a_service_has_is_refused_with_the_way_out(
    command: Command, docs: Path, tmp_path: Path, serve: Callable[..., Any]
) -> None:
    process = serve(BEFUND_DATA_DIR=str(tmp_path / "data"))
    done = command("handbook")
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert f"in use by process {process.popen.pid}" in line
    assert "--url" in line
    assert command("handbook", BEFUND_URL=process.url).returncode == 0


def test_what_could_not_be_read_is_said_and_keeps_the_rest_from_being_pruned(
    command: Command, docs: Path, service: str
) -> None:
    named = ("handbook", "--collection", "unpruned", "--url", service)
    command(*named)
    (docs / "limits.md").write_bytes(b"\xff")
    (docs / "empty.md").write_text("")
    done = command(*named, "--prune")
    assert done.returncode == 0
    assert "handbook/limits.md: it is not text in UTF-8 (line 1)" in text(done)
    assert "empty: it has no text" in text(done)
    assert done.stderr == "befund: nothing was pruned, since 1 file could not be read\n"
    assert httpx.get(f"{service}/collections/unpruned").json()["chunks"] == 2


def test_another_chunking_needs_replace(command: Command, docs: Path, service: str) -> None:
    named = ("handbook", "--collection", "rechunked", "--url", service)
    command(*named)
    done = command(*named, "--max-characters", "20")
    assert done.returncode == 3
    assert "cut as markdown/700/0; these would be as markdown/20/0" in done.stderr
    assert "--replace" in done.stderr
    assert "markdown/20/0" in command(*named, "--max-characters", "20", "--replace").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere is no folder"),
        (["handbook", "--bundled"], "not allowed with argument"),
        ([], "required"),
        (["handbook", "--url", "ftp://x"], "no address of a service"),
        (["handbook", "--max-characters", "many"], "invalid int value"),
        (["handbook", "--collection", "-", "--max-characters", "5", "--overlap", "5"], "overlap"),
    ],
)
def test_a_usage_error_is_one_clear_line_and_exit_3(
    command: Command, docs: Path, arguments: list[str], said: str
) -> None:
    done = command(*arguments)
    assert done.returncode == 3
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_an_error_without_a_service_names_the_data_folder_and_no_request(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["retrieve-eval", "--dataset", str(QUESTIONS), "--collection", "nope"]) == 3
    looked_for = f"Looked for in the data folder {folder}, since no service is named (--url, BEFUND_URL).\n"
    no_collection = f"befund: There is no collection 'nope'. befund ingest makes one. {looked_for}"
    assert capsys.readouterr().err == no_collection
    assert main(["dataset", "check", str(QUESTIONS), "--collection", "nope"]) == 3
    assert capsys.readouterr().err == no_collection
    assert main(["retrieve-eval", "--dataset", "nope", "--collection", "nope"]) == 3
    no_data_set = "befund: nope: no such file, no BEIR folder. There is no data set 'nope'."
    assert capsys.readouterr().err == f"{no_data_set} {looked_for}"
    assert not folder.exists()


def test_killed_in_the_middle_it_is_completed_by_the_next(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(400):
        (folder / f"d{number}.md").write_text(f"# Document {number}\n\n" + f"Sentence about {number}. " * 200)
    started = subprocess.Popen(
        [sys.executable, "-m", "befund", "ingest", "many"], cwd=tmp_path, env=environ(tmp_path / "data")
    )
    database = tmp_path / "data" / "chroma" / "chroma.sqlite3"
    while started.poll() is None and (not database.exists() or database.stat().st_size < 1_500_000):
        pass
    started.send_signal(signal.SIGKILL)
    assert started.wait() == -signal.SIGKILL
    done = json.loads(command("many", "--json").stdout)
    assert done["documents"]["added"] + done["documents"]["changed"] > 0
    assert done["documents"]["unchanged"] > 0
    again = json.loads(command("many", "--json").stdout)
    assert (again["documents"]["unchanged"], again["corpus"]) == (400, done["corpus"])
