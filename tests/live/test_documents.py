"""Documents into a running service, with the embedder and the index it comes with."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

DOCUMENTS = [
    {"id": "limits", "text": "---\nroles: [staff]\n---\n# Limits\n\nTen devices may be connected."},
    {"id": "webhooks", "text": "# Webhooks\n\nA failed delivery is retried for 72 hours.\n\nThen it is moved."},
]


def post(url: str, collection: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/collections/{collection}/documents", json=body, timeout=60)


def test_documents_become_a_collection(service: str) -> None:
    answer = post(service, "first", documents=DOCUMENTS)
    assert answer.status_code == 200
    done = answer.json()
    assert done["documents"] == {"added": 2, "changed": 0, "unchanged": 0, "removed": 0, "skipped": []}
    described = httpx.get(f"{service}/collections/first").json()
    for key in ("chunks", "embedder", "chunking", "corpus"):
        assert described[key] == done[key]
    assert (described["chunks"], described["chunking"], described["uses_roles"]) == (2, "markdown/700/0", True)


def test_what_was_ingested_is_found(service: str) -> None:
    post(service, "found", documents=DOCUMENTS)
    question = {"id": "Q1", "question": "How long is a failed delivery retried?", "relevant": ["webhooks-chunk-1"]}
    asked = {"dataset": {"questions": [question]}, "retrieval": {"collection": "found"}, "k": [1]}
    assert httpx.post(f"{service}/retrieve-eval", json=asked).json()["metrics"]["hit_rate@1"]["value"] == 1.0


def test_the_second_time_nothing_is_written(service: str) -> None:
    first = post(service, "twice", documents=DOCUMENTS).json()
    again = post(service, "twice", documents=DOCUMENTS).json()
    assert again["documents"] == {"added": 0, "changed": 0, "unchanged": 2, "removed": 0, "skipped": []}
    assert again["corpus"] == first["corpus"]


def test_a_document_for_nobody_stays_one_the_second_time(service: str) -> None:
    document = {"id": "secret", "text": "---\nroles: []\n---\nNobody reads this."}
    post(service, "nobody", documents=[document])
    assert post(service, "nobody", documents=[document]).json()["documents"]["unchanged"] == 1
    assert httpx.get(f"{service}/collections/nobody").json()["uses_roles"] is True


def test_a_change_leaves_no_recorded_corpus_until_all_is_there(service: str) -> None:
    post(service, "more", documents=DOCUMENTS)
    assert post(service, "more", documents=[{"id": "new", "text": "New."}], more=True).json()["corpus"] is None
    assert httpx.get(f"{service}/collections/more").json()["corpus"] is None
    whole = post(service, "more", documents=[{"id": "newer", "text": "Newer."}]).json()["corpus"]
    assert httpx.get(f"{service}/collections/more").json()["corpus"] == whole is not None


def test_another_chunking_is_409(service: str) -> None:
    post(service, "conflict", documents=DOCUMENTS)
    answer = post(service, "conflict", documents=DOCUMENTS, chunking={"max_characters": 40})
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/chunking-mismatch")
    replaced = post(service, "conflict", documents=DOCUMENTS, chunking={"max_characters": 40}, replace=True)
    assert replaced.json()["chunking"] == "markdown/40/0"


@pytest.mark.parametrize(
    ("name", "body", "status", "code"),
    [
        ("docs", {"documents": []}, 422, "no-documents"),
        ("docs", {"documents": [DOCUMENTS[0], DOCUMENTS[0]]}, 422, "document-twice"),
        ("docs", {"documents": DOCUMENTS, "chunking": {"max_characters": 0}}, 400, "malformed-request"),
        ("docs", {"documents": DOCUMENTS, "chunking": {"max_characters": 5, "overlap": 5}}, 422, "overlap-too-large"),
        ("docs", {"documents": DOCUMENTS, "prun": True}, 400, "malformed-request"),
        ("docs", {"documents": [{"id": "", "text": "x"}]}, 400, "malformed-request"),
        ("no", {"documents": DOCUMENTS}, 422, "bad-collection-name"),
    ],
)
def test_what_cannot_be_done_is_said(service: str, name: str, body: dict[str, Any], status: int, code: str) -> None:
    answer = post(service, name, **body)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{code}")


def test_without_a_key_it_is_401_and_with_one_that_may_only_read_403(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_API_KEYS="ci:hunter2=evaluate,reader:hunter3=read")
    for path in ("documents", "evidence-mapping"):
        url = f"{process.url}/collections/docs/{path}"
        assert httpx.post(url, json={"documents": DOCUMENTS}).status_code == 401
        assert httpx.post(url, json={"documents": DOCUMENTS}, headers={"x-api-key": "hunter3"}).status_code == 403
    answer = httpx.post(
        f"{process.url}/collections/docs/documents", json={"documents": DOCUMENTS}, headers={"x-api-key": "hunter2"}
    )
    assert answer.status_code == 200


def test_texts_of_documents_are_not_logged(serve: Callable[..., Any]) -> None:
    process = serve()
    post(process.url, "docs", documents=DOCUMENTS)
    process.popen.terminate()
    _, lines = process.end()
    (line,) = [json.loads(line) for line in lines if json.loads(line)["event"] == "ingested"]
    assert (line["collection"], line["added"]) == ("docs", 2)
    assert not [line for line in lines if "72 hours" in line]


def test_evidence_is_mapped_to_the_chunks_of_a_collection(service: str) -> None:
    post(service, "mapped", documents=DOCUMENTS, chunking={"max_characters": 45}, replace=True)
    asked = {
        "evidence": [
            {"id": "E1", "quote": "retried  for 72 hours", "document": "webhooks"},
            {"id": "E2", "quote": "72 hours. Then it", "document": "webhooks"},
            {"id": "E3", "quote": "Ten devices", "document": "webhooks"},
            {"id": "E4", "quote": "a quarter of an hour"},
        ],
        "chunks": ["limits-chunk-1", "limits-chunk-9"],
    }
    answer = httpx.post(f"{service}/collections/mapped/evidence-mapping", json=asked).json()
    assert answer == {
        "evidence_mapping": {"E1": ["webhooks-chunk-1"], "E2": ["webhooks-chunk-1", "webhooks-chunk-2"]},
        "cut": ["E2"],
        "missing": ["E3", "E4"],
        "other_document": {"E3": "limits"},
        "missing_chunks": ["limits-chunk-9"],
    }


def test_evidence_cannot_be_mapped_to_a_collection_that_does_not_exist(service: str) -> None:
    answer = httpx.post(f"{service}/collections/none/evidence-mapping", json={"evidence": []})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-collection")


def test_a_service_can_bring_the_bundled_corpus_with_it(serve: Callable[..., Any], tmp_path: Path) -> None:
    for added in (36, 0):
        process = serve("--corpus", BEFUND_DATA_DIR=str(tmp_path))
        assert complete_collection(process.url, "teralune_corpus")["chunks"] == 115
        waits_its_turn = {"documents": [{"id": "D001", "text": " "}]}
        httpx.post(f"{process.url}/collections/other/documents", json=waits_its_turn)
        process.popen.terminate()
        code, lines = process.end()
        (logged,) = [json.loads(line) for line in lines if json.loads(line)["event"] == "corpus"]
        assert (code, logged["chunks"], logged["added"]) == (0, 115, added)


def complete_collection(url: str, name: str) -> dict[str, Any]:
    """Ask until the collection says what its corpus is; each question waits for the index."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        described: dict[str, Any] = httpx.get(f"{url}/collections/{name}").json()
        if described.get("corpus"):
            return described
    raise AssertionError(f"collection {name!r} is not complete: {described}")
