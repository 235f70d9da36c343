import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from .test_datasets import refused
from .test_judge import SAID, item, named

pytestmark = pytest.mark.anyio

NDJSON = {"content-type": "application/x-ndjson"}


async def judged(client: httpx.AsyncClient, *items: Any, **options: Any) -> dict[str, Any]:
    answer = await client.post("/judge/batch", json={"items": items, **options})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def problems(found: dict[str, Any]) -> list[tuple[int, str] | None]:
    given = [result["problem"] for result in found["results"]]
    return [None if problem is None else (problem["status"], problem["type"][10:]) for problem in given]


async def test_answers_are_judged_in_request_order(kept: httpx.AsyncClient) -> None:
    found = await judged(kept, item(), item(answer="48 hours"), item(answer=""), item(expected_facts=None))
    assert [result["index"] for result in found["results"]] == [0, 1, 2, 3]
    assert [result["judgment"]["correct"] for result in found["results"]] == [True, False, False, None]
    assert found["results"][3]["judgment"]["status"]["correct"] == "not_evaluable"


async def test_one_bad_answer_fails_alone(kept: httpx.AsyncClient) -> None:
    found = await judged(kept, item(), item(answer=1), item(question=None), item(unknown=1), item())
    assert problems(found) == [
        None,
        (400, "malformed-request"),
        (422, "question-missing"),
        (400, "malformed-request"),
        None,
    ]
    assert [result["judgment"] is None for result in found["results"]] == [False, True, True, True, False]
    assert found["results"][1]["problem"]["errors"][0]["pointer"] == "/items/1/answer"
    assert found["results"][2]["problem"]["errors"][0]["pointer"] == "/items/2/question"


async def test_the_summary_counts_what_failed_as_unscored(kept: httpx.AsyncClient) -> None:
    summary = (await judged(kept, item(), item(answer="48 hours"), item(answer=1)))["summary"]
    correct = summary["rates"]["correct"]
    assert (correct["value"], correct["n"], correct["attempted"], correct["unscored"]) == (0.5, 2, 3, 1)
    assert summary["questions"] == 3
    assert summary["behavior"] == {"answer": {"answer": 2}}


async def test_rates_have_wilsons_interval_from_ten_answers_on(kept: httpx.AsyncClient) -> None:
    right, wrong = item(), item(answer="Orbit 3.0 retries failed webhook deliveries for 48 hours.")
    rates = (await judged(kept, *[right] * 10, *[wrong] * 3))["summary"]["rates"]
    assert (rates["correct"]["method"], rates["correct"]["n"]) == ("wilson", 13)
    assert [round(limit, 3) for limit in rates["correct"]["ci"]] == [0.497, 0.918]


async def test_an_answer_may_name_its_own_judge(kept: httpx.AsyncClient) -> None:
    found = await judged(kept, item(judge="rules"), item())
    assert [result["judgment"]["judge"]["name"] for result in found["results"]] == ["rules", "rules"]
    await refused(kept.post("/judge/batch", json={"items": [item(judge="nobody")]}), 422, "unknown-judge")


async def test_lines_are_answers_too(kept: httpx.AsyncClient) -> None:
    lines = "\n".join(json.dumps(each) for each in (item(), item(answer="48 hours"))) + "\n\n"
    answer = await kept.post("/judge/batch?judge=rules&votes=1", content=lines, headers=NDJSON)
    assert [result["judgment"]["correct"] for result in answer.json()["results"]] == [True, False]


async def test_lines_may_be_cut_anywhere_on_their_way(kept: httpx.AsyncClient) -> None:
    body = b"\n".join(json.dumps(each).encode() for each in (item(), item(answer="48 hours")))

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 7):
            yield body[start : start + 7]

    answer = await kept.post("/judge/batch", content=pieces(), headers=NDJSON)
    assert [result["judgment"]["correct"] for result in answer.json()["results"]] == [True, False]


async def test_too_many_lines_are_refused_before_all_have_come(kept: httpx.AsyncClient) -> None:
    sent = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"{}\n" * 100

    await refused(kept.post("/judge/batch", content=pieces(), headers=NDJSON), 422, "too-many-items")
    assert sent == 101


async def test_lines_over_the_limit_are_413(serve_kept: Callable[..., Any]) -> None:
    client = await serve_kept(max_body_bytes=100)
    content = b'{"answer": "' + b"x" * 100 + b'"}'
    await refused(client.post("/judge/batch", content=content, headers=NDJSON), 413, "body-too-large")


async def test_a_line_that_is_no_json_fails_alone(kept: httpx.AsyncClient) -> None:
    content = b'{"answer":\n' + json.dumps(item()).encode()
    answer = await kept.post("/judge/batch", content=content, headers=NDJSON)
    assert problems(answer.json()) == [(400, "malformed-request"), None]


@pytest.mark.parametrize(
    ("query", "content"), [("?judges=rules", b"{}"), ("?votes=many", b"{}"), ("?votes=0", b"{}"), ("", b"\n \n")]
)
async def test_lines_or_a_query_that_cannot_be_read_are_400(
    kept: httpx.AsyncClient, query: str, content: bytes
) -> None:
    await refused(kept.post(f"/judge/batch{query}", content=content, headers=NDJSON), 400, "malformed-request")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"items": []}, 400, "malformed-request"),
        ({"items": [item()], "judge": "nobody"}, 422, "unknown-judge"),
        ({"items": [named()], "dataset": "nothing"}, 404, "unknown-dataset"),
        ({"items": [{}] * 10_001}, 422, "too-many-items"),
        ({"items": [item()], "max_cost_usd": 0}, 400, "malformed-request"),
    ],
)
async def test_what_is_wrong_with_all_of_it_is_one_problem(
    kept: httpx.AsyncClient, body: dict[str, Any], status: int, code: str
) -> None:
    await refused(kept.post("/judge/batch", json=body), status, code)


async def test_other_media_types_are_415(kept: httpx.AsyncClient) -> None:
    headers = {"content-type": "text/csv"}
    problem = await refused(kept.post("/judge/batch", content=b"a,b", headers=headers), 415, "unsupported-media-type")
    assert "application/x-ndjson" in problem["detail"]


def answer_to(question: str, **changes: Any) -> dict[str, Any]:
    return {"question_id": question, "answer": SAID, "context": [{"id": "c1", "text": SAID}]} | changes


async def test_a_run_keeps_every_judgment(kept: httpx.AsyncClient) -> None:
    items = [answer_to("Q001"), answer_to("Q002"), answer_to("Q001"), {"answer": "no id"}]
    found = await judged(kept, *items, dataset="teralune", run="main")
    assert problems(found) == [None, None, (422, "question-twice"), (422, "question-id-missing")]
    records = (await kept.get("/runs/main")).json()["records"]
    assert [(record["question_id"], record["judgment"]["judgment"]) for record in records] == [
        ("Q001", found["results"][0]["judgment"]),
        ("Q002", found["results"][1]["judgment"]),
    ]


async def test_a_repetition_gets_the_same_answer(kept: httpx.AsyncClient) -> None:
    body = {"items": [answer_to("Q001")], "dataset": "teralune", "run": "main"}
    first, second = [await kept.post("/judge/batch", json=body, headers={"idempotency-key": "k"}) for _ in range(2)]
    assert (second.headers["idempotency-replayed"], second.content) == ("true", first.content)
