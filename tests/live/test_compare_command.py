"""`befund compare` and `befund runs promote` against a real service."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from befund.bundled import bundled
from befund.cli import main
from befund_client import Client

QUESTIONS = [{"id": f"Q{i}", "question": f"Number {i}?", "relevant": ["gold"]} for i in range(4)]
NO_REGRESSION = '[[gates]]\nmetric = "hit_rate@1"\nmax_regressions = 0\n'
NO_DROP = '[[gates]]\nmetric = "hit_rate@1"\nmax_drop = 0\n'


@pytest.fixture
def here(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A service of this test's, named by the environment, and a folder of its own."""
    monkeypatch.setenv("BEFUND_URL", serve().url)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def two_runs(here: Path) -> Path:
    """The runs `main` and `pr-42`: one question better, one worse."""
    (here / "set.json").write_text(json.dumps({"questions": QUESTIONS}))
    assert main(["dataset", "put", "set.json", "--name", "four"]) == 0
    for run, hits in (("main", "01"), ("pr-42", "02")):
        rankings = {f"Q{i}": ["gold" if str(i) in hits else "x"] for i in range(4)}
        (here / f"{run}.json").write_text(json.dumps(rankings))
        arguments = ["--dataset", "four", "--rankings", f"{run}.json", "--k", "1", "--run", run]
        assert main(["retrieve-eval", *arguments]) == 0
    return here


def compare(*arguments: str) -> int:
    return main(["compare", "--baseline", "main", "--candidate", "pr-42", *arguments])


@pytest.mark.parametrize(("text", "code"), [(NO_REGRESSION, 1), (NO_DROP, 0)])
def test_stored_runs_are_gated(two_runs: Path, text: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    (two_runs / "gates.toml").write_text(text)
    capsys.readouterr()
    assert compare("--gates", "gates.toml") == code
    assert ("Q1" in capsys.readouterr().out) is True


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--candidate", "pr-43"], 3, "There is no run 'pr-43'. befund runs list shows those there are."),
        (["--metrics", "nonsense"], 3, "There is no metric 'nonsense'"),
    ],
)
def test_what_the_service_refuses_is_one_line(
    two_runs: Path, arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert compare(*arguments) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_merged_run_becomes_the_baseline(two_runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (two_runs / "gates.toml").write_text(NO_REGRESSION)
    assert main(["runs", "promote", "pr-42", "main"]) == 0
    assert "Run main is now pr-42: 4 questions" in capsys.readouterr().out
    assert compare("--gates", "gates.toml") == 0
    assert main(["runs", "promote", "pr-43", "main"]) == 3


def test_a_rechunked_index_is_gated_against_the_old_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The classic: the bundled documents cut anew; the evidence is found again, and both are compared by it."""
    questions = str(bundled("teralune/questions.jsonl") / "teralune" / "questions.jsonl")
    documents = str(bundled("teralune/documents") / "teralune" / "documents")
    for run, size in (("main", "700"), ("pr-42", "120")):
        assert main(["ingest", documents, "--collection", f"docs-{size}", "--max-characters", size]) == 0
        mapped = f"mapped-{size}.json"
        assert main(["dataset", "map", "--dataset", questions, "--collection", f"docs-{size}", "--output", mapped]) == 0
        measure = ["--dataset", mapped, "--collection", f"docs-{size}", "--k", "1,5", "--level", "evidence"]
        assert main(["retrieve-eval", *measure, "--top-k", "5", "--run", run]) == 0
    (here / "gates.toml").write_text('[[gates]]\nmetric = "recall@5"\nmax_drop = 0.05\n')
    capsys.readouterr()
    code = compare("--gates", "gates.toml", "--json", "--html", "report.html")
    answer = json.loads(capsys.readouterr().out)
    recall = next(each for each in answer["metrics"] if each["metric"] == "recall@5")
    assert answer["comparable"]["ok"]
    assert "dataset.evidence_mapping" in [each["field"] for each in answer["comparable"]["differences"]]
    assert answer["questions"]["changed_gold"] == []
    assert recall["n"] > 50
    assert code == {"pass": 0, "fail": 1, "inconclusive": 2}[answer["verdict"]]
    assert (answer["gates"][0]["status"] == "fail") == (recall["delta"] < -0.05)
    assert "MAPPING_CHANGED" not in [each["code"] for each in answer["findings"]]
    assert (here / "report.html").stat().st_size > 10_000
    tokens = answer["budget"]["tokens_per_question"]
    assert tokens["n"] == 120
    assert tokens["baseline"] > tokens["candidate"] > 0


def test_old_answers_are_judged_anew_and_compared(two_runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run in ("main", "pr-42"):
        answers = [{"question_id": f"Q{i}", "answer": f"Number {i} it is.", "context": []} for i in range(4)]
        (two_runs / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
        arguments = ["answers.jsonl", "--dataset", "four", "--run", run, "--judge", "rules"]
        assert main(["judge", *arguments]) == 0
    capsys.readouterr()
    assert main(["runs", "rejudge", "main", "main-anew", "--judge", "rules"]) == 0
    assert capsys.readouterr().out == "Run main-anew: 4 answers of main judged\n"
    assert main(["compare", "--baseline", "main", "--candidate", "main-anew"]) == 0
    assert "JUDGE_NOISE" not in capsys.readouterr().out
    assert main(["runs", "rejudge", "main", "main"]) == 2


def test_the_client_compares_and_promotes(two_runs: Path) -> None:
    with Client() as client:
        answer = client.compare("main", {"run": "pr-42", "k": 1}, gates=[{"metric": "hit_rate", "max_regressions": 0}])
        assert (answer.verdict, answer.gates[0].questions) == ("fail", ["Q1"])
        assert client.promote_run("pr-42", "main").questions == 4
