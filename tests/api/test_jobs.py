import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from befund.usecases.jobs import PORTION

from .test_datasets import refused
from .test_judge import SAID, item

pytestmark = pytest.mark.anyio

ASYNC = {"prefer": "respond-async"}


async def submit(client: httpx.AsyncClient, *items: Any, headers: Any = ASYNC, **options: Any) -> str:
    answer = await client.post("/judge/batch", json={"items": items, **options}, headers=headers)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/jobs/{answer.json()['id']}"
    place: str = answer.headers["location"]
    return place


async def events(client: httpx.AsyncClient, place: str) -> list[dict[str, Any]]:
    """Every event of a job, until it ends."""
    answer = await client.get(f"{place}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = answer.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


async def finished(client: httpx.AsyncClient, place: str) -> dict[str, Any]:
    last = (await events(client, place))[-1]
    assert last["state"] in {"done", "failed", "cancelled"}
    found: dict[str, Any] = (await client.get(place)).json()
    return found


async def test_without_a_key_it_is_401_and_without_the_scope_403(kept_guarded: httpx.AsyncClient) -> None:
    for method, path, wrong in (
        ("GET", "/jobs/x", "ci"),
        ("GET", "/jobs/x/events", "ci"),
        ("DELETE", "/jobs/x", "dash"),
    ):
        await refused(kept_guarded.request(method, path), 401, "unauthorized")
        headers = {"x-api-key": f"{wrong}-secret"}
        await refused(kept_guarded.request(method, path, headers=headers), 403, "forbidden")


@pytest.mark.parametrize(("method", "path"), [("GET", "/jobs/x"), ("GET", "/jobs/x/events"), ("DELETE", "/jobs/x")])
async def test_an_unknown_job_is_404(kept: httpx.AsyncClient, method: str, path: str) -> None:
    await refused(kept.request(method, path), 404, "unknown-job")


async def test_a_job_gives_what_the_batch_would(kept: httpx.AsyncClient) -> None:
    items = [item(), item(answer="48 hours"), item(answer=1), item(question=None)]
    job = await finished(kept, await submit(kept, *items))
    assert (job["state"], job["done"], job["total"], job["failed"]) == ("done", 4, 4, 2)
    assert (job["spent_cost_usd"], job["estimated_cost_usd"], job["problem"]) == (0.0, 0.0, None)
    direct = (await kept.post("/judge/batch", json={"items": items})).json()
    for mine, theirs in zip(job["result"]["results"], direct["results"], strict=True):
        verdicts = [side["judgment"] and side["judgment"]["correct"] for side in (mine, theirs)]
        assert verdicts[0] == verdicts[1]
        assert (mine["problem"] and mine["problem"]["errors"]) == (theirs["problem"] and theirs["problem"]["errors"])
    assert job["result"]["summary"]["rates"] == direct["summary"]["rates"]


async def test_more_than_can_be_answered_at_once_is_a_job(kept: httpx.AsyncClient) -> None:
    job = await finished(kept, await submit(kept, *[item()] * 201, headers={}))
    assert (job["state"], job["done"], len(job["result"]["results"])) == ("done", 201, 201)


async def test_events_tell_how_it_gets_on(kept: httpx.AsyncClient) -> None:
    told = await events(kept, await submit(kept, *[item()] * 20))
    assert (told[-1]["state"], told[-1]["done"]) == ("done", 20)
    assert [each["done"] for each in told] == sorted(each["done"] for each in told)


async def test_a_job_keeps_its_judgments_in_the_run(kept: httpx.AsyncClient) -> None:
    answers = [{"question_id": name, "answer": SAID} for name in ("Q001", "Q002")]
    place = await submit(kept, *answers, dataset="teralune", run="main", replace_run=True)
    job = await finished(kept, place)
    records = (await kept.get("/runs/main")).json()["records"]
    assert [record["judgment"]["judgment"] for record in records] == [
        result["judgment"] for result in job["result"]["results"]
    ]


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [({"judge": "nobody"}, 422, "unknown-judge"), ({"dataset": "nothing"}, 404, "unknown-dataset")],
)
async def test_what_is_wrong_with_all_of_it_is_said_at_once(
    kept: httpx.AsyncClient, options: dict[str, Any], status: int, code: str
) -> None:
    body = {"items": [item()], **options}
    await refused(kept.post("/judge/batch", json=body, headers=ASYNC), status, code)


async def test_a_repetition_is_the_same_job(kept: httpx.AsyncClient) -> None:
    headers = ASYNC | {"idempotency-key": "k"}
    assert await submit(kept, item(), headers=headers) == await submit(kept, item(), headers=headers)
    await refused(
        kept.post("/judge/batch", json={"items": [item()] * 2}, headers=headers), 422, "idempotency-key-reused"
    )


async def test_a_cancelled_job_ends(kept: httpx.AsyncClient) -> None:
    place = await submit(kept, *[item()] * 200)
    cancelled = (await kept.delete(place)).json()
    assert cancelled["state"] in {"cancelled", "done"}
    assert (await kept.get(place)).json()["state"] == cancelled["state"]


async def test_without_texts_a_job_keeps_none_of_its_results(serve_kept: Callable[..., Any]) -> None:
    client = await serve_kept(store_content="ids")
    job = await finished(client, await submit(client, item()))
    assert (job["state"], job["result"]["results"][0]["judgment"]["correct"]) == ("done", True)
    assert "Orbit" not in str(job)


async def test_jobs_are_counted(kept: httpx.AsyncClient) -> None:
    counted = (await kept.get("/metrics")).text
    for state in ("queued", "running", "done", "failed", "cancelled"):
        assert f'befund_jobs{{state="{state}"}} 0.0' in counted
    assert "befund_queue_oldest_job_age_seconds 0.0" in counted


async def test_portions_make_no_difference(kept: httpx.AsyncClient) -> None:
    answers = [{"question_id": f"Q{i:03}", "answer": ""} for i in range(1, PORTION + 11)]
    again = {"question_id": "Q001", "answer": ""}
    place = await submit(kept, *answers, again, item(answer=1), dataset="teralune", run="main")
    results = (await finished(kept, place))["result"]["results"]
    assert [result["index"] for result in results] == list(range(PORTION + 12))
    assert all(result["judgment"] for result in results[:-2])
    twice, malformed = (result["problem"] for result in results[-2:])
    assert (twice["type"], malformed["type"]) == ("/problems/question-twice", "/problems/malformed-request")
    assert twice["errors"][0]["pointer"] == f"/items/{PORTION + 10}/question_id"
    assert malformed["errors"][0]["pointer"] == f"/items/{PORTION + 11}/answer"


async def test_a_job_logs_a_line_an_answer_or_one_for_all(
    kept: httpx.AsyncClient, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    small = await submit(kept, item(answer=""), item(answer=1))
    await finished(kept, small)
    large = await submit(kept, *[item(answer="")] * 101, item(answer=1))
    await finished(kept, large)
    lines = [line for line in logged() if line["event"] == "evaluated"]
    few, (whole,) = [[line for line in lines if line["job"] == place[6:]] for place in (small, large)]
    assert [line.get("problem") for line in few] == [None, "malformed-request"]
    assert (whole["questions"], whole["failed"], whole["judge"]) == (102, 1, "rules")
