"""`befund judge`, before a scripted service and in its own process."""

import json
from pathlib import Path
from typing import Any

import pytest

from befund.cli import main

from .conftest import Reply, Service, problem
from .test_judging import BATCH, ITEM, JUDGMENT, SUMMARY

WRONG = JUDGMENT | {"correct": False, "behaved": False, "observed_behavior": "no_answer", "reason": "It is missing."}


@pytest.fixture
def answers(tmp_path: Path) -> str:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps([ITEM | {"question_id": "Q1"}, ITEM | {"question_id": "Q2"}]))
    return str(path)


def batch(*judgments: dict[str, Any]) -> dict[str, Any]:
    results = [{"index": i, "judgment": each, "problem": None} for i, each in enumerate(judgments)]
    return {"results": results, "summary": SUMMARY}


def test_tables_then_what_was_wrong(service: Service, answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=batch(JUDGMENT, WRONG)))
    assert main(["judge", answers, "--url", service.url]) == 0
    said = capsys.readouterr().out
    assert "2 answers: 2 judged by rules, 0 failed" in said
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "rate interval scored abstained evaluable" in lines
    assert "correct 0.750 4 0 0" in lines
    assert (
        "Wrong: 1 answer\n  Q2  not correct, not as expected\n    asked: How long?\n    answer: 72 hours.\n"
        "    It is missing."
    ) in said


def test_what_the_judge_abstained_on_is_told_from_what_nobody_could_judge(
    service: Service, answers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = {"correct": "abstained", "faithful": "not_evaluable", "behaved": "scored"}
    service.plays(Reply(body=batch(JUDGMENT, JUDGMENT | {"correct": None, "status": status})))
    assert main(["judge", answers, "--url", service.url]) == 0
    said = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "correct 0.750 4 1 0" in lines
    assert "Left open: 1 answer\n  Q2  open: correct\n    asked: How long?" in said


def test_a_reason_is_not_cut_within_a_word(service: Service, answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=batch(JUDGMENT, WRONG | {"reason": "unsupported " * 30})))
    assert main(["judge", answers, "--url", service.url]) == 0
    assert "unsupported …" in " ".join(capsys.readouterr().out.split())


def test_what_failed_alike_is_said_once(service: Service, answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed = [
        {"index": i, "judgment": None, "problem": problem(422, detail=f"The data set has no question 'Q{i + 1}'.")}
        for i in range(2)
    ]
    service.plays(Reply(body={"results": failed, "summary": SUMMARY}))
    assert main(["judge", answers, "--url", service.url]) == 2
    said = capsys.readouterr().out
    assert "Not judged: 2 answers\n  2 (Q1, Q2): The data set has no question.\n" in said
    assert "─" not in said


def test_what_failed_is_said(service: Service, answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=BATCH))
    assert main(["judge", answers, "--url", service.url]) == 0
    assert "Not judged: 1 answer\n  Q2: what is wrong" in capsys.readouterr().out


def test_json_is_the_response(service: Service, answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=BATCH))
    assert main(["judge", answers, "--url", service.url, "--json", "--votes", "3", "--no-cache"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["judgment"]["id"] == "j1"
    sent = json.loads(service.asked[0].body)
    assert (sent["votes"], sent["use_cache"], len(sent["items"])) == (3, False, 2)


def test_many_answers_go_in_parts(service: Service, tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps([ITEM] * 201))
    service.plays(Reply(body=batch(*[JUDGMENT] * 200)), Reply(body=batch(JUDGMENT)))
    command = ["judge", str(path), "--url", service.url, "--run", "main", "--dataset", "mine", "--replace-run"]
    assert main(command) == 0
    sent = [json.loads(asked.body) for asked in service.asked]
    assert [(len(each["items"]), each["replace_run"]) for each in sent] == [(200, True), (1, False)]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(422, problem(422)), 2),
        (Reply(409, problem(409)), 2),
        (Reply(401, problem(401)), 3),
        (Reply(body={"results": [BATCH["results"][1]] * 2, "summary": SUMMARY}), 2),  # type: ignore[index]
    ],
)
def test_exit_codes(service: Service, answers: str, reply: Reply, code: int) -> None:
    service.plays(reply)
    assert main(["judge", answers, "--url", service.url]) == code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such.json"], "no-such.json"),
        (["README.md"], "README.md: format not recognised: answers are read from JSON, JSONL or CSV"),
        (["ANSWERS", "--split", "smoke"], "--split goes with --dataset"),
        (["ANSWERS", "--dataset", "data/teralune/questions.jsonl"], "the data set has no question Q1, Q2"),
        (["ANSWERS", "--dataset", "data/teralune/questions.jsonl", "--run", "main"], "--run needs a stored data set"),
    ],
)
def test_usage_errors(
    answers: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(["judge", *[answers if each == "ANSWERS" else each for each in arguments]]) == 3
    assert said in capsys.readouterr().err


def test_a_table_without_answers_is_named_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    assert main(["judge", str(path)]) == 3
    said = (
        f"befund: {path}, line 1: no column answer in the header, which is: a, b (nor response, actual_output, output)"
    )
    assert capsys.readouterr().err == f"{said}\n"


def test_without_a_service_it_is_judged_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BEFUND_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("BEFUND_URL", raising=False)
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"question_id": "Q001", "answer": "Nach 48 Stunden."}))
    assert main(["judge", str(path), "--dataset", "teralune", "--split", "smoke", "--run", "main"]) == 0
    said = capsys.readouterr()
    assert "judging in this process" in said.err
    assert "1 answer: 1 judged by rules, 0 failed" in said.out
