"""Stored data sets and runs: what the verbs send and read."""

import json
from typing import Any

import pytest

from befund.cli import main
from befund.contract import Dataset, Question
from befund_client import ConflictError, NotFoundError

from .conftest import ESTIMATE, Ask, Reply, Service, problem

VERSION = {
    "version": "sha256:1",
    "questions_hash": "sha256:2",
    "mapping_hash": "sha256:3",
    "generated": False,
    "questions": 1,
    "splits": {},
    "behaviors": {"answer": 1},
    "content": "full",
    "created": "2026-11-30T10:00:00Z",
}
LISTING = {
    "name": "main",
    "dataset": {"name": "mine", "version": VERSION},
    "fingerprint": "sha256:4",
    "questions": 1,
    "created": "2026-11-30T10:00:00Z",
    "updated": "2026-11-30T11:00:00Z",
}
RUN = LISTING | {
    "rates": {},
    "correct_by_faithful": {},
    "behavior": {},
    "metrics": {"mrr@1": ESTIMATE},
    "diagnoses": {},
    "causes": {},
    "usage": {},
    "timings": {},
    "config": {"chunking": "md/700"},
    "measured": {"level": "chunk"},
    "records": [{"question_id": "Q1", "question_hash": "sha256:5", "retrieval": None}],
    "next": "0",
}
QUESTION = {"id": "Q1", "question": "?", "relevant": ["a"]}


@pytest.mark.parametrize(
    ("verb", "arguments", "keywords", "method", "path"),
    [
        ("dataset", ["mine@sha256:1"], {}, "GET", "/datasets/mine@sha256:1"),
        ("datasets", [], {}, "GET", "/datasets"),
        ("delete_dataset", ["mine"], {}, "DELETE", "/datasets/mine"),
        ("runs", [], {}, "GET", "/runs?limit=50"),
        ("runs", [], {"limit": 2, "cursor": "1-2"}, "GET", "/runs?limit=2&cursor=1-2"),
        ("run", ["main"], {"limit": 0}, "GET", "/runs/main?limit=0"),
        ("run", ["pr.42"], {"cursor": "99"}, "GET", "/runs/pr%2E42?limit=100&cursor=99"),
        ("delete_run", ["main"], {}, "DELETE", "/runs/main"),
        ("delete_question", ["main", "a/b%2F .."], {}, "DELETE", "/runs/main/questions/a%2Fb%252F%20%2E%2E"),
        ("export_run", ["main"], {}, "GET", "/runs/main/bundle"),
    ],
)
def test_a_verb_asks_by_path(
    ask: Ask, service: Service, verb: str, arguments: list[str], keywords: dict[str, Any], method: str, path: str
) -> None:
    service.plays(Reply(404, problem(404, "there is none")))
    with pytest.raises(NotFoundError, match="there is none"):
        ask(verb, *arguments, **keywords)
    assert [(asked.method, asked.path) for asked in service.asked] == [(method, path)]


@pytest.mark.parametrize(
    "dataset",
    [
        {"questions": [QUESTION]},
        Dataset(questions=[Question(id="Q1", question="?", relevant=["a"])]),
    ],
)
def test_a_data_set_is_put(ask: Ask, service: Service, dataset: Any) -> None:
    service.plays(Reply(201, {"name": "mine", "created": True, "version": VERSION}))
    answer = ask("put_dataset", "mine", dataset)
    assert (answer.created, answer.version.version) == (True, "sha256:1")
    assert (service.asked[0].method, service.asked[0].path) == ("PUT", "/datasets/mine")
    assert json.loads(service.asked[0].body) == {"questions": [QUESTION]}


def test_a_data_set_is_read(ask: Ask, service: Service) -> None:
    service.plays(Reply(body={"questions": [QUESTION], "generated": False}))
    assert ask("dataset", "mine").questions[0].relevant == ["a"]


def test_data_sets_are_listed(ask: Ask, service: Service) -> None:
    service.plays(Reply(body={"datasets": [{"name": "mine", "versions": [VERSION]}]}))
    assert ask("datasets").datasets[0].versions[0].created.year == 2026


def test_what_a_deletion_leaves_is_told(ask: Ask, service: Service) -> None:
    service.plays(Reply(body={"name": "mine", "versions": ["sha256:1"], "kept_for_runs": ["sha256:1"]}))
    assert ask("delete_dataset", "mine").kept_for_runs == ["sha256:1"]


def test_runs_are_listed(ask: Ask, service: Service) -> None:
    service.plays(Reply(body={"runs": [LISTING], "next": "1-2"}))
    page = ask("runs")
    assert (page.runs[0].name, page.next) == ("main", "1-2")


def test_a_run_is_read(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=RUN))
    run = ask("run", "main")
    assert (run.metrics["mrr@1"].value, run.records[0].question_id, run.next) == (0.75, "Q1", "0")


@pytest.mark.parametrize(("verb", "arguments"), [("delete_run", ["main"]), ("delete_question", ["main", "Q1"])])
def test_a_deletion_answers_nothing(ask: Ask, service: Service, verb: str, arguments: list[str]) -> None:
    service.plays(Reply(204))
    assert ask(verb, *arguments) is None


def test_a_run_goes_from_service_to_service_as_bytes(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=b'{"befund_bundle":1}\n'))
    bundle = ask("export_run", "main")
    service.plays(Reply(body={"name": "copy", "questions": 1, "dataset_version": "sha256:1"}))
    assert ask("import_run", "copy", bundle).questions == 1
    sent = service.asked[-1]
    assert (sent.method, sent.path, sent.body) == ("PUT", "/runs/copy/bundle", b'{"befund_bundle":1}\n')
    assert sent.headers["content-type"] == "application/x-ndjson"


def test_a_run_that_differs_is_a_conflict_unless_it_is_replaced(ask: Ask, service: Service) -> None:
    service.plays(Reply(409, problem(409)))
    with pytest.raises(ConflictError):
        ask("import_run", "main", b"{}", replace_run=True)
    assert service.asked[0].path == "/runs/main/bundle?replace_run=true"


def test_a_shown_run_says_its_level_what_it_left_out_and_nothing_of_intervals_it_has_not(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = {"mrr@1": ESTIMATE | {"ci": None, "n": 4, "attempted": 4, "method": "too_few"}}
    service.plays(Reply(body=RUN | {"questions": 6, "metrics": metrics, "measured": {"level": "evidence"}}))
    assert main(["runs", "show", "main", "--url", service.url]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Run main: 6 questions, 4 eligible for retrieval\n")
    assert "\nMetrics by evidence\n" in out
    assert "interval" not in out
