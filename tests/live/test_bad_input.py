"""What a service refuses, and how it says so: the status, the type of the problem, the place.

That bodies over the limit are refused, and media types, keys and scopes are checked, is shown in `test_serve` and in
tests/api; here those only once each, over a real connection.
"""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import httpx
import pytest

QUESTION: dict[str, Any] = {"id": "Q1", "question": "A private question?", "relevant": ["c1"]}
REQUEST: dict[str, Any] = {"dataset": {"questions": [QUESTION]}, "retrieval": {"rankings": {"Q1": ["c1", "c2"]}}}
GRADED_TWICE = {"relevant": None, "evidence": [{"id": "E1", "relevance": 1}, {"id": "E1", "relevance": 2}]}
TWO = [QUESTION, {**QUESTION, "question": "Another?"}]
NESTED = b"[" * 100_000 + b"]" * 100_000
JSON = {"content-type": "application/json"}

MALFORMED = (400, "/problems/malformed-request")
FIRST = "/dataset/questions/0"


def changed(**changes: Any) -> bytes:
    """The request with other top-level fields."""
    return json.dumps({**REQUEST, **changes}).encode()


def of_question(**changes: Any) -> bytes:
    """The request with other fields of its question; None takes a field out."""
    question = {name: value for name, value in {**QUESTION, **changes}.items() if value is not None}
    return changed(dataset={"questions": [question]})


def of_ranking(ranking: Any) -> bytes:
    return changed(retrieval={"rankings": {"Q1": ranking}})


def of_mapping(mapping: Any) -> bytes:
    return changed(dataset={"questions": [QUESTION], "evidence_mapping": mapping})


def replaced(old: str, new: bytes) -> bytes:
    """The request with a piece of its text replaced."""
    body = json.dumps(REQUEST).encode()
    assert body.count(old.encode()) == 1
    return body.replace(old.encode(), new)


@pytest.fixture(scope="module")
def caller(service: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service, timeout=120) as client:
        yield client


def refusal(caller: httpx.Client, body: bytes, *, headers: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    answer = caller.post("/retrieve-eval", content=body, headers=JSON if headers is None else headers)
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["instance"] == "/retrieve-eval"
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert problem["title"]
    assert problem["detail"]
    assert set(problem) == {"type", "title", "status", "detail", "instance", "request_id", "errors"}
    return answer.status_code, problem


def test_the_request_that_the_others_are_made_of_is_answered(service: str) -> None:
    assert httpx.post(f"{service}/retrieve-eval", json=REQUEST).status_code == 200


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        pytest.param(b'{"dataset": ', "", id="broken-json"),
        pytest.param(json.dumps(REQUEST).encode() + b"}", "", id="more-after-the-end"),
        pytest.param(replaced('"c1", "c2"', b'"c1",, "c2"'), "", id="broken-json-in-a-ranking"),
        pytest.param(b"[1]", "", id="array-instead-of-object"),
        pytest.param(b"{}", "", id="without-anything"),
        pytest.param(changed(k="5"), "/k", id="wrong-type"),
        pytest.param(changed(dataset=5), "/dataset", id="wrong-type-of-data-set"),
        pytest.param(changed(dataset="a b"), "/dataset", id="no-name-of-a-data-set"),
        pytest.param(changed(dataset={"questions": {}}), "/dataset/questions", id="questions-as-object"),
        pytest.param(of_question(question=5), f"{FIRST}/question", id="wrong-type-in-a-question"),
        pytest.param(of_question(question=None), FIRST, id="question-without-its-text"),
        pytest.param(of_question(expected_behavior="guess"), f"{FIRST}/expected_behavior", id="unknown-behaviour"),
        pytest.param(changed(ks=[5]), "", id="unknown-field"),
        pytest.param(of_question(relevents=["c1"]), FIRST, id="unknown-field-in-a-question"),
        pytest.param(of_ranking([{"id": "c1", "rank": 1}]), "/retrieval/rankings/Q1/0", id="unknown-field-in-an-entry"),
        pytest.param(changed(k=[0]), "/k/0", id="k-of-0"),
        pytest.param(changed(k=[1, 100_001]), "/k/1", id="k-of-100001"),
        pytest.param(changed(k=[1.5]), "/k/0", id="k-of-one-and-a-half"),
        pytest.param(changed(k=[]), "/k", id="no-k"),
        pytest.param(changed(k=list(range(1, 102))), "/k", id="too-many-k"),
        pytest.param(changed(confidence=1.0), "/confidence", id="confidence-of-1"),
        pytest.param(changed(relevance_level=0), "/relevance_level", id="relevance-level-of-0"),
        pytest.param(changed(run="a/b"), "/run", id="no-name-of-a-run"),
        pytest.param(replaced('["c1"]', b'{"c1": NaN}'), "", id="nan"),
        pytest.param(replaced('["c1"]', b'{"c1": 1e999}'), f"{FIRST}/relevant", id="grade-of-1e999"),
        pytest.param(replaced('["c1", "c2"]', b'{"c1": -1e999}'), "/retrieval/rankings/Q1", id="score-of-1e999"),
        pytest.param(changed(config={"x": 0}).replace(b'"x": 0', b'"x": 1e999'), "/config", id="1e999-in-config"),
        pytest.param(of_question(relevant={"c1": "high"}), f"{FIRST}/relevant", id="grade-as-text"),
        pytest.param(of_question(relevant={"c1": None}), f"{FIRST}/relevant", id="grade-of-null"),
        pytest.param(of_question(id="x" * 513), f"{FIRST}/id", id="question-id-of-513"),
        pytest.param(of_question(id=""), f"{FIRST}/id", id="empty-question-id"),
        pytest.param(of_question(relevant=["x" * 513]), f"{FIRST}/relevant/0", id="gold-id-of-513"),
        pytest.param(of_question(relevant=["c1", ""]), f"{FIRST}/relevant/1", id="empty-gold-id"),
        pytest.param(of_question(relevant={"": 1}), f"{FIRST}/relevant", id="empty-graded-id"),
        pytest.param(of_question(relevant=["c1", None]), f"{FIRST}/relevant/1", id="null-gold-id"),
        pytest.param(of_question(evidence=[{"id": None}]), f"{FIRST}/evidence/0/id", id="null-evidence-id"),
        pytest.param(of_question(non_relevant=[""]), f"{FIRST}/non_relevant/0", id="empty-false-positive"),
        pytest.param(of_ranking(["c1", "x" * 513]), "/retrieval/rankings/Q1/1", id="ranked-id-of-513"),
        pytest.param(of_ranking([""]), "/retrieval/rankings/Q1/0", id="empty-ranked-id"),
        pytest.param(of_ranking(["c1", None]), "/retrieval/rankings/Q1/1", id="null-ranked-id"),
        pytest.param(of_ranking([{"id": None}]), "/retrieval/rankings/Q1/0/id", id="null-entry-id"),
        pytest.param(of_ranking(None), "/retrieval/rankings/Q1", id="null-ranking"),
        pytest.param(of_ranking(12), "/retrieval/rankings/Q1", id="number-as-ranking"),
        pytest.param(changed(retrieval={"rankings": {"": ["c1"]}}), "/retrieval/rankings", id="empty-ranking-key"),
        pytest.param(
            changed(retrieval={"rankings": {"x" * 513: ["c1"]}}), "/retrieval/rankings", id="ranking-key-of-513"
        ),
        pytest.param(
            changed(retrieval={"rankings": {"Q1": ["c1"], "a/b~c": [5]}}),
            "/retrieval/rankings/a~1b~0c/0",
            id="broken-ranking-of-an-unknown-question",
        ),
        pytest.param(of_mapping({"E1": "c1"}), "/dataset/evidence_mapping", id="mapping-to-one-chunk"),
        pytest.param(of_mapping({"E1": [None]}), "/dataset/evidence_mapping", id="mapping-to-null"),
        pytest.param(changed(index_chunk_ids=["c1", None]), "/index_chunk_ids/1", id="null-in-the-index"),
        pytest.param(NESTED, "", id="nested-brackets"),
        pytest.param(b"[" * 100_000, "", id="nested-brackets-never-closed"),
        pytest.param(replaced('["c1", "c2"]', NESTED), "", id="nested-brackets-in-rankings"),
        pytest.param(changed(config={"x": 0}).replace(b": 0", b": " + NESTED), "", id="nested-in-config"),
        pytest.param(of_question(metadata={"x": 0}).replace(b'"x": 0', b'"x": ' + NESTED), "", id="nested-in-metadata"),
        pytest.param(replaced('"retrieval"', b'"retrieval\xff"'), "", id="invalid-utf-8-in-a-field"),
        pytest.param(replaced('{"Q1"', b'{"Q1\xff"'), "/retrieval/rankings", id="invalid-utf-8-in-a-ranking-key"),
        pytest.param(replaced('"c2"', b'"c2\xff"'), "/retrieval/rankings/Q1", id="invalid-utf-8-in-a-ranking"),
        pytest.param(replaced("private", b"\xc3\x28"), FIRST, id="invalid-utf-8-in-a-question"),
        pytest.param(replaced("private", b"\xed\xa0\x80"), FIRST, id="surrogate-in-a-question"),
        pytest.param(replaced("private", b"\\ud800"), f"{FIRST}/question", id="half-an-escaped-surrogate"),
        pytest.param(
            replaced('"relevant"', b'"relevant": ["c9"], "relevant"'), f"{FIRST}/relevant", id="relevant-twice"
        ),
        pytest.param(
            replaced('"questions"', b'"questions": [], "questions"'), "/dataset/questions", id="questions-twice"
        ),
        pytest.param(replaced('"dataset"', b'"dataset": "a", "dataset"'), "/dataset", id="dataset-twice"),
        pytest.param(replaced('"retrieval"', b'"retrieval": {}, "retrieval"'), "/retrieval", id="retrieval-twice"),
        pytest.param(replaced('"rankings"', b'"rankings": {}, "rankings"'), "/retrieval/rankings", id="rankings-twice"),
        pytest.param(changed(k=[1]).replace(b'"k"', b'"k": [5], "k"'), "/k", id="k-twice"),
        pytest.param(changed(config={"x": 0}).replace(b'"x"', b'"x": 1, "x"'), "/config/x", id="key-of-config-twice"),
        pytest.param(
            of_question(metadata={"x": 0}).replace(b'"x"', b'"x": 1, "x"'),
            f"{FIRST}/metadata/x",
            id="key-of-metadata-twice",
        ),
        pytest.param(
            of_ranking([{"id": "c1"}]).replace(b'"id": "c1"', b'"id": "c1", "id": "c2"'),
            "/retrieval/rankings/Q1/0/id",
            id="id-of-an-entry-twice",
        ),
        pytest.param(json.dumps(REQUEST).encode("utf-16"), "", id="utf-16"),
        pytest.param(b"\xef\xbb\xbf" + json.dumps(REQUEST).encode(), "", id="byte-order-mark"),
    ],
)
@pytest.mark.parametrize("per_question", [True, False])
def test_what_does_not_decode_is_400(caller: httpx.Client, body: bytes, pointer: str, per_question: bool) -> None:
    if not per_question:
        body = body.replace(b'{"dataset"', b'{"per_question": false, "dataset"', 1)
    status, problem = refusal(caller, body)
    assert (status, problem["type"]) == MALFORMED
    assert [place["pointer"] for place in problem["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("body", "expected", "pointer"),
    [
        pytest.param(
            replaced('["c1"]', b'{"c1": 1, "c1": 2}'),
            "422 given-twice",
            f"{FIRST}/relevant/c1",
            id="gold-graded-twice",
        ),
        pytest.param(
            of_question(**GRADED_TWICE), "422 graded-twice", f"{FIRST}/evidence/1", id="evidence-graded-twice"
        ),
        pytest.param(
            of_question(evidence=[{"id": "E1"}]),
            "422 gold-given-twice",
            f"{FIRST}/relevant",
            id="evidence-and-relevant",
        ),
        pytest.param(
            of_question(non_relevant=["c1"]), "422 relevant-and-not", f"{FIRST}/non_relevant/0", id="relevant-and-not"
        ),
        pytest.param(changed(dataset={"questions": []}), "422 empty-dataset", "/dataset/questions", id="no-questions"),
        pytest.param(
            changed(dataset={"questions": TWO}),
            "422 question-twice",
            "/dataset/questions/1/id",
            id="question-id-twice",
        ),
        pytest.param(
            replaced('{"Q1"', b'{"Q1": ["c9"], "Q1"'), "422 given-twice", "/retrieval/rankings/Q1", id="ranking-twice"
        ),
        pytest.param(
            replaced('["c1", "c2"]', b'{"c1": 1, "c1": 2}'),
            "422 given-twice",
            "/retrieval/rankings/Q1/c1",
            id="score-twice",
        ),
        pytest.param(
            of_mapping({"E1": 0}).replace(b'"E1": 0', b'"E1": [], "E1": ["c1"]'),
            "422 given-twice",
            "/dataset/evidence_mapping/E1",
            id="evidence-mapped-twice",
        ),
        pytest.param(
            changed(retrieval={"rankings": {"Q9": ["c1"]}}),
            "422 no-known-question",
            "/retrieval/rankings",
            id="rankings-for-unknown-questions-only",
        ),
        pytest.param(
            changed(retrieval={"rankings": {}, "collection": "docs"}),
            "422 rankings-or-collection",
            "/retrieval",
            id="rankings-and-collection",
        ),
        pytest.param(changed(retrieval={}), "422 rankings-or-collection", "/retrieval", id="no-rankings-no-collection"),
        pytest.param(changed(metrics=["accuracy"]), "422 unknown-metric", "/metrics", id="unknown-metric"),
        pytest.param(changed(tags=["none"]), "422 nothing-selected", "/tags", id="tag-of-no-question"),
        pytest.param(changed(split="none"), "422 nothing-selected", "/split", id="split-of-no-question"),
        pytest.param(changed(dataset="nowhere"), "404 unknown-dataset", None, id="unknown-data-set"),
        pytest.param(
            changed(retrieval={"collection": "docs"}), "404 unknown-collection", None, id="unknown-collection"
        ),
    ],
)
@pytest.mark.parametrize("per_question", [True, False])
def test_what_cannot_be_carried_out_says_why(
    caller: httpx.Client, body: bytes, expected: str, pointer: str | None, per_question: bool
) -> None:
    if not per_question:
        body = body.replace(b'{"dataset"', b'{"per_question": false, "dataset"', 1)
    status, problem = refusal(caller, body)
    assert f"{status} {problem['type']}" == expected.replace(" ", " /problems/")
    assert [place["pointer"] for place in problem["errors"]] == ([] if pointer is None else [pointer])


def test_a_question_with_a_wrong_type_is_named_among_many(caller: httpx.Client) -> None:
    questions = [{**deepcopy(QUESTION), "id": f"Q{number}"} for number in range(300)]
    questions[257]["relevant"] = [7]
    status, problem = refusal(caller, changed(dataset={"questions": questions}, per_question=False))
    assert status == 400
    assert problem["errors"][0]["pointer"] == "/dataset/questions/257/relevant/0"


def test_the_service_goes_on_after_all_that(service: str) -> None:
    assert httpx.get(f"{service}/healthz").status_code == 200
    assert httpx.post(f"{service}/retrieve-eval", json=REQUEST).status_code == 200


def test_another_media_type_is_415(caller: httpx.Client) -> None:
    status, problem = refusal(caller, json.dumps(REQUEST).encode(), headers={"content-type": "text/csv"})
    assert (status, problem["type"]) == (415, "/problems/unsupported-media-type")


@pytest.fixture
def guarded(serve: Callable[..., Any]) -> Iterator[httpx.Client]:
    """A service with a key for each scope and a small limit."""
    keys = "ci:ci-secret=evaluate,dashboard:dash-secret=read"
    with httpx.Client(base_url=serve(BEFUND_API_KEYS=keys, BEFUND_MAX_BODY_BYTES="1000").url) as client:
        yield client


def test_keys_scopes_and_the_limit(guarded: httpx.Client) -> None:
    body = json.dumps(REQUEST).encode()
    long = body + b" " * 1000
    with_key = {**JSON, "x-api-key": "ci-secret"}
    found = [
        refusal(guarded, body),
        refusal(guarded, body, headers={**JSON, "x-api-key": "wrong"}),
        refusal(guarded, body, headers={**JSON, "authorization": "Bearer dash-secret"}),
        refusal(guarded, long, headers=with_key),
    ]
    assert [(status, problem["type"]) for status, problem in found] == [
        (401, "/problems/unauthorized"),
        (401, "/problems/unauthorized"),
        (403, "/problems/forbidden"),
        (413, "/problems/body-too-large"),
    ]
    assert guarded.post("/retrieve-eval", content=body, headers=with_key).status_code == 200
