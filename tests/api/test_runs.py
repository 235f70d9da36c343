import asyncio
import json
import re
import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from befund.settings import parse_api_keys

from .test_datasets import refused

pytestmark = pytest.mark.anyio

QUESTIONS = [
    {"id": "Q1", "question": "A private question?", "relevant": {"c1": 2, "c2": 1}, "tags": ["a"], "role": "partner"},
    {"id": "Q2", "question": "Another?", "relevant": ["c3"], "non_relevant": ["c9"]},
    {"id": "Q3", "question": "Weather?", "expected_behavior": "no_answer"},
]
RANKINGS: dict[str, Any] = {
    "Q1": ["c5", {"id": "c1", "score": 0.5, "roles": ["staff"]}, "c5", "c2"],
    "Q2": {"c9": 0.9, "c3": 0.1},
}


def request(**changes: Any) -> dict[str, Any]:
    body = {"dataset": {"questions": QUESTIONS}, "retrieval": {"rankings": RANKINGS}, "k": [1, 3], "run": "main"}
    return body | changes


async def measure(client: httpx.AsyncClient, key: str | None = None, **changes: Any) -> httpx.Response:
    headers = {} if key is None else {"idempotency-key": key}
    return await client.post("/retrieve-eval", json=request(**changes), headers=headers)


def codes(answer: httpx.Response) -> list[str]:
    return [finding["code"] for finding in answer.json()["findings"]]


ROUTES = [
    ("GET", "/runs", "ops"),
    ("GET", "/runs/main", "ci"),
    ("DELETE", "/runs/main", "dash"),
    ("DELETE", "/runs/main/questions/Q1", "dash"),
    ("GET", "/runs/main/bundle", "ci"),
    ("PUT", "/runs/main/bundle", "dash"),
]


@pytest.mark.parametrize(("method", "path", "wrong"), ROUTES)
async def test_without_a_key_it_is_401_and_without_the_scope_403(
    kept_guarded: httpx.AsyncClient, method: str, path: str, wrong: str
) -> None:
    await refused(kept_guarded.request(method, path), 401, "unauthorized")
    headers = {"x-api-key": f"{wrong}-secret"}
    await refused(kept_guarded.request(method, path, headers=headers), 403, "forbidden")


@pytest.mark.parametrize(
    ("method", "path"), [(method, path) for method, path, _ in ROUTES if method != "PUT" and path != "/runs"]
)
async def test_an_unknown_run_is_404(kept: httpx.AsyncClient, method: str, path: str) -> None:
    await refused(kept.request(method, path), 404, "unknown-run")


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in ROUTES if path != "/runs"])
async def test_a_bad_name_is_400(kept: httpx.AsyncClient, method: str, path: str) -> None:
    await refused(kept.request(method, path.replace("main", "a b")), 400, "malformed-request")


async def test_every_question_has_a_record_of_all_that_was_found(kept: httpx.AsyncClient) -> None:
    answer = await measure(kept, per_question=False, metrics=["mrr", "recall@3"])
    assert (answer.json()["run"], answer.json()["per_question"]) == ("main", [])
    records = (await kept.get("/runs/main")).json()["records"]
    assert [record["question_id"] for record in records] == ["Q1", "Q2", "Q3"]
    assert all(record["question_hash"].startswith("sha256:") for record in records)
    assert records[0]["retrieval"] == {
        "ranking": ["c5", {"id": "c1", "score": 0.5, "roles": ["staff"]}, "c5", "c2"],
        "relevant": {"c1": 2.0, "c2": 1.0},
        "evidence": {},
        "unmapped": [],
        "metrics": {"mrr@1": 0.0, "mrr@3": 0.5, "recall@3": 0.5},
        "first_relevant_rank": 2,
        "excluded": None,
        "acl_leaks": ["c5", "c1", "c2"],
        "known_false_positives": [],
        "duplicates": ["c5"],
        "tokens": None,
    }
    assert records[1]["retrieval"]["ranking"] == [{"id": "c9", "score": 0.9}, {"id": "c3", "score": 0.1}]
    assert records[1]["retrieval"]["relevant"] == {"c9": 0.0, "c3": 1.0}
    assert records[1]["retrieval"]["known_false_positives"] == ["c9"]
    assert records[2]["retrieval"]["ranking"] is None
    assert (records[2]["retrieval"]["excluded"], records[2]["retrieval"]["metrics"]) == ("behavior", {})


async def test_evidence_is_kept_with_its_chunks(kept: httpx.AsyncClient) -> None:
    question = {"id": "Q1", "question": "?", "evidence": [{"id": "E1"}, {"id": "E2"}]}
    dataset = {"questions": [question], "evidence_mapping": {"E1": ["c1", "c2"]}}
    await measure(kept, dataset=dataset, retrieval={"rankings": {"Q1": ["c2"]}})
    retrieval = (await kept.get("/runs/main")).json()["records"][0]["retrieval"]
    assert (retrieval["evidence"], retrieval["unmapped"]) == ({"E1": ["c1", "c2"]}, ["E2"])
    assert retrieval["excluded"] == "mapping"


async def test_the_summary_says_what_the_answer_said(kept: httpx.AsyncClient) -> None:
    answer = (await measure(kept)).json()
    run = (await kept.get("/runs/main", params={"limit": 0})).json()
    assert run["metrics"] == answer["metrics"]
    assert run["questions"] == 3
    assert run["config"]["fingerprint"] == answer["config"]["fingerprint"]
    assert (run["records"], run["next"]) == ([], None)
    nothing = {"value": None, "ci": None, "n": 0, "attempted": 0, "unscored": 0, "method": "too_few"}
    assert run["rates"] == dict.fromkeys(["correct", "faithful", "faithful_given_claims", "behaved"], nothing)


async def test_questions_measured_by_and_by_make_one_run(kept: httpx.AsyncClient) -> None:
    for question, ranking in RANKINGS.items():
        await measure(kept, tags=["a"] if question == "Q1" else [], retrieval={"rankings": {question: ranking}})
    run = (await kept.get("/runs/main")).json()
    assert run["questions"] == 3
    assert [record["retrieval"]["ranking"] is None for record in run["records"]] == [True, False, True]


async def test_the_same_again_leaves_the_run_as_it_was(kept: httpx.AsyncClient) -> None:
    await measure(kept)
    first = (await kept.get("/runs/main")).json()
    await measure(kept)
    second = (await kept.get("/runs/main")).json()
    assert first.pop("updated") < second.pop("updated")
    assert first == second


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"config": {"chunking": "800/100"}}, r"config\.chunking: nothing there, \"800/100\" here"),
        ({"dataset": {"questions": QUESTIONS[:2]}}, "dataset"),
        ({"level": "evidence"}, r"measured\.level"),
        ({"gain": "exp2"}, r"measured\.gain"),
    ],
)
async def test_a_write_that_differs_is_a_conflict_until_the_run_is_begun_anew(
    kept: httpx.AsyncClient, changes: dict[str, Any], field: str
) -> None:
    await measure(kept)
    before = (await kept.get("/runs/main")).json()
    document = await refused(measure(kept, **changes), 409, "run-conflict")
    assert field.replace("\\", "") in document["detail"]
    assert (await kept.get("/runs/main")).json() == before
    assert (await measure(kept, replace_run=True, **changes)).status_code == 200
    assert (await measure(kept, **changes)).status_code == 200


async def test_a_data_set_by_name_or_inline_is_the_same_run(kept: httpx.AsyncClient) -> None:
    await kept.put("/datasets/mine", json={"questions": QUESTIONS})
    await measure(kept)
    assert (await measure(kept, dataset="mine")).status_code == 200
    assert (await kept.get("/datasets")).json()["datasets"][0]["name"] == "mine"


async def test_a_stored_data_set_is_measured_as_one_that_is_sent(kept: httpx.AsyncClient) -> None:
    await kept.put("/datasets/mine", json={"questions": QUESTIONS})
    inline, named = (await measure(kept, run=None)).json(), (await measure(kept, run=None, dataset="mine")).json()
    inline.pop("timings"), named.pop("timings")
    assert inline["config"].pop("dataset") | {"name": "mine"} == named["config"].pop("dataset")
    assert inline == named


async def test_wrong_ids_are_seen_with_a_stored_data_set_too(kept: httpx.AsyncClient) -> None:
    await kept.put("/datasets/mine", json={"questions": QUESTIONS})
    assert "NO_ID_OVERLAP" in codes(await measure(kept, dataset="mine", retrieval={"rankings": {"Q1": ["D001"]}}))


@pytest.mark.parametrize("reference", ["none", "teralune@00000000", "teralune@sha256:ab"])
async def test_an_unknown_data_set_is_404(kept: httpx.AsyncClient, reference: str) -> None:
    await refused(measure(kept, dataset=reference), 404, "unknown-dataset")


async def test_nothing_is_kept_of_what_cannot_be_measured(kept: httpx.AsyncClient) -> None:
    await refused(measure(kept, retrieval={"rankings": {"Q1": [5]}}), 400, "malformed-request")
    assert (await kept.get("/runs")).json() == {"runs": [], "next": None}


async def test_a_configuration_that_leaves_keys_out_is_said_to(kept: httpx.AsyncClient) -> None:
    config: dict[str, Any] = {"chunking": "md/700", "embedder": None, "retrieval": {}, "generator": "g"}
    finding = next(
        each for each in (await measure(kept, config=config)).json()["findings"] if each["code"] == "CONFIG_INCOMPLETE"
    )
    assert "does not say corpus_version, index_version, embedder, retrieval, prompt, judge:" in finding["message"]
    assert "CONFIG_INCOMPLETE" not in codes(await measure(kept, run=None, config=config))


async def test_a_configuration_may_not_be_a_document_store(kept: httpx.AsyncClient) -> None:
    await refused(measure(kept, config={"x": "y" * 300_000}), 422, "config-too-large")


async def test_a_test_split_measured_again_is_said_to_be(kept: httpx.AsyncClient) -> None:
    questions = [{**QUESTIONS[0], "split": "test"}, {**QUESTIONS[1], "split": "dev"}]
    await kept.put("/datasets/mine", json={"questions": questions})
    said = []
    for run, split in ((None, "test"), (None, "dev"), ("main", None), (None, "test")):
        answer = await measure(kept, dataset="mine", split=split, run=run)
        said += [each["message"].partition(" on ")[0] for each in answer.json()["findings"] if "REUSED" in each["code"]]
    assert said == [
        "The test split of 'mine' has been measured once before",
        "The test split of 'mine' has been measured 2 times before",
    ]


async def test_a_test_split_that_is_sent_is_not_counted(kept: httpx.AsyncClient) -> None:
    dataset = {"questions": [{**QUESTIONS[0], "split": "test"}], "name": "mine"}
    for _ in range(2):
        assert "TEST_SPLIT_REUSED" not in codes(
            await measure(kept, dataset=dataset, retrieval={"rankings": {"Q1": ["c1"]}})
        )


async def test_a_repetition_gets_the_same_answer_and_stores_nothing(kept: httpx.AsyncClient) -> None:
    first = await measure(kept, key="k1")
    updated = (await kept.get("/runs/main")).json()["updated"]
    second = await measure(kept, key="k1")
    assert second.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert (await kept.get("/runs/main")).json()["updated"] == updated


async def test_a_key_that_comes_with_another_request_is_refused(kept: httpx.AsyncClient) -> None:
    await measure(kept, key="k1")
    await refused(measure(kept, key="k1", k=[5]), 422, "idempotency-key-reused")
    assert (await measure(kept, key="k1", k=[5], run=None)).status_code == 200


async def test_a_refused_request_may_come_again_with_its_key(kept: httpx.AsyncClient) -> None:
    await measure(kept)
    await refused(measure(kept, key="k1", gain="exp2"), 409, "run-conflict")
    await kept.delete("/runs/main")
    assert (await measure(kept, key="k1", gain="exp2")).status_code == 200


async def test_an_answer_too_long_to_remember_is_given_again_to_the_same_end(kept: httpx.AsyncClient) -> None:
    questions = [{"id": f"Q{i}", "question": "?", "relevant": ["c1"]} for i in range(600)]
    rankings = {"rankings": {each["id"]: [secrets.token_hex(24) for _ in range(100)] for each in questions}}
    body = {"dataset": {"questions": questions}, "retrieval": rankings, "k": [100]}
    first, second = [await measure(kept, key="k1", **body) for _ in range(2)]
    assert len(first.content) > 2_000_000
    assert "idempotency-replayed" not in second.headers
    assert second.json()["per_question"] == first.json()["per_question"]
    assert (await kept.get("/runs/main", params={"limit": 0})).json()["questions"] == 600


@pytest.mark.parametrize("key", ["x" * 257, "a b"])
async def test_a_key_that_cannot_be_one_is_refused(kept: httpx.AsyncClient, key: str) -> None:
    await refused(measure(kept, key=key), 400, "malformed-request")


async def test_a_key_belongs_to_its_caller(serve_kept: Callable[..., Any]) -> None:
    client = await serve_kept(api_keys=parse_api_keys("a:one=evaluate,b:two=evaluate"))
    for secret, k in (("one", [1]), ("two", [2])):
        headers = {"x-api-key": secret, "idempotency-key": "same"}
        assert (await client.post("/retrieve-eval", json=request(k=k), headers=headers)).status_code == 200


async def test_the_same_request_twice_at_once_is_stored_once(kept: httpx.AsyncClient) -> None:
    await kept.put("/datasets/mine", json={"questions": [{**QUESTIONS[0], "split": "test"}]})
    rankings = {"rankings": {"Q1": ["c1"]}}
    answers = await asyncio.gather(*(measure(kept, key="k1", dataset="mine", retrieval=rankings) for _ in range(4)))
    assert {answer.content for answer in answers} == {answers[0].content}
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 3
    assert "measured once before" in (await measure(kept, dataset="mine", retrieval=rankings)).text


async def test_runs_are_listed_by_page(kept: httpx.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await measure(kept, run=name)
    page = (await kept.get("/runs", params={"limit": 2})).json()
    assert [run["name"] for run in page["runs"]] == ["c", "b"]
    rest = (await kept.get("/runs", params={"limit": 2, "cursor": page["next"]})).json()
    assert ([run["name"] for run in rest["runs"]], rest["next"]) == (["a"], None)
    assert rest["runs"][0]["questions"] == 3
    assert rest["runs"][0]["dataset"]["name"] is None


async def test_records_are_given_by_page(kept: httpx.AsyncClient) -> None:
    await measure(kept)
    seen, cursor = [], None
    for _ in range(2):
        page = (await kept.get("/runs/main", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        seen.append([record["question_id"] for record in page["records"]])
        cursor = page["next"]
    assert (seen, cursor) == ([["Q1", "Q2"], ["Q3"]], None)


@pytest.mark.parametrize(
    "query",
    [
        "/runs?limit=0",
        "/runs?limit=501",
        "/runs?limit=x",
        "/runs?cursor=x",
        "/runs?cursor=١-١",
        "/runs/main?limit=1001",
    ],
)
async def test_a_page_that_cannot_be_is_400(kept: httpx.AsyncClient, query: str) -> None:
    await refused(kept.get(query), 400, "malformed-request")


async def test_a_run_is_deleted(kept: httpx.AsyncClient) -> None:
    await measure(kept)
    answer = await kept.delete("/runs/main")
    assert (answer.status_code, answer.content) == (204, b"")
    await refused(kept.get("/runs/main"), 404, "unknown-run")


@pytest.mark.parametrize("question", ["Q1", "a/b", "100%", "%2F", "..", "a/", "ü ?#", "a//b"])
async def test_a_question_is_deleted_whatever_its_id(kept: httpx.AsyncClient, question: str) -> None:
    questions = [{"id": name, "question": "?", "relevant": ["c1"]} for name in (question, "other")]
    await measure(kept, dataset={"questions": questions}, retrieval={"rankings": {question: ["c1"]}})
    path = f"/runs/main/questions/{quote(question, safe='').replace('.', '%2E')}"
    assert (await kept.delete(path)).status_code == 204
    records = (await kept.get("/runs/main")).json()["records"]
    assert [record["question_id"] for record in records] == ["other"]
    await refused(kept.delete(path), 404, "unknown-question")


async def test_a_run_moves_to_another_service_as_it_is(serve_kept: Callable[..., Any], tmp_path: Path) -> None:
    here, there = await serve_kept(), await serve_kept(data_dir=tmp_path / "there")
    await measure(here, config={"chunking": "md/700"})
    exported = await here.get("/runs/main/bundle")
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert json.loads(exported.text.partition("\n")[0])["befund_bundle"] == 1
    put = await there.put("/runs/main/bundle", content=exported.content)
    assert put.json()["questions"] == 3
    assert (await there.get("/runs/main/bundle")).content == exported.content
    mine, theirs = (await here.get("/runs/main")).json(), (await there.get("/runs/main")).json()
    assert mine.pop("updated") <= theirs.pop("updated")
    mine["dataset"]["version"].pop("created"), theirs["dataset"]["version"].pop("created")
    assert mine == theirs


async def test_a_bundle_is_put_twice_to_the_same_end_and_conflicts_as_any_write(kept: httpx.AsyncClient) -> None:
    await measure(kept)
    bundle = (await kept.get("/runs/main/bundle")).content
    for name in ("main", "copy", "copy"):
        assert (await kept.put(f"/runs/{name}/bundle", content=bundle)).status_code == 200
    assert (await kept.get("/runs/copy")).json()["questions"] == 3
    await measure(kept, gain="exp2", replace_run=True)
    await refused(kept.put("/runs/main/bundle", content=bundle), 409, "run-conflict")
    assert (await kept.put("/runs/main/bundle?replace_run=true", content=bundle)).status_code == 200


async def test_a_bundle_without_texts_moves_too(serve_kept: Callable[..., Any], tmp_path: Path) -> None:
    here, there = await serve_kept(store_content="ids"), await serve_kept(data_dir=tmp_path / "there")
    await measure(here)
    bundle = (await here.get("/runs/main/bundle")).content
    assert b"private" not in bundle
    assert (await there.put("/runs/main/bundle", content=bundle)).status_code == 200
    assert (await there.get("/runs/main/bundle")).content == bundle


async def test_texts_of_a_bundle_are_left_out_where_none_are_kept(
    serve_kept: Callable[..., Any], tmp_path: Path
) -> None:
    here, there = await serve_kept(), await serve_kept(data_dir=tmp_path / "there", store_content="ids")
    await measure(here)
    bundle = (await here.get("/runs/main/bundle")).content
    assert b"private" in bundle
    assert (await there.put("/runs/main/bundle", content=bundle)).status_code == 200
    assert b"private" not in (await there.get("/runs/main/bundle")).content


@pytest.mark.parametrize(
    "damage",
    [
        lambda bundle: b"",
        lambda bundle: b"{}\n",
        lambda bundle: bundle[: len(bundle) // 2],
        lambda bundle: b"\n".join(bundle.split(b"\n")[:-2]),
        lambda bundle: bundle.replace(b"A private question?", b"Another question?"),
        lambda bundle: bundle.replace(b'"question_id":"Q2"', b'"question_id":"Q1"'),
        lambda bundle: bundle.replace(b'"question_id":"Q2"', b'"question_id":"Q9"'),
        lambda bundle: bundle.replace(b'"c3":1.0', b'"c3":"x"'),
        lambda bundle: bundle.replace(b'"part":"retrieval"', b'"part":"dreams"'),
        lambda bundle: b"[" * 100_000,
        lambda bundle: bundle + b"\xff",
        lambda bundle: re.sub(rb'("created":"[^"]*)Z"', rb'\1"', bundle),
        lambda bundle: re.sub(rb'"created":"[^"]*"', b'"created":"0001-01-01T00:00:00+14:00"', bundle),
        lambda bundle: re.sub(rb'"created":"[^"]*"', b'"created":"9999-12-31T23:59:59-14:00"', bundle),
        lambda bundle: re.sub(rb'"hash":"sha256:[0-9a-f]{2}', b'"hash":"sha256:00', bundle, count=1),
        lambda bundle: bundle.replace(b'"befund_bundle":1', b'"befund_bundle":1,"more":1'),
        lambda bundle: bundle.replace(b'"config":{', b'"config":{"x":"' + b"y" * 300_000 + b'",'),
        lambda bundle: bundle.replace(b'"said":{}', b'"said":{"judgment":["prompt"]}'),
        lambda bundle: bundle.replace(b'"level":"chunk"', b'"level":"page"'),
        lambda bundle: bundle.replace(b'"level":"chunk"', b'"level":"chunk","more":1'),
        lambda bundle: bundle.replace(b'"level":"chunk"', b'"level":"evidence"'),
        lambda bundle: bundle.replace(b'"hit_rate@1"', b'"hit_rate@x"'),
        lambda bundle: bundle.replace(b'"hit_rate@1"', b'"hit_rate@01"'),
        lambda bundle: bundle.replace(b'"mrr@3":0.5', b'"mrr@3":5.0', 1),
        lambda bundle: bundle.replace(b'"mrr@3":0.5', b'"mrr@3":0.5000001', 1),
        lambda bundle: bundle.replace(b'"mrr@3":0.5', b'"mrr@3":null', 1),
        lambda bundle: bundle.replace(b'"first_relevant_rank":2', b'"first_relevant_rank":-1', 1),
        lambda bundle: bundle.replace(b'"c3":1.0', b'"c4":1.0'),
        lambda bundle: bundle.replace(b'"excluded":null', b'"excluded":"ground_truth"', 1),
        lambda bundle: bundle.replace(b'"metrics":{}', b'"metrics":{"mrr@1":1.0}'),
        lambda bundle: bundle.replace(b'"acl_leaks":["c5"', b'"acl_leaks":["c6"'),
    ],
)
async def test_a_damaged_bundle_is_refused_and_nothing_of_it_stored(
    kept: httpx.AsyncClient, damage: Callable[[bytes], bytes]
) -> None:
    await measure(kept)
    bundle = (await kept.get("/runs/main/bundle")).content
    await refused(kept.put("/runs/copy/bundle", content=damage(bundle)), 422, "bundle-damaged")
    await refused(kept.get("/runs/copy"), 404, "unknown-run")


async def test_a_figure_that_does_not_follow_from_its_ranking_is_named(kept: httpx.AsyncClient) -> None:
    await measure(kept)
    bundle = (await kept.get("/runs/main/bundle")).content.replace(b'"ndcg@3":0.', b'"ndcg@3":0.9', 1)
    document = await refused(kept.put("/runs/copy/bundle", content=bundle), 422, "bundle-damaged")
    assert "ndcg@3 of question 'Q1' is 0.9" in document["detail"]


@pytest.mark.parametrize(
    "changes",
    [
        {"relevance_level": 2, "gain": "exp2"},
        {"metrics": ["bpref", "judged", "r_precision", "f1"], "index_chunk_ids": ["c3"]},
        {"per_question": False, "retrieval": {"rankings": {"Q1": ["c1", "c1", "c9"], "Q3": ["c1"]}}},
        {
            "level": "evidence",
            "dataset": {
                "questions": [
                    {"id": "Q1", "question": "?", "evidence": [{"id": "E1", "relevance": 2}, {"id": "E2"}]},
                    {"id": "Q2", "question": "?", "evidence": [{"id": "E3"}]},
                    {"id": "Q3", "question": "?", "relevant": ["c1"], "non_relevant": ["c2"]},
                ],
                "evidence_mapping": {"E1": ["c0", "c1"], "E2": ["c2", "c5"]},
            },
        },
    ],
)
async def test_a_bundle_comes_back_however_it_was_measured(kept: httpx.AsyncClient, changes: dict[str, Any]) -> None:
    assert (await measure(kept, **changes)).status_code == 200
    bundle = (await kept.get("/runs/main/bundle")).content
    assert (await kept.put("/runs/copy/bundle", content=bundle)).status_code == 200
    assert (await kept.get("/runs/copy/bundle")).content == bundle.replace(b'"name":"main"', b'"name":"copy"')


async def test_a_bundle_that_lies_about_gold_does_not_stay_under_the_name_of_a_true_data_set(
    serve_kept: Callable[..., Any], tmp_path: Path
) -> None:
    here, there = await serve_kept(store_content="ids"), await serve_kept(data_dir=tmp_path / "there")
    without = await serve_kept(data_dir=tmp_path / "without", store_content="ids")
    false = [QUESTIONS[0], {"id": "Q2", "question": "Another?", "relevant": ["c9"]}, QUESTIONS[2]]
    await measure(here, run="true")
    await measure(here, run="false", dataset={"questions": false})
    true, lie = [(await here.get(f"/runs/{run}/bundle")).content for run in ("true", "false")]
    for before, now in zip(
        re.findall(rb"sha256:[0-9a-f]{64}", lie), re.findall(rb"sha256:[0-9a-f]{64}", true), strict=True
    ):
        lie = lie.replace(before, now)
    for client in (there, without):
        put = await client.put("/runs/lie/bundle", content=lie)
        assert put.status_code == 200, put.text
        await client.put("/datasets/mine", json={"questions": QUESTIONS})
        answer = await measure(client, dataset="mine", retrieval={"rankings": {"Q2": ["c9"]}}, k=[1])
        assert answer.json()["per_question"][1]["relevant"] == ["c3"]
        assert (await client.get("/datasets/mine")).json()["questions"][1]["non_relevant"] == ["c9"]


async def test_a_run_stored_with_what_no_longer_passes_can_be_listed_and_read(
    kept: httpx.AsyncClient, tmp_path: Path
) -> None:
    await measure(kept)
    connection = sqlite3.connect(tmp_path / "data" / "befund.sqlite")
    connection.execute("UPDATE runs SET created = -62135647200000000, updated = 300000000000000000")
    connection.execute("""UPDATE results SET json = replace(CAST(json AS TEXT), 'hit_rate@1"', 'hit_rate@x"')""")
    connection.execute("""UPDATE results SET json = replace(CAST(json AS TEXT), '"mrr@3":0.5', '"mrr@3":5.0')""")
    connection.execute("UPDATE results SET json = CAST(json AS BLOB)")
    connection.commit()
    connection.close()
    listed = (await kept.get("/runs")).json()["runs"][0]
    assert (listed["created"], listed["updated"]) == ("0001-01-02T00:00:00Z", "9999-12-30T00:00:00Z")
    metrics = (await kept.get("/runs/main")).json()["metrics"]
    assert "hit_rate@x" not in metrics
    assert metrics["mrr@3"]["unscored"] == 2


async def test_a_run_begun_anew_while_it_is_read_is_read_whole(kept: httpx.AsyncClient) -> None:
    await measure(kept)

    async def begin_anew() -> None:
        for i in range(12):
            await measure(kept, replace_run=True, config={"turn": i})

    async def read(path: str, records: Callable[[httpx.Response], int]) -> None:
        for _ in range(40):
            answer = await kept.get(path)
            assert answer.status_code == 503 or records(answer) == 3

    await asyncio.gather(begin_anew(), read("/runs/main", lambda answer: len(answer.json()["records"])))


async def test_what_the_service_knows_of_the_configuration_wins(kept: httpx.AsyncClient) -> None:
    said = {"dataset": {"questions": "sha256:0", "owner": "me"}, "software": {"befund": "0", "rag": "7"}}
    first = (await measure(kept, config=said)).json()["config"]
    plain = (await measure(kept, run=None)).json()["config"]
    assert first["dataset"] == plain["dataset"] | {"owner": "me"}
    assert first["software"] == plain["software"] | {"rag": "7"}
    other = (await measure(kept, run="other", config={"software": "rag 7"})).json()["config"]
    assert other["software"] == plain["software"] | {"given": "rag 7"}


async def test_a_bundle_of_a_later_format_is_said_to_be_one(kept: httpx.AsyncClient) -> None:
    document = await refused(kept.put("/runs/main/bundle", content=b'{"befund_bundle": 2}'), 422, "bundle-unknown")
    assert "format 2; this version reads 1" in document["detail"]


async def test_a_bundle_over_the_limit_is_413(serve_kept: Callable[..., Any]) -> None:
    client = await serve_kept(max_body_bytes=100)
    await refused(client.put("/runs/main/bundle", content=b"x" * 101), 413, "body-too-large")


async def test_the_figures_of_a_run_that_is_watched_are_shown(kept: httpx.AsyncClient) -> None:
    await measure(kept, metrics=["hit_rate"], k=[1, 3, 4])
    await measure(kept, run="other")
    await measure(
        kept, dataset="teralune", split="smoke", retrieval={"rankings": {"Q001": ["D003-chunk-1"]}}, replace_run=True
    )
    lines = (await kept.get("/metrics")).text.splitlines()
    shown = [line for line in lines if line.startswith("befund_retrieval_metric{") and "hit_rate" in line]
    assert shown == [
        'befund_retrieval_metric{dataset="inline",metric="hit_rate@1",run="main",split="all"} 0.0',
        'befund_retrieval_metric{dataset="inline",metric="hit_rate@3",run="main",split="all"} 1.0',
        'befund_retrieval_metric{dataset="teralune",metric="hit_rate@1",run="main",split="smoke"} 0.07692307692307693',
        'befund_retrieval_metric{dataset="teralune",metric="hit_rate@3",run="main",split="smoke"} 0.07692307692307693',
    ]


async def test_runs_past_their_time_are_deleted_at_the_next_start(
    serve_kept: Callable[..., Any], tmp_path: Path
) -> None:
    client = await serve_kept()
    await measure(client, run="old")
    connection = sqlite3.connect(tmp_path / "data" / "befund.sqlite")
    connection.execute("UPDATE runs SET updated = updated - 31 * 86400 * 1000000")
    connection.commit()
    connection.close()
    await measure(client, run="new")
    again = await serve_kept(retention_days=30)
    assert [run["name"] for run in (await again.get("/runs")).json()["runs"]] == ["new"]
