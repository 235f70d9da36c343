from typing import Any

import httpx
import pytest

from .test_datasets import refused

pytestmark = pytest.mark.anyio

QUESTIONS = [
    {
        "id": each,
        "question": f"How long does {each} last?",
        "expected_facts": ["72 hours"],
        "relevant": ["gold"],
    }
    for each in ("Q1", "Q2", "Q3")
]


@pytest.fixture
async def stored(kept: httpx.AsyncClient) -> httpx.AsyncClient:
    """A run `main` with rankings of three questions and answers to two."""
    (await kept.put("/datasets/three", json={"questions": QUESTIONS})).raise_for_status()
    rankings = {"rankings": {each: ["gold"] for each in ("Q1", "Q2", "Q3")}}
    config = {"prompt": "v1"}
    body = {"dataset": "three", "retrieval": rankings, "k": [1], "run": "main", "config": config}
    (await kept.post("/retrieve-eval", json=body)).raise_for_status()
    items = [
        {
            "question_id": "Q1",
            "answer": "Q1 lasts 72 hours.",
            "context": [{"id": "gold", "text": "Q1 lasts 72 hours."}],
        },
        {
            "question_id": "Q2",
            "answer": "Q2 lasts 48 hours.",
            "context": [{"id": "gold", "text": "Q2 lasts 72 hours."}],
        },
    ]
    batch = {"items": items, "judge": "rules", "dataset": "three", "run": "main", "config": config}
    (await kept.post("/judge/batch", json=batch)).raise_for_status()
    return kept


async def rejudge(client: httpx.AsyncClient, **changes: Any) -> dict[str, Any]:
    answer = await client.post("/runs/main/rejudge", json={"run": "anew", "judge": "rules"} | changes)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_without_a_key_it_is_401_and_without_the_scope_403(kept_guarded: httpx.AsyncClient) -> None:
    await refused(kept_guarded.post("/runs/main/rejudge", json={"run": "anew"}), 401, "unauthorized")
    headers = {"x-api-key": "dash-secret"}
    await refused(kept_guarded.post("/runs/main/rejudge", json={"run": "anew"}, headers=headers), 403, "forbidden")


async def test_the_answers_are_judged_into_another_run_beside_what_retrieval_found(stored: httpx.AsyncClient) -> None:
    found = await rejudge(stored)
    assert (found["run"], found["judged"], found["without_answer"], found["failed"]) == ("anew", 2, ["Q3"], [])
    run = (await stored.get("/runs/anew")).json()
    old = (await stored.get("/runs/main")).json()
    assert run["rates"]["correct"]["value"] == 0.5
    assert run["metrics"] == old["metrics"]
    assert run["config"]["prompt"] == "v1"
    verdicts = {
        each["question_id"]: each["judgment"] and each["judgment"]["judgment"]["correct"] for each in run["records"]
    }
    assert verdicts == {"Q1": True, "Q2": False, "Q3": None}


async def test_a_diagnosis_rests_on_the_old_verdicts_and_is_left_behind(stored: httpx.AsyncClient) -> None:
    context = [{"id": "gold", "text": "Q1 lasts 72 hours."}]
    item = {"question_id": "Q1", "answer": "Q1 lasts 72 hours.", "context": context, "judge": "rules"}
    body = item | {"dataset": "three", "run": "main", "config": {"prompt": "v1"}}
    (await stored.post("/diagnose", json=body)).raise_for_status()
    await rejudge(stored)
    first = [(await stored.get(f"/runs/{run}")).json()["records"][0] for run in ("main", "anew")]
    assert first[0]["diagnosis"] is not None
    assert first[1]["diagnosis"] is None


async def test_both_runs_compare_equal(stored: httpx.AsyncClient) -> None:
    await rejudge(stored)
    gates = [{"metric": name, "max_regressions": 0} for name in ("hit_rate@1", "correct", "faithful")]
    body = {"baseline": {"run": "main"}, "candidate": {"run": "anew"}, "gates": gates}
    answer = (await stored.post("/compare", json=body)).json()
    assert (answer["verdict"], answer["comparable"]["ok"]) == ("pass", True)


async def test_portion_by_portion(stored: httpx.AsyncClient) -> None:
    assert (await rejudge(stored, questions=["Q1"]))["judged"] == 1
    assert (await rejudge(stored, questions=["Q2", "Q3"]))["judged"] == 1
    assert (await rejudge(stored, questions=["Q3"]))["judged"] == 0
    assert (await stored.get("/runs/anew")).json()["questions"] == 3


async def test_a_repetition_gets_the_same_answer(stored: httpx.AsyncClient) -> None:
    headers = {"idempotency-key": "once"}
    first, again = [
        await stored.post("/runs/main/rejudge", json={"run": "anew", "judge": "rules"}, headers=headers)
        for _ in range(2)
    ]
    assert (first.json(), again.headers["idempotency-replayed"]) == (again.json(), "true")


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"run": "main"}, 422, "same-run"),
        ({"questions": ["Q9"]}, 422, "unknown-question"),
        ({"judge": "nobody"}, 422, "unknown-judge"),
        ({"run": "a b"}, 400, "malformed-request"),
    ],
)
async def test_what_cannot_be_done_is_refused(
    stored: httpx.AsyncClient, changes: dict[str, Any], status: int, code: str
) -> None:
    await refused(stored.post("/runs/main/rejudge", json={"run": "anew"} | changes), status, code)


async def test_a_run_without_answers_is_refused(stored: httpx.AsyncClient) -> None:
    body = {"dataset": "three", "retrieval": {"rankings": {"Q1": ["gold"]}}, "k": [1], "run": "bare"}
    (await stored.post("/retrieve-eval", json=body)).raise_for_status()
    await refused(stored.post("/runs/bare/rejudge", json={"run": "anew"}), 422, "no-answers")
    await refused(stored.post("/runs/none/rejudge", json={"run": "anew"}), 404, "unknown-run")
