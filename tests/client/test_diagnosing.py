"""Diagnosing answers: what the verbs send and read, the files cases come in, and the commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from befund.cli import main
from befund_client import DiagnoseItem, FileError, read_cases

from .conftest import Ask, Reply, Service, problem
from .test_judging import JUDGMENT, SUMMARY

CAUSE = {"code": "RANKED_BELOW_K", "detail": "g1 is at rank 9, top_k is 5", "confidence": "measured", "rank": 9}
STAGES = [
    {"stage": "ground_truth", "state": "ok"},
    {"stage": "mapping", "state": "ok"},
    {"stage": "index", "state": "ok", "chunk": "g1"},
    {"stage": "filter", "state": "ok"},
    {"stage": "ranking", "state": "failed", "detail": "g1 is at rank 9, top_k is 5", "rank": 9, "k": 5},
    {"stage": "context", "state": "skipped"},
    {"stage": "answer", "state": "failed"},
    {"stage": "support", "state": "ok"},
]
DIAGNOSIS: dict[str, Any] = {
    "diagnosis": "RETRIEVAL_FAILURE",
    "evidence_present": False,
    "answer_correct": False,
    "faithful": True,
    "evidence": [{"id": "E1", "chunks": ["g1"], "in_context": False, "by": "text"}],
    "cause": CAUSE,
    "contributing": [],
    "stages": STAGES,
    "next_step": "Raise top_k to 9 or more.",
    "judgment": JUDGMENT | {"correct": False},
    "question_id": "Q1",
    "facts": [{"fact": "72 hours", "in_context": False, "chunk": None, "passage": None}],
    "notes": ["Review the gold."],
    "a_newer_field": 1,
}
RIGHT = DIAGNOSIS | {"diagnosis": "SUCCESS", "answer_correct": True, "cause": None, "next_step": None, "notes": []}
MISREAD = DIAGNOSIS | {
    "diagnosis": "GENERATION_FAILURE",
    "cause": {"code": "MISREAD", "detail": "it says otherwise", "confidence": "inferred"},
    "next_step": "Ask for a quote.",
}
ITEM = {"question": "How long?", "answer": "24 hours.", "expected_facts": ["72 hours"], "retrieved": ["x", "g1"]}


def batch(*diagnoses: dict[str, Any] | None) -> dict[str, Any]:
    results = [
        {"index": i, "diagnosis": each, "problem": None if each else problem(503)} for i, each in enumerate(diagnoses)
    ]
    return {"results": results, "summary": SUMMARY}


@pytest.mark.parametrize("item", [ITEM, DiagnoseItem(**ITEM)])  # type: ignore[arg-type]
def test_one_case(service: Service, ask: Ask, item: Any) -> None:
    service.plays(Reply(body=DIAGNOSIS))
    found = ask("diagnose", item, collection="docs", top_k=5, run=None)
    assert (found.diagnosis, found.cause.code, found.cause.rank) == ("RETRIEVAL_FAILURE", "RANKED_BELOW_K", 9)
    assert (found.stages[4].rank, found.stages[4].k, found.stages[5].rank) == (9, 5, None)
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", "/diagnose")
    assert json.loads(asked.body) == ITEM | {"collection": "docs", "top_k": 5}


def test_many_cases(service: Service, ask: Ask) -> None:
    service.plays(Reply(body=batch(DIAGNOSIS, None)))
    found = ask("diagnose_batch", [ITEM, ITEM], where={"version": "3.0"}, max_cost_usd=1.0)
    assert [each.problem is None for each in found.results] == [True, False]
    sent = json.loads(service.asked[0].body)
    assert (len(sent["items"]), sent["where"], sent["max_cost_usd"]) == (2, {"version": "3.0"}, 1.0)


def test_what_cannot_be_sent_is_refused_before(service: Service, ask: Ask) -> None:
    with pytest.raises(TypeError, match="diagnose has no option 'k'"):
        ask("diagnose", ITEM, k=5)
    with pytest.raises(ValueError, match="1001 answers are too many"):
        ask("diagnose_batch", [ITEM] * 1_001)
    assert service.asked == []


@pytest.fixture
def cases(tmp_path: Path) -> str:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([ITEM | {"question_id": name} for name in ("Q1", "Q2", "Q3")]))
    return str(path)


def test_cases_are_read_with_what_a_diagnosis_looks_at(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    gold = {"evidence": [{"id": "E1", "quote": "for 72 hours"}], "evidence_mapping": {"E1": ["g1"]}}
    path.write_text(json.dumps({**ITEM, **gold, "where": {"version": "3.0"}, "kind": "wrong"}))
    loaded = read_cases(path)
    (case,) = loaded.value
    assert (case.retrieved, case.where, case.evidence_mapping) == (["x", "g1"], {"version": "3.0"}, {"E1": ["g1"]})
    assert loaded.notes == ("unknown field 'kind' ignored: 1 (first: the whole)",)


def test_a_file_without_an_answer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text('{"question": "How long?"}')
    with pytest.raises(FileError, match="holds no answers"):
        read_cases(path)


def test_one_case_is_shown_with_its_stages(service: Service, cases: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=batch(DIAGNOSIS)))
    assert main(["diagnose", cases, "--question", "Q1", "--top-k", "5", "--url", service.url]) == 0
    said = capsys.readouterr().out
    assert "Q1: RETRIEVAL_FAILURE\n  answer: 24 hours." in said
    assert "cause: RANKED_BELOW_K, measured: g1 is at rank 9, top_k is 5" in said
    assert "next: Raise top_k to 9 or more, or rerank" in said
    assert "ranking        FAILED   g1 is at rank 9, top_k is 5" in said
    assert "note: Review the gold." in said
    assert len(json.loads(service.asked[0].body)["items"]) == 1


def test_a_file_is_shown_worst_first(service: Service, cases: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=batch(RIGHT, MISREAD, DIAGNOSIS)))
    assert main(["diagnose", cases, "--url", service.url]) == 0
    said = capsys.readouterr().out
    assert (
        "3 answers: 3 diagnosed, 0 failed\n      1 RETRIEVAL_FAILURE\n      1 GENERATION_FAILURE\n      1 SUCCESS"
        in said
    )
    assert said.index("Q3  RETRIEVAL_FAILURE") < said.index("Q2  GENERATION_FAILURE")
    assert "1 MISREAD: Q2\n    Let the prompt ask for a quote" in said


def test_what_failed_is_said(service: Service, cases: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=batch(RIGHT, RIGHT, None)))
    assert main(["diagnose", cases, "--url", service.url]) == 3
    assert "Not diagnosed: 1 answer\n  Q3: what is wrong" in capsys.readouterr().out


def test_json_is_the_response(service: Service, cases: str, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=batch(RIGHT, RIGHT, RIGHT)))
    command = [
        "diagnose",
        cases,
        "--where",
        '{"version": "3.0"}',
        "--collection",
        "docs",
        "--url",
        service.url,
        "--json",
    ]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["diagnosis"]["diagnosis"] == "SUCCESS"
    sent = json.loads(service.asked[0].body)
    assert (sent["where"], sent["collection"]) == ({"version": "3.0"}, "docs")


def test_a_data_set_in_a_file_completes_the_cases(service: Service, cases: str, tmp_path: Path) -> None:
    dataset = tmp_path / "questions.json"
    questions = [
        {"id": f"Q{i}", "question": "?", "expected_facts": ["x"], "split": "smoke", "evidence": [{"id": f"E{i}"}]}
        for i in (1, 2, 3)
    ]
    dataset.write_text(json.dumps({"questions": questions, "evidence_mapping": {"E1": ["g1"]}}))
    service.plays(Reply(body=batch(RIGHT, RIGHT, RIGHT)))
    assert main(["diagnose", cases, "--dataset", str(dataset), "--split", "smoke", "--url", service.url]) == 0
    sent = json.loads(service.asked[0].body)["items"]
    assert [item["evidence_mapping"] for item in sent] == [{"E1": ["g1"]}, {}, {}]
    assert (sent[0]["question"], sent[0]["evidence"][0]["id"]) == ("How long?", "E1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--question", "Q9"], "no answer in the file is to question 'Q9'"),
        (["--split", "smoke"], "--split goes with --dataset"),
        (["--mapping", "m.json"], "--mapping goes with a data set that is a file"),
    ],
)
def test_what_cannot_be_is_refused(
    cases: str, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", cases, "--url", "http://127.0.0.1:9", *options]) == 3
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("option", "value"), [("--where", "[1]"), ("--where", "x"), ("--top-k", "0")])
def test_an_option_that_cannot_be_used_is_a_usage_error(cases: str, option: str, value: str) -> None:
    with pytest.raises(SystemExit):
        main(["diagnose", cases, option, value])
