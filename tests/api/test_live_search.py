"""POST /retrieve-eval with a collection in place of rankings, over a real index in a folder."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from befund.adapters.chroma import ChromaIndex, EmbeddedChroma
from befund.adapters.embedding import StaticEmbedder
from befund.app import create_app
from befund.ports import EmbedderIdentity, IndexedChunk
from befund.settings import Settings

from .conftest import KEYS

pytestmark = pytest.mark.anyio

TEXTS = {
    "webhooks": "Failed webhooks are retried for 72 hours.",
    "keys": "An API key with the scope ingest may send data.",
    "plans": "The starter plan holds ten devices.",
    "weather": "It rains a lot in Hamburg in November.",
    "more-webhooks": "Orbit retries a webhook that failed during 72\n hours.",
}
WEBHOOKS = {"id": "Q1", "question": "How long are failed webhooks retried?", "relevant": ["webhooks"]}
KEY_SCOPE = {"id": "Q2", "question": "Which scope lets an API key send data?", "relevant": ["keys"]}

Metadata = dict[str, dict[str, Any]]


async def fill(
    folder: Path, *, metadata: Metadata | None = None, embedder: EmbedderIdentity | None = None, texts: Any = None
) -> None:
    """Make the collection `corpus` before the service opens the folder."""
    static, embedded = StaticEmbedder(), EmbeddedChroma(folder / "chroma")
    embedded.open()
    index = ChromaIndex(embedded)
    written = TEXTS if texts is None else texts
    identity = embedder or await static.identity()
    await index.create("corpus", embedder=identity, chunking="markdown/700/0", corpus="sha256:abc")
    chunks = [IndexedChunk(id_, text, (metadata or {}).get(id_, {})) for id_, text in written.items()]
    vectors = await static.embed([text or "a text" for text in written.values()])
    await index.write("corpus", chunks, vectors[:, : identity.dimension])
    await index.close()
    await static.close()


@asynccontextmanager
async def running(settings: Settings, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """The service between its start and its end, once it is ready."""
    app: Any = create_app(settings, **options)
    async with (
        app.app.lifespan(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://befund") as client,
        asyncio.timeout(60),
    ):
        while "index-opening" in (await client.get("/readyz")).text:  # noqa: ASYNC110 - told by asking only
            await asyncio.sleep(0.01)
        yield client


Live = Callable[..., Any]


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """Fills the collection and runs the service."""

    @asynccontextmanager
    async def start(**options: Any) -> AsyncIterator[httpx.AsyncClient]:
        await fill(tmp_path, **options)
        async with running(Settings(data_dir=tmp_path)) as client:
            yield client

    return start


def body(*questions: dict[str, Any], retrieval: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return {
        "dataset": {"questions": list(questions or (WEBHOOKS, KEY_SCOPE))},
        "retrieval": {"collection": "corpus", "top_k": 3, **(retrieval or {})},
        "k": [1, 3],
        **options,
    }


async def ask(client: httpx.AsyncClient, request: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post("/retrieve-eval", json=request)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def refused(client: httpx.AsyncClient, request: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post("/retrieve-eval", json=request)
    document: dict[str, Any] = answer.json()
    assert document["status"] == answer.status_code
    return document


def findings(answer: dict[str, Any]) -> dict[str, Any]:
    return {finding["code"]: finding for finding in answer["findings"]}


async def test_questions_are_searched_for_and_measured(live: Live) -> None:
    async with live() as client:
        answer = await ask(client, body())
    assert answer["metrics"]["hit_rate@1"]["value"] == 1.0
    first = answer["per_question"][0]
    assert first["retrieved"][:2] == ["webhooks", "more-webhooks"]
    assert (first["returned"], first["first_relevant_rank"], first["unjudged"]) == (3, 1, 2)
    assert answer["questions"]["excluded"]["index"] == []
    assert answer["questions"]["missing_from_run"] == []
    assert answer["timings"].keys() == {"embed_ms", "search_ms", "score_ms"}
    assert all(milliseconds > 0 for milliseconds in answer["timings"].values())
    assert findings(answer).keys() == {"SMALL_SAMPLE"}


def databases_below(folder: Path) -> bytes:
    """Every database there; not Chroma's vector files, whose unused bytes are whatever its memory held before."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.suffix != ".bin" and path.is_file())


async def test_under_ids_the_index_keeps_no_texts_and_is_searched_all_the_same(tmp_path: Path) -> None:
    documents = {"documents": [{"id": id_, "text": text} for id_, text in TEXTS.items()]}
    evidence = {"evidence": [{"id": "E1", "quote": "72 hours"}]}
    async with running(Settings(data_dir=tmp_path, store_content="ids")) as client:
        assert (await client.post("/collections/corpus/documents", json=documents)).json()["chunks"] == 5
        answer = await ask(client, body(WEBHOOKS | {"relevant": ["webhooks-chunk-1"]}))
        mapped = await client.post("/collections/corpus/evidence-mapping", json=evidence)
    assert answer["metrics"]["hit_rate@1"]["value"] == 1.0
    assert (mapped.status_code, mapped.json()["type"].rpartition("/")[2]) == (422, "no-texts")
    stored = databases_below(tmp_path)
    assert b"webhooks-chunk-1" in stored
    assert b"Failed webhooks are retried" not in stored


async def test_an_evidence_id_with_two_quotes_is_refused(live: Live) -> None:
    first, second = {"id": "E1", "quote": "72 hours"}, {"id": "E1", "quote": "ten devices"}
    async with live() as client:
        answer = await client.post("/collections/corpus/evidence-mapping", json={"evidence": [first, first, second]})
        same = await client.post("/collections/corpus/evidence-mapping", json={"evidence": [first, first]})
    assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (422, "evidence-twice")
    assert answer.json()["errors"][0]["pointer"] == "/evidence/2/id"
    assert same.status_code == 200


async def test_the_figures_are_those_of_the_same_rankings_sent(live: Live) -> None:
    async with live() as client:
        searched = await ask(client, body())
        rankings = {each["id"]: each["retrieved"] for each in searched["per_question"]}
        sent = await ask(
            client,
            {**body(), "retrieval": {"rankings": rankings}, "index_chunk_ids": list(TEXTS)},
        )
    for part in ("questions", "metrics", "slices", "per_question", "findings", "intervals"):
        assert searched[part] == sent[part]


async def test_the_configuration_is_filled_in(live: Live) -> None:
    given = {"generator": "none", "retrieval": {"reranker": "x", "top_k": 99}, "chunking": "mine"}
    async with live() as client:
        filled = (await ask(client, body(retrieval={"where": {"a": {"$ne": 1}}})))["config"]
        mixed = (await ask(client, body(config=given)))["config"]
    assert filled["retrieval"] == {"collection": "corpus", "top_k": 3, "where": {"a": {"$ne": 1}}}
    assert filled["embedder"] == "wordllama/l2_supercat/256"
    assert (filled["chunking"], filled["corpus_version"]) == ("markdown/700/0", "sha256:abc")
    assert mixed["retrieval"] == {"reranker": "x", "collection": "corpus", "top_k": 3, "where": None}
    assert (mixed["generator"], mixed["chunking"]) == ("none", "mine")
    assert mixed["fingerprint"] != filled["fingerprint"]


async def test_tokens_of_the_context_are_counted(live: Live) -> None:
    static = StaticEmbedder()
    async with live() as client:
        answer = await ask(client, body(WEBHOOKS, k=[2]))
    tokens = await static.count([TEXTS["webhooks"], TEXTS["more-webhooks"]])
    await static.close()
    assert answer["context"] == {
        "chunks_per_question": 2.0,
        "tokens_per_question": float(sum(tokens)),
        "tokenizer": "wordllama/l2_supercat",
    }


async def test_tokens_are_unknown_where_a_chunk_has_no_text(live: Live) -> None:
    async with live(texts={**TEXTS, "webhooks": None}) as client:
        answer = await ask(client, body(retrieval={"top_k": 5}, k=[5]))
    assert answer["context"]["tokens_per_question"] is None


async def test_gold_that_the_index_does_not_hold_excludes_its_question(live: Live) -> None:
    lost = {"id": "Q3", "question": "Does it rain?", "relevant": ["weather", "gone"]}
    async with live() as client:
        answer = await ask(client, body(WEBHOOKS, lost))
    assert answer["questions"]["excluded"]["index"] == ["Q3"]
    assert answer["questions"]["eligible"] == 1
    assert "NO_ID_OVERLAP" not in findings(answer)


async def test_gold_that_is_nowhere_in_the_index_is_another_kind_of_id(live: Live) -> None:
    async with live() as client:
        answer = await ask(client, body({**WEBHOOKS, "relevant": ["document-7"]}))
    assert answer["questions"]["excluded"]["index"] == ["Q1"]
    assert "NO_ID_OVERLAP" in findings(answer)


async def test_gold_that_is_there_and_not_found_is_the_same_kind_of_id(live: Live) -> None:
    async with live() as client:
        answer = await ask(client, body({**WEBHOOKS, "relevant": ["weather"]}, retrieval={"top_k": 1}))
    assert answer["metrics"]["hit_rate@1"]["value"] == 0.0
    assert "NO_ID_OVERLAP" not in findings(answer)


async def test_roles_of_the_index_deny_what_they_do_not_name(live: Live) -> None:
    roles: Metadata = {"webhooks": {"roles": "partner, staff"}, "keys": {"roles": ["staff"]}, "plans": {"n": 1}}
    question = {**WEBHOOKS, "role": "partner"}
    async with live(metadata=roles) as client:
        answer = await ask(client, body(question, KEY_SCOPE, retrieval={"top_k": 5}, k=[5]))
    leaks = {each["id"]: set(each["acl_leaks"]) for each in answer["per_question"]}
    assert leaks == {"Q1": {"keys", "plans", "weather", "more-webhooks"}, "Q2": set()}


async def test_chunks_without_roles_are_denied_though_only_others_name_any(live: Live) -> None:
    question = {**WEBHOOKS, "role": "partner"}
    async with live(metadata={"weather": {"roles": ["partner"]}}) as client:
        answer = await ask(client, body(question, retrieval={"top_k": 1}, k=[1]))
    assert answer["per_question"][0]["acl_leaks"] == ["webhooks"]


async def test_a_collection_that_uses_no_roles_denies_nothing(live: Live) -> None:
    async with live() as client:
        answer = await ask(client, body({**WEBHOOKS, "role": "partner"}))
    assert answer["per_question"][0]["acl_leaks"] == []


async def test_an_unjudged_chunk_that_states_the_facts_is_pointed_at(live: Live) -> None:
    question = {**WEBHOOKS, "expected_facts": ["72 HOURS"]}
    async with live() as client:
        answer = await ask(client, body(question, KEY_SCOPE))
        judged = await ask(client, body({**question, "non_relevant": ["more-webhooks"]}))
    incomplete = findings(answer)["INCOMPLETE_GOLD"]
    assert incomplete["questions"] == ["Q1"]
    assert "'more-webhooks' for question 'Q1'" in incomplete["message"]
    assert "INCOMPLETE_GOLD" not in findings(judged)


async def test_a_cutoff_beyond_what_was_asked_for_is_said(live: Live) -> None:
    async with live() as client:
        answer = await ask(client, body(k=[1, 10]))
    message = findings(answer)["CUTOFF_OVER_TOP_K"]["message"]
    assert message == "k goes up to 10, but 3 chunks were asked for (top_k): metrics at a larger k see 3."


async def test_fewer_chunks_than_asked_for_are_said(live: Live) -> None:
    async with live() as client:
        answer = await ask(client, body(retrieval={"top_k": 50}))
    finding = findings(answer)["FEWER_THAN_TOP_K"]
    assert finding["message"] == "Fewer than 50 chunks came back: the collection holds 5."
    assert finding["questions"] == ["Q1", "Q2"]
    assert answer["per_question"][0]["returned"] == 5


async def test_a_filter_narrows_the_search(live: Live) -> None:
    async with live(metadata={"keys": {"version": 3}}) as client:
        answer = await ask(client, body(WEBHOOKS, retrieval={"where": {"version": {"$gte": 3}}}))
    assert answer["per_question"][0]["retrieved"] == ["keys"]
    assert "and the filter leaves out some" in findings(answer)["FEWER_THAN_TOP_K"]["message"]


async def test_a_filter_by_role_looks_into_the_list(live: Live) -> None:
    roles: Metadata = {"keys": {"roles": ["staff", "member"]}, "plans": {"roles": ["staff"]}}
    async with live(metadata=roles) as client:
        answer = await ask(client, body(WEBHOOKS, retrieval={"where": {"roles": {"$contains": "member"}}}))
    assert answer["per_question"][0]["retrieved"] == ["keys"]


async def test_a_filter_cannot_compare_texts(live: Live) -> None:
    async with live(metadata={"keys": {"valid_from": "2026-05-01"}}) as client:
        document = await refused(client, body(retrieval={"where": {"valid_from": {"$gte": "2026-01-01"}}}))
    assert document["type"] == "/problems/bad-filter"


async def test_a_filter_that_no_chunk_passes_is_said_as_such(live: Live) -> None:
    async with live(metadata={"keys": {"version": 3}}) as client:
        answer = await ask(client, body(retrieval={"where": {"verison": 3}}))
    assert findings(answer)["NOTHING_FOUND"]["message"] == (
        'Nothing came back for any question: no chunk passes the filter {"verison":3}; check its field names and '
        "values."
    )
    assert "FEWER_THAN_TOP_K" not in findings(answer)


async def test_a_mapping_of_another_chunking_is_noticed(live: Live) -> None:
    fits = {**WEBHOOKS, "relevant": {}, "evidence": [{"id": "E1", "quote": "retried for\n72 hours"}]}
    not_here = {**KEY_SCOPE, "relevant": {}, "evidence": [{"id": "E2", "quote": "the scope ingest"}]}
    dataset = {"questions": [fits, not_here], "evidence_mapping": {"E1": ["webhooks"], "E2": ["plans"]}}
    async with live() as client:
        answer = await ask(client, body(dataset=dataset))
        dataset["evidence_mapping"] = {"E1": ["webhooks"], "E2": ["keys"]}
        mapped = await ask(client, body(dataset=dataset))
    assert findings(answer)["MAPPING_ELSEWHERE"] == {
        "code": "MAPPING_ELSEWHERE",
        "message": "Evidence is mapped to chunks that do not hold its quote, or not all of it: 1 of 2 looked at (E2). "
        "The mapping does not fit this collection; `befund dataset map` makes one that does.",
        "questions": ["Q2"],
    }
    assert "MAPPING_ELSEWHERE" not in findings(mapped)


async def test_a_mapping_to_a_chunk_too_many_does_not_fit(live: Live) -> None:
    question = {**WEBHOOKS, "relevant": {}, "evidence": [{"id": "E1", "quote": "retried for 72 hours"}]}
    async with live() as client:
        answer = await ask(
            client, body(dataset={"questions": [question], "evidence_mapping": {"E1": ["webhooks", "plans"]}})
        )
    assert findings(answer)["MAPPING_ELSEWHERE"]["questions"] == ["Q1"]


async def test_a_thousand_mapped_chunks_are_looked_at_and_no_more(live: Live) -> None:
    evidence = [{"id": f"E{number}", "quote": "nowhere"} for number in range(1_050)]
    question = {**WEBHOOKS, "relevant": {}, "evidence": evidence}
    mapping = {each["id"]: ["webhooks"] for each in evidence}
    async with live() as client:
        answer = await ask(client, body(dataset={"questions": [question], "evidence_mapping": mapping}))
    assert (
        "1000 of 1000 looked at (E0, E1, E2, E3, E4, E5, E6, E7 and 992 more)"
        in findings(answer)["MAPPING_ELSEWHERE"]["message"]
    )


async def test_only_selected_questions_are_searched_for(live: Live) -> None:
    blank = {"id": "Q9", "question": " ", "split": "dev"}
    async with live() as client:
        answer = await ask(client, body({**WEBHOOKS, "split": "smoke"}, blank, split="smoke"))
    assert answer["questions"]["total"] == 1
    assert answer["questions"]["unknown_in_run"] == 0


async def test_questions_that_are_not_scored_are_searched_for_too(live: Live) -> None:
    question = {"id": "Q3", "question": "How is the weather?", "expected_behavior": "no_answer"}
    async with live() as client:
        answer = await ask(client, body(WEBHOOKS, {**question, "non_relevant": ["weather"]}))
    assert answer["questions"]["excluded"]["behavior"] == ["Q3"]
    assert findings(answer)["KNOWN_FALSE_POSITIVES"]["questions"] == ["Q3"]


async def test_without_per_question_the_figures_are_the_same(live: Live) -> None:
    async with live() as client:
        listed = await ask(client, body())
        summed = await ask(client, body(per_question=False))
    assert summed["metrics"] == listed["metrics"]
    assert summed["context"] == listed["context"]
    assert summed["per_question"] == []


async def test_an_embedder_may_be_named(live: Live) -> None:
    async with live() as client:
        await ask(client, body(retrieval={"embedder": "wordllama/l2_supercat/256"}))
        document = await refused(client, body(retrieval={"embedder": "other"}))
    assert (document["status"], document["type"]) == (422, "/problems/unknown-embedder")
    assert document["errors"][0]["pointer"] == "/retrieval/embedder"
    assert "'wordllama/l2_supercat/256'" in document["detail"]


async def test_another_embedder_is_409_naming_both(live: Live) -> None:
    async with live(embedder=EmbedderIdentity("small/256", 256)) as client:
        document = await refused(client, body())
    assert (document["status"], document["type"]) == (409, "/problems/embedder-mismatch")
    assert "small/256" in document["detail"]
    assert "wordllama/l2_supercat/256" in document["detail"]


async def test_another_dimension_is_409_naming_both(live: Live) -> None:
    async with live(embedder=EmbedderIdentity("wordllama/l2_supercat/256", 64)) as client:
        document = await refused(client, body())
    assert (document["status"], document["type"]) == (409, "/problems/dimension-mismatch")
    assert "64" in document["detail"]
    assert "256" in document["detail"]


async def test_an_unknown_collection_is_404(live: Live) -> None:
    async with live() as client:
        document = await refused(client, body(retrieval={"collection": "nope"}))
    assert (document["status"], document["type"]) == (404, "/problems/unknown-collection")


async def test_a_filter_that_cannot_be_read_is_422_with_its_place(live: Live) -> None:
    async with live() as client:
        document = await refused(client, body(retrieval={"where": {"n": {"$like": 1}}}))
    assert (document["status"], document["type"]) == (422, "/problems/bad-filter")
    assert document["errors"][0]["pointer"] == "/retrieval/where"


async def test_a_question_without_text_is_422_naming_it(live: Live) -> None:
    async with live() as client:
        document = await refused(client, body(WEBHOOKS, {"id": "Q7", "question": "\n "}))
    assert (document["status"], document["type"]) == (422, "/problems/blank-question")
    assert "'Q7'" in document["detail"]
    assert document["errors"][0]["pointer"] == "/dataset/questions/1/question"


@pytest.mark.parametrize(
    ("questions", "problem", "pointer"),
    [
        ([WEBHOOKS, WEBHOOKS], "question-twice", "/dataset/questions/1/id"),
        ([{"id": "Q1"}], "malformed-request", "/dataset/questions/0"),
        ([{**WEBHOOKS, "non_relevant": ["webhooks"]}], "relevant-and-not", "/dataset/questions/0/non_relevant/0"),
    ],
)
async def test_questions_are_refused_as_they_are_with_rankings(
    live: Live, questions: list[dict[str, Any]], problem: str, pointer: str
) -> None:
    async with live() as client:
        document = await refused(client, body(*questions))
    assert document["type"] == f"/problems/{problem}"
    assert document["errors"][0]["pointer"] == pointer


async def test_collection_and_rankings_together_are_refused(live: Live) -> None:
    async with live() as client:
        document = await refused(client, body(retrieval={"rankings": {"Q1": ["webhooks"]}}))
    assert (document["status"], document["type"]) == (422, "/problems/rankings-or-collection")


async def test_more_results_than_fit_are_refused(live: Live) -> None:
    questions = [{"id": f"Q{number}", "question": "How?"} for number in range(200_001)]
    async with live() as client:
        document = await refused(client, body(*questions, retrieval={"top_k": 100_000}))
    assert (document["status"], document["type"]) == (422, "/problems/too-many-results")


async def test_a_field_name_may_be_written_with_escapes(live: Live) -> None:
    text = msgspec.json.encode(body()).replace(b'"collection"', b'"\\u0063ollection"')
    async with live() as client:
        answer = await client.post("/retrieve-eval", content=text)
    assert answer.json()["per_question"][0]["retrieved"][0] == "webhooks"


async def test_collections_are_described(live: Live) -> None:
    expected = {
        "name": "corpus",
        "chunks": 5,
        "embedder": "wordllama/l2_supercat/256",
        "dimension": 256,
        "space": "cosine",
        "chunking": "markdown/700/0",
        "corpus": "sha256:abc",
        "uses_roles": False,
        "damaged": False,
    }
    async with live() as client:
        assert (await client.get("/collections")).json() == {"collections": [expected]}
        assert (await client.get("/collections/corpus")).json() == expected
        missing = await client.get("/collections/nope")
    assert (missing.status_code, missing.json()["type"]) == (404, "/problems/unknown-collection")


async def test_a_deleted_collection_is_gone(live: Live) -> None:
    async with live() as client:
        assert (await client.delete("/collections/corpus")).status_code == 204
        assert (await client.delete("/collections/corpus")).status_code == 404
        assert (await client.get("/collections")).json() == {"collections": []}


@pytest.mark.parametrize(
    ("method", "key", "status"),
    [("GET", None, 401), ("GET", "ci-secret", 403), ("DELETE", None, 401), ("DELETE", "dash-secret", 403)],
)
async def test_collections_need_their_scopes(
    guarded: httpx.AsyncClient, method: str, key: str | None, status: int
) -> None:
    answer = await guarded.request(method, "/collections/corpus", headers={"x-api-key": key} if key else {})
    assert answer.status_code == status


@pytest.mark.parametrize("option", ["prune", "replace"])
async def test_removing_documents_takes_the_scope_that_deletes(guarded: httpx.AsyncClient, option: str) -> None:
    answer = await guarded.post(
        "/collections/corpus/documents", json={"documents": [], option: True}, headers={"x-api-key": "ci-secret"}
    )
    assert answer.status_code == 403
    assert f"{option} deletes what is stored, and the key 'ci' lacks the scope 'admin'" in answer.json()["detail"]


async def test_a_live_search_needs_the_scope_evaluate(guarded: httpx.AsyncClient) -> None:
    answer = await guarded.post("/retrieve-eval", json=body(), headers={"x-api-key": KEYS[1].secret})
    assert answer.status_code == 403


async def test_stages_are_timed_for_prometheus(live: Live) -> None:
    async with live() as client:
        await ask(client, body())
        text = (await client.get("/metrics")).text
    counts = {
        sample.labels["stage"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "befund_retrieval_duration_seconds_count"
    }
    assert counts == {"embed": 1.0, "search": 1.0, "score": 1.0}


async def test_a_service_whose_index_is_spoilt_says_so_and_measures_rankings(tmp_path: Path) -> None:
    await fill(tmp_path)
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"no database at all")
    async with running(Settings(data_dir=tmp_path)) as client:
        ready = await client.get("/readyz")
        document = await refused(client, body())
        answer = await ask(client, {**body(), "retrieval": {"rankings": {"Q1": ["webhooks"]}}})
    assert ready.status_code == 503
    assert ready.json()["dependencies"]["index"] == {"state": "down", "detail": "index-damaged"}
    assert (document["status"], document["type"]) == (503, "/problems/index-damaged")
    assert answer["metrics"]["hit_rate@1"]["value"] == 0.5


async def test_an_embedding_endpoint_that_is_down_is_503(tmp_path: Path) -> None:
    await fill(tmp_path)
    settings = Settings(data_dir=tmp_path, embedder="small", embedding_url="http://127.0.0.1:9/v1")
    async with running(settings) as client:
        assert (await client.get("/readyz")).status_code == 200
        document = await refused(client, body())
    assert (document["status"], document["type"]) == (503, "/problems/embedder-down")


async def test_a_live_search_is_kept_as_a_run_and_answered_once(live: Live) -> None:
    key = {"idempotency-key": "once"}
    async with live() as client:
        first = await client.post("/retrieve-eval", json=body(run="main"), headers=key)
        again = await client.post("/retrieve-eval", json=body(run="main"), headers=key)
        run = (await client.get("/runs/main")).json()
        other = await refused(client, body(run="main", retrieval={"top_k": 2}))
    assert first.json()["run"] == "main"
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    kept = {record["question_id"]: record["retrieval"]["ranking"] for record in run["records"]}
    assert kept == {each["id"]: each["retrieved"] for each in first.json()["per_question"]}
    assert (other["status"], other["type"]) == (409, "/problems/run-conflict")


async def test_a_stored_data_set_is_searched_for_by_its_name(live: Live) -> None:
    async with live() as client:
        answer = await ask(client, {**body(), "dataset": "teralune", "tags": ["webhooks"]})
    assert answer["config"]["dataset"]["name"] == "teralune"
    assert answer["questions"]["excluded"]["index"]
