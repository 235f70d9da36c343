from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

MARKER = "Zwetschgendatschi"
SET: dict[str, Any] = {
    "questions": [
        {
            "id": "Q1",
            "question": f"Where is {MARKER} from?",
            "expected_facts": [f"{MARKER} is Bavarian"],
            "reference_answers": [f"Bavaria, like every {MARKER}"],
            "evidence": [{"id": "E1", "relevance": 2, "quote": f"{MARKER} comes from Bavaria"}],
            "tags": ["cake"],
            "split": "test",
            "metadata": {"note": MARKER},
        },
        {"id": "Q2", "question": "?", "expected_behavior": "no_answer", "split": "smoke"},
    ],
    "evidence_mapping": {"E1": ["c1", "c2"]},
}
OTHER: dict[str, Any] = {"questions": [{"id": "Q1", "question": "?", "relevant": ["c1"]}]}


async def refused(call: Any, status: int, code: str) -> dict[str, Any]:
    answer: httpx.Response = await call
    document: dict[str, Any] = answer.json()
    assert (answer.status_code, document["type"]) == (status, f"/problems/{code}")
    assert answer.headers["content-type"] == "application/problem+json"
    return document


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/x"), ("PUT", "/x"), ("DELETE", "/x")])
async def test_without_a_key_it_is_401(kept_guarded: httpx.AsyncClient, method: str, path: str) -> None:
    await refused(kept_guarded.request(method, f"/datasets{path}", json=OTHER), 401, "unauthorized")


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [("GET", "", "ops"), ("GET", "/x", "ci"), ("PUT", "/x", "dash"), ("PUT", "/x", "ci"), ("DELETE", "/x", "dash")],
)
async def test_without_the_scope_it_is_403(kept_guarded: httpx.AsyncClient, method: str, path: str, key: str) -> None:
    headers = {"x-api-key": f"{key}-secret"}
    await refused(kept_guarded.request(method, f"/datasets{path}", json=OTHER, headers=headers), 403, "forbidden")


async def test_a_data_set_is_put_read_listed_and_deleted(kept_guarded: httpx.AsyncClient) -> None:
    ops, dashboard = {"x-api-key": "ops-secret"}, {"x-api-key": "dash-secret"}
    put = await kept_guarded.put("/datasets/cakes", json=SET, headers=ops)
    assert (put.status_code, put.json()["created"]) == (201, True)
    got = await kept_guarded.get("/datasets/cakes", headers=dashboard)
    assert got.json() == {**SET, "generated": False}
    assert got.headers["etag"] == f'"{put.json()["version"]["version"]}"'
    listed = (await kept_guarded.get("/datasets", headers=dashboard)).json()["datasets"]
    assert [each["name"] for each in listed] == ["cakes", "teralune"]
    assert listed[0]["versions"] == [put.json()["version"]]
    deleted = await kept_guarded.delete("/datasets/cakes", headers=ops)
    assert deleted.json() == {
        "name": "cakes",
        "versions": [put.json()["version"]["version"]],
        "kept_for_runs": [],
    }
    await refused(kept_guarded.get("/datasets/cakes", headers=dashboard), 404, "unknown-dataset")


async def test_a_version_says_what_is_in_it(kept: httpx.AsyncClient) -> None:
    version = (await kept.put("/datasets/cakes", json=SET)).json()["version"]
    assert {name: version[name] for name in ("questions", "splits", "behaviors", "content", "generated")} == {
        "questions": 2,
        "splits": {"smoke": 1, "test": 1},
        "behaviors": {"answer": 1, "no_answer": 1},
        "content": "full",
        "generated": False,
    }
    assert version["created"].endswith("Z")


async def test_the_same_content_is_200_and_other_content_201(kept: httpx.AsyncClient) -> None:
    shuffled = {**SET, "questions": SET["questions"][::-1], "name": "something"}
    statuses = [(await kept.put("/datasets/cakes", json=body)).status_code for body in (SET, shuffled, OTHER, SET)]
    assert statuses == [201, 200, 201, 200]


async def test_questions_and_mapping_have_hashes_of_their_own(kept: httpx.AsyncClient) -> None:
    first = (await kept.put("/datasets/cakes", json=SET)).json()["version"]
    mapped_anew = {**SET, "evidence_mapping": {"E1": ["d1"]}}
    second = (await kept.put("/datasets/cakes", json=mapped_anew)).json()["version"]
    assert first["questions_hash"] == second["questions_hash"]
    assert first["mapping_hash"] != second["mapping_hash"]
    assert first["version"] != second["version"]


async def test_a_fixed_version_can_be_asked_for(kept: httpx.AsyncClient) -> None:
    version = (await kept.put("/datasets/cakes", json=SET)).json()["version"]["version"]
    await kept.put("/datasets/cakes", json=OTHER)
    assert len((await kept.get("/datasets/cakes")).json()["questions"]) == 1
    for reference in (version, version.removeprefix("sha256:")[:8]):
        assert len((await kept.get(f"/datasets/cakes@{reference}")).json()["questions"]) == 2


@pytest.mark.parametrize("name", ["a b", "ü", "a%00b", "x" * 129, "a@b"])
async def test_a_bad_name_is_400(kept: httpx.AsyncClient, name: str) -> None:
    await refused(kept.put(f"/datasets/{name}", json=OTHER), 400, "malformed-request")


@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        ({"questions": []}, 422, "empty-dataset", "/questions"),
        ({"questions": [{"id": "Q1", "question": "?"}] * 2}, 422, "question-twice", "/questions/1/id"),
        (
            {"questions": [{"id": "Q1", "question": "?", "evidence": [{"id": "E", "relevance": n} for n in (1, 2)]}]},
            422,
            "graded-twice",
            "/questions/0/evidence/1",
        ),
        (
            {"questions": [{"id": "Q1", "question": "?", "relevant": ["c"], "non_relevant": ["c"]}]},
            422,
            "relevant-and-not",
            "/questions/0/non_relevant/0",
        ),
        (
            {"questions": [{"id": "Q1", "question": "?", "expected_facts": ["72 hours", "..."]}]},
            422,
            "blank-expectation",
            "/questions/0/expected_facts/1",
        ),
        (
            {"questions": [{"id": "Q1", "question": "?", "reference_answers": [" \u200b"]}]},
            422,
            "blank-expectation",
            "/questions/0/reference_answers/0",
        ),
        ({"questions": [{"id": "", "question": "?"}]}, 400, "malformed-request", "/questions/0/id"),
        ({"questions": [{"id": "Q1", "question": "?", "color": 1}]}, 400, "malformed-request", "/questions/0"),
        (
            {"questions": [{"id": "Q", "question": "?"}], "evidence_mapping": 5},
            400,
            "malformed-request",
            "/evidence_mapping",
        ),
        ([], 400, "malformed-request", ""),
    ],
)
async def test_what_contradicts_itself_is_refused_before_anything_is_stored(
    kept: httpx.AsyncClient, body: Any, status: int, code: str, pointer: str
) -> None:
    document = await refused(kept.put("/datasets/bad", json=body), status, code)
    assert document["errors"][0]["pointer"] == pointer
    await refused(kept.get("/datasets/bad"), 404, "unknown-dataset")


@pytest.mark.parametrize(
    "body",
    [
        b'{"questions":[{"id":"Q","question":"?"}],"questions":[]}',
        b'{"questions":[{"id":"Q","id":"P","question":"?"}]}',
    ],
)
async def test_a_field_named_twice_is_400(kept: httpx.AsyncClient, body: bytes) -> None:
    await refused(kept.put("/datasets/bad", content=body), 400, "malformed-request")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_an_unknown_data_set_is_404(kept: httpx.AsyncClient, method: str) -> None:
    await refused(kept.request(method, "/datasets/none"), 404, "unknown-dataset")


async def test_the_bundled_data_set_is_there(kept: httpx.AsyncClient) -> None:
    assert len((await kept.get("/datasets/teralune")).json()["questions"]) == 120


async def test_a_name_put_over_the_bundled_one_is_not_taken_back_at_the_next_start(
    serve_kept: Callable[..., Any],
) -> None:
    await (await serve_kept()).put("/datasets/teralune", json=OTHER)
    assert len((await (await serve_kept()).get("/datasets/teralune")).json()["questions"]) == 1


async def test_a_data_set_that_a_run_needs_stays_for_it(kept: httpx.AsyncClient) -> None:
    version = (await kept.put("/datasets/cakes", json=SET)).json()["version"]["version"]
    body = {"dataset": "cakes", "retrieval": {"rankings": {"Q1": ["c1"]}}, "run": "main"}
    assert (await kept.post("/retrieve-eval", json=body)).status_code == 200
    assert (await kept.delete("/datasets/cakes")).json()["kept_for_runs"] == [version]
    run = (await kept.get("/runs/main")).json()
    assert run["dataset"]["version"]["version"] == version
    assert (await kept.get("/runs/main/bundle")).text.count(MARKER) == 5


async def test_under_ids_no_text_is_written_and_retrieval_is_measured_all_the_same(
    serve_kept: Callable[..., Any], tmp_path: Path
) -> None:
    full = (await (await serve_kept(data_dir=tmp_path / "full")).put("/datasets/cakes", json=SET)).json()["version"]
    client = await serve_kept(store_content="ids")
    put = (await client.put("/datasets/cakes", json=SET)).json()["version"]
    assert (put["version"], put["content"]) == (full["version"], "ids")
    rankings = {"retrieval": {"rankings": {"Q1": ["c9", "c1"]}}, "k": [1, 3]}
    by_name = await client.post("/retrieve-eval", json={"dataset": "cakes", "run": "named", **rankings})
    inline = await client.post(
        "/retrieve-eval", json={"dataset": SET, "run": "inline", **rankings}, headers={"idempotency-key": "1"}
    )
    assert by_name.json()["metrics"] == inline.json()["metrics"]
    assert by_name.json()["config"]["fingerprint"] == inline.json()["config"]["fingerprint"]
    bundle = (await (await serve_kept(data_dir=tmp_path / "full")).get("/datasets/cakes")).text
    assert MARKER in bundle
    assert MARKER.encode() not in _everything_in(tmp_path / "data")
    assert MARKER.encode() in _everything_in(tmp_path / "full")
    question = (await client.get("/datasets/cakes")).json()["questions"][0]
    assert question == {
        "id": "Q1",
        "question": "",
        "evidence": [{"id": "E1", "relevance": 2.0}],
        "tags": ["cake"],
        "split": "test",
    }


def _everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())
