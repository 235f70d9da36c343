"""`befund diagnose` and `befund explain` against a real service with the bundled corpus in it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from befund.bundled import bundled
from befund.cli import main

ANSWERS = "teralune/answers.jsonl"


@pytest.fixture
def url(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """A service that holds the bundled documents."""
    found: str = serve().url
    monkeypatch.setenv("BEFUND_URL", found)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["ingest", "--bundled"]) == 0
    return found


def test_a_run_is_diagnosed_and_one_question_explained(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(bundled(ANSWERS) / ANSWERS)
    measured = ["--dataset", "teralune", "--collection", "teralune_corpus", "--run", "main"]
    assert main(["retrieve-eval", *measured, "--k", "10", "--split", "smoke"]) == 0
    capsys.readouterr()
    assert main(["diagnose", file, *measured, "--split", "smoke"]) == 0
    assert "25 answers: 25 diagnosed, 0 failed" in capsys.readouterr().out
    assert main(["explain", "main", "Q018"]) == 0
    said = capsys.readouterr().out
    for part in (
        "How long is raw data kept",
        "Ranking",
        "Context",
        "Verdict",
        "Diagnosis: RETRIEVAL_FAILURE",
        "Stages",
    ):
        assert part in said
    assert main(["explain", "main", "Q018", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["diagnosis"]["diagnosis"]["cause"]["code"] == "RANKED_BELOW_K"
    assert main(["runs", "show", "main"]) == 0
    assert "Diagnoses" in capsys.readouterr().out


def test_an_unknown_question_is_an_error(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "none", "Q1"]) == 3
    assert "none" in capsys.readouterr().err


def written(path: Path, *cases: dict[str, Any]) -> str:
    """A file of these answers."""
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return str(path)


def test_an_answer_that_cannot_be_diagnosed_shows_in_the_exit_code(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = {"question_id": "Q001", "answer": "72 hours.", "context": []}
    file = written(tmp_path / "answers.jsonl", sound, {"answer": "72 hours."})
    assert main(["diagnose", file, "--dataset", "teralune"]) == 2
    assert "name its data set (--dataset)" in capsys.readouterr().out
    lost = written(tmp_path / "lost.jsonl", sound, sound | {"collection": "none"})
    assert main(["diagnose", lost, "--dataset", "teralune"]) == 3
    assert "befund ingest makes one" in capsys.readouterr().out


def test_advice_names_options_and_commands(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "answer.jsonl", {"question_id": "Q001", "answer": "A day.", "context": []})
    assert main(["diagnose", file, "--dataset", "teralune"]) == 0
    assert "Diagnose again with --collection" in " ".join(capsys.readouterr().out.split())
    assert main(["diagnose", file, "--run", "new"]) == 3
    assert "Name the data set it is measured on (--dataset)" in capsys.readouterr().err
    assert main(["diagnose", file, "--dataset", file, "--run", "new"]) == 3
    assert "befund dataset put" in capsys.readouterr().err


def test_without_a_service_it_diagnoses_in_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BEFUND_DATA_DIR", str(tmp_path))
    case = tmp_path / "case.json"
    retries = "Orbit 3.0 retries failed webhooks for "
    case.write_text(
        json.dumps(
            {
                "question": "How long does Orbit 3.0 retry failed webhooks?",
                "expected_facts": ["72 hours"],
                "answer": f"{retries}48 hours.",
                "context": [f"{retries}72 hours."],
            }
        )
    )
    assert main(["diagnose", str(case)]) == 0
    assert "GENERATION_FAILURE" in capsys.readouterr().out
