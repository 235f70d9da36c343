"""`befund judge calibrate`, before a scripted service and in its own process."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from befund.cli import main

from .conftest import Reply, Service, problem
from .test_judging import CALIBRATION, LABELLED

NOTHING_SCORED = {
    **CALIBRATION["dimensions"]["correct"],  # type: ignore[index]
    "scored": 0,
    "disagreements": [],
    "worst": [],
}


@pytest.fixture
def labelled(tmp_path: Path) -> str:
    path = tmp_path / "by hand.json"
    path.write_text(json.dumps([LABELLED, LABELLED]))
    return str(path)


def calibrate(*arguments: str) -> int:
    return main(["judge", "calibrate", *arguments])


def test_figures_confusion_and_disagreements(
    service: Service, labelled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    service.plays(Reply(body=CALIBRATION))
    assert calibrate(labelled, "--url", service.url) == 0
    said = capsys.readouterr().out
    assert "rules beside people, 95% intervals over groups" in said
    assert "indicative only, under 100 scored answers: correct" in said
    assert "correct: people (rows) and the judge (columns)" in said
    assert "correct, where they differ: 1 answer\n  Q2  people: true, judge: false, 90% sure" in said
    assert "answer: 48 hours.\n    reason: 48 is not 72." in said


def test_it_is_stored_under_the_name_of_the_file_unless_told(service: Service, labelled: str) -> None:
    service.plays(Reply(body=CALIBRATION))
    assert calibrate(labelled, "--url", service.url) == 0
    assert calibrate(labelled, "--url", service.url, "--name", "mine", "--judge", "strict", "--votes", "3") == 0
    first, second = (json.loads(asked.body) for asked in service.asked)
    assert first["name"] == "by-hand"
    assert (second["name"], second["judge"], second["votes"]) == ("mine", "strict", 3)


def test_the_page_is_written(service: Service, labelled: str, tmp_path: Path) -> None:
    service.plays(Reply(body=CALIBRATION))
    page = tmp_path / "page.html"
    assert calibrate(labelled, "--url", service.url, "--html", str(page)) == 0
    assert page.read_text().startswith("<!doctype html>")


def test_json_is_the_response(service: Service, labelled: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=CALIBRATION))
    assert calibrate(labelled, "--url", service.url, "--json") == 0
    assert json.loads(capsys.readouterr().out)["dimensions"]["correct"]["disagreements"] == [1]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(422, problem(422)), 2),
        (Reply(403, problem(403)), 3),
        (Reply(body=CALIBRATION | {"dimensions": {"correct": NOTHING_SCORED}}), 2),
    ],
)
def test_exit_codes(service: Service, labelled: str, reply: Reply, code: int) -> None:
    service.plays(reply)
    assert calibrate(labelled, "--url", service.url) == code


def test_too_many_answers_are_refused_before_they_are_sent(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps([LABELLED] * 2001))
    assert calibrate(str(path), "--url", service.url) == 3
    assert "2,001 answers are too many" in capsys.readouterr().err
    assert service.asked == []


def test_questions_come_from_a_file_too(service: Service, tmp_path: Path) -> None:
    questions, answers = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    questions.write_text('{"id": "Q1", "question": "How long?", "expected_facts": ["72 hours"]}\n')
    answers.write_text('{"question_id": "Q1", "answer": "72 hours.", "human_correct": true}\n')
    service.plays(Reply(body=CALIBRATION))
    assert calibrate(str(answers), "--dataset", str(questions), "--url", service.url) == 0
    sent: dict[str, Any] = json.loads(service.asked[0].body)
    assert (sent["items"][0]["question"], sent["items"][0]["human"]["correct"]) == ("How long?", True)


def test_without_a_service_the_judge_is_measured_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, labelled: str
) -> None:
    monkeypatch.setenv("BEFUND_DATA_DIR", str(tmp_path / "data"))
    assert calibrate(labelled) == 0
    said = capsys.readouterr()
    assert "judging in this process" in said.err
    assert re.search(r"sensitivity +100\.0%", said.out)
