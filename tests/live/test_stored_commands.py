"""`befund dataset` and `befund runs` against a real service."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from befund.cli import main
from befund_client import Client

QUESTIONS = [{"id": f"Q{i}", "question": f"Number {i}?", "relevant": ["c1"], "split": "smoke"} for i in range(3)]


@pytest.fixture
def url(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A service of this test's, named by the environment; the current folder holds a data set and rankings."""
    found: str = serve().url
    monkeypatch.setenv("BEFUND_URL", found)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    (tmp_path / "run.json").write_text(json.dumps({"Q0": ["c1", "c2"], "Q1": ["c2", "c1"], "Q2": []}))
    return found


def measured(run: str = "main") -> None:
    arguments = ["--dataset", "mine", "--rankings", "run.json", "--k", "1,3", "--metrics", "mrr", "--run", run]
    assert main(["retrieve-eval", *arguments]) == 0


def test_a_data_set_is_stored_and_listed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset", "put", "mine.jsonl"]) == 0
    assert main(["dataset", "put", "mine.jsonl", "--name", "mine"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("stored: 3 questions")
    assert second.endswith("was stored already: 3 questions")
    assert main(["dataset", "list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:1] for row in rows[2:4]] == [["mine"], ["teralune"]]
    assert "smoke 3" in rows[2]


def test_runs_are_listed_and_shown(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["dataset", "put", "mine.jsonl"])
    measured()
    capsys.readouterr()
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[0] == "main"
    assert main(["runs", "show", "main", "--limit", "2"]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "Run main: 3 questions, 3 eligible for retrieval"
    assert "  mrr   0.333   0.500   3" in lines
    assert "  Q1         2                c2, c1" in lines
    assert lines[-1] == "and 1 more question (--limit shows more)"


ANSWERS = [
    {"question_id": "Q0", "answer": "It is kept for 72 hours.", "expected_facts": ["72 hours"]},
    {"question_id": "Q1", "answer": "It is kept for 48 hours.", "expected_facts": ["72 hours"]},
    {"question_id": "Q2", "answer": "I do not know."},
]


def test_a_run_shows_what_was_judged_in_it(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["dataset", "put", "mine.jsonl"])
    with Client() as client:
        client.judge_batch(ANSWERS, dataset="mine", run="main")
    capsys.readouterr()
    assert main(["runs", "show", "main"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "Run main: 3 questions"
    assert "correct 0.500 2 0" in lines
    assert "behaved 0.667 3 0" in lines
    assert "No intervals: fewer than ten scored answers." in lines
    assert "answer 2 1" in lines
    questions = lines[lines.index("Questions") :]
    assert questions[1] == "question correct faithful behaved"
    assert questions[3:6] == ["Q0 yes – yes", "Q1 no – yes", "Q2 – – no"]


def test_a_run_shows_verdicts_beside_ranks(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["dataset", "put", "mine.jsonl"])
    measured()
    with Client() as client:
        client.judge_batch(ANSWERS[:1], run="main")
    capsys.readouterr()
    assert main(["runs", "show", "main"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "mrr 0.333 0.500 3" in lines
    assert "question correct faithful behaved first relevant on top" in lines
    assert "Q0 yes – yes 1 c1, c2" in lines
    assert "Q1 2 c2, c1" in lines


def test_without_runs_it_says_so(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out == "No runs are stored.\n"


def test_a_run_is_exported_and_imported(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["dataset", "put", "mine.jsonl"])
    measured()
    assert main(["runs", "export", "main", "main.ndjson"]) == 0
    with Client() as client:
        client.delete_run("main")
    assert main(["runs", "import", "main.ndjson"]) == 0
    assert main(["runs", "import", "main.ndjson", "--name", "copy"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Run copy stored: 3 questions"
    assert main(["runs", "export", "copy"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["run"]["name"] == "copy"


def test_json_is_the_answer(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["dataset", "put", "mine.jsonl", "--json"])
    assert json.loads(capsys.readouterr().out)["created"] is True
    measured()
    capsys.readouterr()
    assert main(["runs", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["questions"] == 3
    assert main(["runs", "show", "main", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"][1]["retrieval"]["first_relevant_rank"] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["runs", "show", "none"], 3, "There is no run 'none'"),
        (["runs", "show", "main", "--url", "nowhere"], 3, "is no address of a service"),
        (["runs", "import", "run.json"], 3, "run.json: it is no exported run"),
        (["runs", "import", "absent.ndjson"], 3, "absent.ndjson: it cannot be read (No such file or directory)"),
        (["runs", "import", "run.json", "--name", "main"], 2, "The bundle is damaged"),
        (["dataset", "put", "run.json"], 3, "run.json"),
        (["dataset", "put", "mine.jsonl", "--name", "a b"], 3, "'a b' is no name"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(
    url: str, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert main(arguments) == code
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error
