import json
from pathlib import Path
from typing import Any

import pytest

from befund.contract import ChunkingOptions, IngestDocument, QuotedEvidence, SkippedDocument
from befund_client import ConflictError, NotFoundError, read_dataset

from .conftest import Ask, Reply, Service, problem


def ingested(**documents: Any) -> dict[str, Any]:
    """Build an answer of POST /collections/{name}/documents."""
    return {
        "collection": "docs",
        "documents": {"added": 0, "changed": 0, "unchanged": 0, "removed": 0, "skipped": [], **documents},
        "chunks": 7,
        "embedder": "e/2",
        "chunking": "markdown/700/0",
        "corpus": None,
    }


def bodies(service: Service) -> list[dict[str, Any]]:
    return [json.loads(asked.body) for asked in service.asked]


FIVE = [{"id": f"D{number}", "text": "x" * 1_600_000} for number in range(1, 6)]
"""Two fit into a request."""


def test_documents_are_sent_and_the_answer_is_typed(service: Service, ask: Ask) -> None:
    service.plays(Reply(body=ingested(added=2, skipped=[{"id": "D9", "reason": "it has no text"}])))
    documents = [IngestDocument(id="D1", text="A."), {"id": "D2", "text": "B.", "metadata": {"roles": ["staff"]}}]
    answer = ask("ingest", "my docs", documents, chunking=ChunkingOptions(max_characters=400))
    assert answer.documents.added == 2
    assert answer.documents.skipped == [SkippedDocument(id="D9", reason="it has no text")]
    assert service.asked[0].path == "/collections/my%20docs/documents"
    assert bodies(service) == [
        {
            "documents": [
                {"id": "D1", "text": "A."},
                {"id": "D2", "text": "B.", "metadata": {"roles": ["staff"]}},
            ],
            "chunking": {"max_characters": 400},
        }
    ]


def test_many_documents_go_in_several_requests_whose_answers_add_up(service: Service, ask: Ask) -> None:
    service.plays(
        Reply(body=ingested(added=2)),
        Reply(body=ingested(changed=1, skipped=[{"id": "D4", "reason": "it has no text"}])),
        Reply(body=ingested(unchanged=1, removed=3) | {"chunks": 9, "corpus": "sha256:x"}),
    )
    done: list[int] = []
    answer = ask("ingest", "docs", FIVE, progress=done.append)
    assert done == [2, 2, 1]
    counts = answer.documents
    assert (counts.added, counts.changed, counts.unchanged, counts.removed) == (2, 1, 1, 3)
    assert [skipped.id for skipped in counts.skipped] == ["D4"]
    assert (answer.chunks, answer.corpus) == (9, "sha256:x")
    sent = [([document["id"] for document in body["documents"]], body.get("more", False)) for body in bodies(service)]
    assert sent == [(["D1", "D2"], True), (["D3", "D4"], True), (["D5"], False)]


def test_pruning_is_for_the_last_request_which_keeps_what_came_before(service: Service, ask: Ask) -> None:
    service.plays(Reply(body=ingested()))
    ask("ingest", "docs", FIVE, prune=True)
    *before, last = bodies(service)
    assert [body.get("prune") for body in before] == [None, None]
    assert (last["prune"], last["keep"]) == (True, ["D1", "D2", "D3", "D4"])


def test_replacing_is_for_the_first_request_and_pruning_for_the_last(service: Service, ask: Ask) -> None:
    service.plays(Reply(body=ingested()))
    ask("ingest", "docs", FIVE, replace=True)
    first, middle, last = bodies(service)
    assert (first["replace"], first["more"]) == (True, True)
    assert "replace" not in middle | last
    assert (last["prune"], last["keep"]) == (True, ["D1", "D2", "D3", "D4"])


def test_large_documents_go_in_requests_of_a_bounded_size(service: Service, ask: Ask) -> None:
    service.plays(Reply(body=ingested()))
    megabytes = [3, 2, 1, 5, 1]
    ask("ingest", "docs", [{"id": f"D{n}", "text": "x" * (size << 20)} for n, size in enumerate(megabytes)])
    assert [[document["id"] for document in body["documents"]] for body in bodies(service)] == [
        ["D0"],
        ["D1", "D2"],
        ["D3"],
        ["D4"],
    ]


def test_small_documents_go_in_requests_of_a_bounded_number(service: Service, ask: Ask) -> None:
    service.plays(Reply(body=ingested()))
    ask("ingest", "docs", [{"id": f"D{n}", "text": "x"} for n in range(1_001)])
    assert [len(body["documents"]) for body in bodies(service)] == [1_000, 1]


def test_no_documents_are_one_request_so_that_the_service_says_what_that_means(service: Service, ask: Ask) -> None:
    service.plays(Reply(body=ingested(removed=1)))
    assert ask("ingest", "docs", [], prune=True).documents.removed == 1
    assert bodies(service) == [{"documents": [], "prune": True, "keep": []}]


def test_an_id_given_twice_is_refused(service: Service, ask: Ask) -> None:
    with pytest.raises(ValueError, match="'D1' is given twice"):
        ask("ingest", "docs", [{"id": "D1", "text": "One."}, {"id": "D1", "text": "Other."}])
    assert service.asked == []


@pytest.mark.parametrize("document", [{"id": "D1"}, {"id": "", "text": "x"}, {"id": 1, "text": "x"}, "D1"])
def test_what_is_no_document_is_refused(service: Service, ask: Ask, document: Any) -> None:
    with pytest.raises(TypeError, match="not a document"):
        ask("ingest", "docs", [document])
    assert service.asked == []


def test_another_chunking_is_a_conflict(service: Service, ask: Ask) -> None:
    service.plays(Reply(409, problem(409)))
    with pytest.raises(ConflictError):
        ask("ingest", "docs", FIVE)


def test_evidence_is_mapped(service: Service, ask: Ask) -> None:
    service.plays(
        Reply(
            body={
                "evidence_mapping": {"E1": ["D1-chunk-1"]},
                "cut": [],
                "missing": [],
                "other_document": {},
                "missing_chunks": ["gone"],
            }
        )
    )
    answer = ask("map_evidence", "docs", [QuotedEvidence(id="E1", quote="Text")], chunks=["gone"])
    assert answer.evidence_mapping == {"E1": ["D1-chunk-1"]}
    assert answer.missing_chunks == ["gone"]
    assert service.asked[0].path == "/collections/docs/evidence-mapping"
    assert bodies(service) == [{"evidence": [{"id": "E1", "quote": "Text"}], "chunks": ["gone"]}]


def test_the_evidence_of_a_data_set_is_mapped(ask: Ask, service: Service, tmp_path: Path) -> None:
    evidence = [{"id": "E1", "quote": "ten devices", "document": "limits"}, {"id": "E2"}]
    (tmp_path / "set.json").write_text(json.dumps([{"id": "Q1", "question": "?", "evidence": evidence}]))
    loaded = read_dataset(tmp_path / "set.json")
    for given in (loaded, loaded.value):
        service.plays(Reply(404, problem(404, "There is none.")))
        with pytest.raises(NotFoundError):
            ask("map_evidence", "docs", given)
        assert json.loads(service.asked[-1].body) == {"evidence": evidence[:1]}


@pytest.mark.parametrize("given", [["E1"], [{"id": "E1"}], 7])
def test_what_is_no_evidence_is_said(ask: Ask, given: Any) -> None:
    with pytest.raises(TypeError, match="evidence is a data set or a list of QuotedEvidence"):
        ask("map_evidence", "docs", given)
