"""Judging answers: what the verbs send and read, and the files answers come in."""

import json
from pathlib import Path
from typing import Any

import pytest

from befund_client import CalibrationItem, FileError, JudgeItem, read_answers, read_calibration

from .conftest import ESTIMATE, Ask, Reply, Service, problem

JUDGMENT = {
    "correct": True,
    "faithful": None,
    "behaved": True,
    "status": {"correct": "scored", "faithful": "not_evaluable", "behaved": "scored"},
    "reason": "Stated.",
    "facts": [{"fact": "72 hours", "verdict": "stated", "quote": "for 72 hours"}],
    "claims": [],
    "observed_behavior": "answer",
    "agreement": 1.0,
    "flags": [],
    "judge": {"name": "rules", "model": None, "rubric": "2026-11", "fingerprint": "sha256:1", "calibration": None},
    "usage": {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cost_usd": 0.0},
    "cached": False,
    "latency_ms": 1.5,
    "id": "j1",
}
SUMMARY = {
    "questions": 2,
    "rates": {"correct": ESTIMATE},
    "correct_by_faithful": {"tt": 0, "tf": 0, "ft": 0, "ff": 0},
    "behavior": {},
    "metrics": {},
    "diagnoses": {},
    "causes": {},
    "usage": {},
    "timings": {},
}
BATCH = {
    "results": [
        {"index": 0, "judgment": JUDGMENT, "problem": None},
        {"index": 1, "judgment": None, "problem": problem(503)},
    ],
    "summary": SUMMARY,
}
ITEM = {"question": "How long?", "answer": "72 hours.", "expected_facts": ["72 hours"]}


@pytest.mark.parametrize("item", [ITEM, JudgeItem(**ITEM)])
def test_one_answer(service: Service, ask: Ask, item: Any) -> None:
    service.plays(Reply(body=JUDGMENT))
    judgment = ask("judge", item, judge="rules", run=None)
    assert (judgment.correct, judgment.faithful, judgment.facts[0].quote) == (True, None, "for 72 hours")
    (asked,) = service.asked
    assert (asked.method, asked.path, json.loads(asked.body)) == ("POST", "/judge", ITEM | {"judge": "rules"})


def test_many_answers(service: Service, ask: Ask) -> None:
    service.plays(Reply(body=BATCH))
    answer = ask("judge_batch", [ITEM, {"answer": ""}], dataset="mine", max_cost_usd=0.5)
    assert [result.judgment is None for result in answer.results] == [False, True]
    assert answer.results[1].problem.status == 503
    (asked,) = service.asked
    sent = {"items": [ITEM, {"answer": ""}], "dataset": "mine", "max_cost_usd": 0.5}
    assert (asked.path, json.loads(asked.body)) == ("/judge/batch", sent)


JOB = {
    "id": "j.1",
    "state": "running",
    "done": 1,
    "total": 2,
    "failed": 0,
    "spent_cost_usd": 0.5,
    "estimated_cost_usd": 1.0,
    "created": "2026-11-30T10:00:00Z",
    "updated": "2026-11-30T10:00:01Z",
}


def test_a_job(service: Service, ask: Ask) -> None:
    service.plays(Reply(202, JOB), Reply(body=JOB), Reply(body=JOB | {"state": "cancelled"}))
    assert ask("start_judging", [ITEM], judge="rules").id == "j.1"
    assert (ask("job", "j.1").state, ask("cancel_job", "j.1").state) == ("running", "cancelled")
    assert [(asked.method, asked.path) for asked in service.asked] == [
        ("POST", "/judge/batch"),
        ("GET", "/jobs/j%2E1"),
        ("DELETE", "/jobs/j%2E1"),
    ]
    assert service.asked[0].headers["prefer"] == "respond-async"


def test_too_many_answers_for_one_request(service: Service, ask: Ask) -> None:
    with pytest.raises(ValueError, match="start_judging"):
        ask("judge_batch", [ITEM] * 201)


def test_an_option_that_does_not_exist_is_a_type_error(service: Service, ask: Ask) -> None:
    with pytest.raises(TypeError, match="judge has no option 'vote'"):
        ask("judge", ITEM, vote=3)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(text: str, name: str = "answers.json") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("answers.json", json.dumps([ITEM])),
        ("answers.json", json.dumps({"judge": "rules", "items": [ITEM]})),
        ("answers.jsonl", json.dumps(ITEM) + "\n\n"),
        ("answers.csv", "question;answer;expected_facts\nHow long?;72 hours.;72 hours\n"),
    ],
)
def test_answers_in_any_shape(write: Any, name: str, text: str) -> None:
    assert read_answers(write(text, name)).value == [JudgeItem(**ITEM)]


def test_names_of_ragas_and_deepeval_are_known(write: Any) -> None:
    ragas = {"user_input": "Q?", "response": "A.", "retrieved_contexts": ["one", "two"], "reference": "A!"}
    deepeval = {"input": "Q?", "actual_output": "A.", "retrieval_context": ["one", "two"], "expected_output": "A!"}
    first, second = read_answers(write(json.dumps([ragas, deepeval]))).value
    assert first == second
    assert (first.question, first.answer, first.reference_answers) == ("Q?", "A.", ["A!"])
    assert [(chunk.id, chunk.text) for chunk in first.context or ()] == [("context-1", "one"), ("context-2", "two")]


def test_what_is_not_known_is_said_and_latency_belongs_to_the_generation(write: Any) -> None:
    loaded = read_answers(
        write(json.dumps({"question_id": "Q1", "answer": "", "kind": "x", "latency_ms": 5}), "a.jsonl")
    )
    assert loaded.notes == ("unknown field 'kind' ignored: 1 (first: line 1)",)
    (item,) = loaded.value
    assert (item.question_id, item.answer, item.generation and item.generation.latency_ms) == ("Q1", "", 5.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "holds no answer"),
        ('{"questions": []}', "holds no answers: give a list"),
        ('[{"question": "Q?"}]', "has no answer"),
        ('[{"answer": 1}]', "answer"),
        ("[1]", "is no answer"),
    ],
)
def test_files_that_hold_no_answers(write: Any, text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        read_answers(write(text))


LABELLED = {**ITEM, "human": {"correct": True}}
CALIBRATION = {
    "name": "by-hand",
    "judge": JUDGMENT["judge"],
    "dimensions": {
        "correct": {
            "n": 2,
            "scored": 2,
            "coverage": 1.0,
            "accuracy": 0.5,
            "balanced_accuracy": None,
            "sensitivity": 0.5,
            "specificity": None,
            "kappa": None,
            "kappa_ci": None,
            "confusion": {"true_positive": 1, "false_positive": 0, "true_negative": 0, "false_negative": 1},
            "disagreements": [1],
            "indicative": True,
            "worst": [
                {
                    "index": 1,
                    "question_id": "Q2",
                    "question": "How long?",
                    "answer": "48 hours.",
                    "human": True,
                    "judged": False,
                    "confidence": 0.9,
                    "reason": "48 is not 72.",
                }
            ],
        }
    },
    "failed": [],
    "usage": {},
}


@pytest.mark.parametrize("item", [LABELLED, CalibrationItem(**ITEM, human={"correct": True})])  # type: ignore[arg-type]
def test_a_judge_is_calibrated(service: Service, ask: Ask, item: Any) -> None:
    service.plays(Reply(body=CALIBRATION))
    found = ask("calibrate", "by-hand", [item], judge="rules", votes=5)
    assert (found.name, found.dimensions["correct"].worst[0].reason) == ("by-hand", "48 is not 72.")
    (asked,) = service.asked
    sent = json.loads(asked.body)
    assert (asked.path, sent["name"], sent["judge"], sent["votes"]) == ("/judge/calibration", "by-hand", "rules", 5)
    assert sent["items"][0]["human"]["correct"] is True


def test_a_calibration_has_no_other_options(ask: Ask) -> None:
    with pytest.raises(TypeError, match="calibrate has no option 'run'"):
        ask("calibrate", "by-hand", [LABELLED], run="main")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps([LABELLED])),
        ("a.jsonl", json.dumps(ITEM | {"human_correct": True, "human_faithful": None})),
        ("a.jsonl", json.dumps(ITEM | {"label_correct": 1})),
        ("a.csv", "question,answer,expected_facts,human_correct,human_faithful\nHow long?,72 hours.,72 hours,yes,\n"),
        ("a.csv", 'question\tanswer\texpected_facts\thuman\nHow long?\t72 hours.\t["72 hours"]\t{"correct": true}\n'),
    ],
)
def test_human_verdicts_in_any_shape(write: Any, name: str, text: str) -> None:
    (item,) = read_calibration(write(text, name)).value
    assert (item.human.correct, item.human.faithful, item.human.behaved) == (True, None, None)
    assert (item.question, item.answer, item.expected_facts) == ("How long?", "72 hours.", ["72 hours"])


def test_a_table_holds_contexts_groups_and_empty_answers(write: Any) -> None:
    rows = 'question,answer,context,group,label_faithful\nQ?,A.,"one, whole",7,no\nQ?,,"[""one"", ""two""]",8,no\n'
    first, second = read_calibration(write(rows, "a.csv")).value
    assert [chunk.text for chunk in first.context or ()] == ["one, whole"]
    assert [chunk.text for chunk in second.context or ()] == ["one", "two"]
    assert (first.group, second.answer, second.human.faithful) == ("7", "", False)


def test_answers_without_a_human_verdict_are_left_out(write: Any) -> None:
    loaded = read_calibration(write(json.dumps([LABELLED, ITEM])))
    assert len(loaded.value) == 1
    assert loaded.notes[0].startswith("answers without a human verdict left out: 1")


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (ITEM, "holds no answer with a human verdict"),
        (ITEM | {"human": True}, "human is True"),
        (ITEM | {"human": {"right": True}}, "human says 'right'; there are correct, faithful, behaved"),
        (ITEM | {"human_correct": "maybe"}, "the human verdict on 'correct' is 'maybe': write true or false"),
        (ITEM | {"human_correct": 0.5}, "is 0.5: write true or false"),
    ],
)
def test_human_verdicts_that_are_none(write: Any, item: dict[str, Any], said: str) -> None:
    with pytest.raises(FileError, match=said):
        read_calibration(write(json.dumps([item])))
