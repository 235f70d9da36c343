"""Commands that are told of no service: they work on the data folder, take of it what they need, and leave no other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from befund.cli import main

QUESTIONS = [{"id": f"Q{i}", "question": f"Number {i}?", "relevant": ["c1"]} for i in range(2)]
ANSWER = {"question": "How long?", "answer": "For 72 hours.", "expected_facts": ["72 hours"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder, which is not there; the current folder holds answers, a data set and rankings."""
    monkeypatch.delenv("BEFUND_URL", raising=False)
    monkeypatch.delenv("BEFUND_DATA_DIR")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.json").write_text(json.dumps([ANSWER]))
    (tmp_path / "mine.json").write_text(json.dumps({"questions": QUESTIONS}))
    (tmp_path / "run.json").write_text(json.dumps({"Q0": ["c1"], "Q1": ["c2", "c1"]}))
    return tmp_path / "befund-data"


@pytest.mark.parametrize(
    "command",
    [
        ["judge", "answers.json"],
        ["retrieve-eval", "--dataset", "mine.json", "--rankings", "run.json"],
        ["runs", "list"],
        ["dataset", "list"],
    ],
)
def test_nothing_is_stored_where_nothing_is_to_be_kept(folder: Path, command: list[str]) -> None:
    assert main(command) == 0
    assert not folder.exists()


def test_answers_are_judged_beside_a_service_that_has_the_folder(
    folder: Path, serve: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    serve(BEFUND_DATA_DIR=str(folder))
    assert main(["judge", "answers.json"]) == 0
    assert "1 answer: 1 judged by rules" in capsys.readouterr().out


def test_a_collection_that_a_service_has_is_refused_with_the_way_out(
    folder: Path, serve: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    serve(BEFUND_DATA_DIR=str(folder))
    assert main(["retrieve-eval", "--dataset", "mine.json", "--collection", "docs"]) == 3
    said = capsys.readouterr().err
    assert "is in use by process" in said
    assert said.endswith("With --url (or BEFUND_URL) the work goes to the service that has it.\n")


def test_runs_and_data_sets_are_kept_in_the_data_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset", "put", "mine.json"]) == 0
    assert main(["retrieve-eval", "--dataset", "mine", "--rankings", "run.json", "--run", "main"]) == 0
    assert main(["runs", "export", "main", "main.ndjson"]) == 0
    assert main(["runs", "import", "main.ndjson", "--name", "copy"]) == 0
    capsys.readouterr()
    assert main(["runs", "list", "--json"]) == 0
    said = capsys.readouterr()
    assert [run["name"] for run in json.loads(said.out)["runs"]] == ["copy", "main"]
    assert said.err == f"befund: no service named (--url, BEFUND_URL): using the data folder {folder}\n"
    assert not (folder / "chroma").exists()


def test_check_and_live_search_agree_on_which_evidence_does_not_fit(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = folder.parent / "docs"
    documents.mkdir()
    (documents / "webhooks.md").write_text(
        "A failed delivery is retried for 72 hours. " * 2 + "The pause doubles. " * 8
    )
    (documents / "limits.md").write_text("A workspace has at most ten devices.")
    quotes = {"E1": "The pause doubles. " * 8, "E2": "at most ten devices", "E3": "at most ten"}
    questions = [
        {"id": f"Q{name}", "question": f"What is {name}?", "evidence": [{"id": name, "quote": quote.strip()}]}
        for name, quote in quotes.items()
    ]
    (folder.parent / "set.json").write_text(json.dumps({"questions": [*questions]}))
    assert main(["ingest", "docs", "--max-characters", "100"]) == 0
    assert main(["dataset", "map", "--dataset", "set.json", "--collection", "docs", "--output", "mapped.json"]) == 0
    mapped = json.loads((folder.parent / "mapped.json").read_text())
    assert len(mapped["evidence_mapping"]["E1"]) > 1
    mapped["evidence_mapping"]["E1"].pop()
    mapped["evidence_mapping"]["E3"] = ["webhooks-chunk-1"]
    (folder.parent / "mapped.json").write_text(json.dumps(mapped))
    capsys.readouterr()
    assert main(["dataset", "check", "mapped.json", "--collection", "docs", "--json"]) == 1
    checked = {issue["code"]: issue["ids"] for issue in json.loads(capsys.readouterr().out)["issues"]}
    assert checked["MAPPING_ELSEWHERE"] == ["E1", "E3"]
    assert main(["retrieve-eval", "--dataset", "mapped.json", "--collection", "docs", "--k", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 of 3 looked at (E1, E3)" in said
    assert said.index("MAPPING_ELSEWHERE") < said.index("Metrics")


def test_what_the_folder_does_not_hold_is_said_with_the_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", "main"]) == 3
    assert capsys.readouterr().err.splitlines()[1] == (
        f"befund: There is no run 'main'. Looked for in the data folder {folder}, since no service is named (--url, "
        "BEFUND_URL)."
    )


def test_a_service_that_is_named_is_asked(
    folder: Path, serve: Callable[..., Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEFUND_URL", serve().url)
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr() == ("No runs are stored.\n", "")
