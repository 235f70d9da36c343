"""A judge that fails leaves a failed attempt in the run, and no gate passes on it."""

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from befund.app import create_app
from befund.core.configured import Judges, ModelJudge
from befund.core.usage import Price
from befund.settings import Settings

from .endpoint import Asked, FakeEndpoint, Step, Wire, error, says

pytestmark = pytest.mark.anyio

IDS = [f"Q{place:02}" for place in range(1, 13)]
FAILING = ["Q03", "Q07"]
QUESTIONS = [{"id": each, "question": f"How long is {each} kept?", "expected_facts": ["72 hours"]} for each in IDS]
GATES = [
    {"metric": "correct", "max_drop": 0.1},
    {"metric": "correct", "min": 0.9},
    {"metric": "correct", "max_regressions": 0},
    {"metric": "faithful", "max_drop": 0.05, "bound": "lower"},
    {"metric": "faithful_given_claims", "min": 0.9},
    {"metric": "unscored", "max_share": 0.05},
    {"metric": "correct", "min": 0.9, "repeats": 3},
]


@pytest.fixture
async def client(endpoint: FakeEndpoint, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A service with a data set of twelve questions and a judge before the endpoint."""
    judge = ModelJudge(
        name="openai", model="m-1", url=endpoint.url, backoff_seconds=0.0, deadline_seconds=20.0, price=Price(2.0, 8.0)
    )
    settings = Settings(
        data_dir=tmp_path, chroma_url="http://127.0.0.1:9", judges=Judges(default="openai", every=(judge,))
    )
    async with AsyncExitStack() as stack:
        app: Any = create_app(settings, checks=[])
        await stack.enter_async_context(app.app.lifespan())
        speaking = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://befund", timeout=60)
        await stack.enter_async_context(speaking)
        (await speaking.put("/datasets/twelve", json={"questions": QUESTIONS})).raise_for_status()
        yield speaking


def unusable_for(questions: Collection[str]) -> Step:
    """Answers well, but says nothing usable about some questions."""
    good, bad = says(), says("correct")

    async def step(asked: Asked, wire: Wire) -> None:
        is_bad = any(f" {each} " in asked.data["question"] for each in questions)
        await (bad if is_bad else good)(asked, wire)

    return step


def item(question: str, *, by: str = "the candidate") -> dict[str, Any]:
    said = f"Says {by}: {question} is kept for 72 hours."
    return {"question_id": question, "answer": said, "context": [{"id": "c1", "text": said}]}


async def judge(client: httpx.AsyncClient, run: str, ids: Collection[str] = IDS, **options: Any) -> dict[str, Any]:
    items = [item(each, by=run) for each in ids]
    answer = await client.post("/judge/batch", json={"items": items, "dataset": "twelve", "run": run, **options})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def compare(client: httpx.AsyncClient, *gates: dict[str, Any]) -> dict[str, Any]:
    body = {"baseline": {"run": "main"}, "candidate": {"run": "pr-42"}, "gates": gates or GATES}
    answer = await client.post("/compare", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def held(client: httpx.AsyncClient, run: str, question: str) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"/runs/{run}/questions/{question}")).json()["judgment"]["judgment"]
    return found


async def test_a_failed_attempt_is_kept_beside_the_judgments(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    endpoint.usually = unusable_for(FAILING)
    found = await judge(client, "pr-42")
    assert [each["index"] for each in found["results"] if each["problem"]] == [2, 6]
    kept = await held(client, "pr-42", "Q03")
    assert (kept["correct"], kept["status"]) == (
        None,
        {"correct": "failed", "faithful": "failed", "behaved": "failed"},
    )
    assert "judge-output-unusable" in kept["reason"]
    assert kept["usage"]["input_tokens"] > 0


async def test_the_summary_of_the_run_is_that_of_the_batch(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    endpoint.usually = unusable_for(FAILING)
    batch = (await judge(client, "pr-42"))["summary"]
    run = (await client.get("/runs/pr-42")).json()
    assert run["rates"] == batch["rates"]
    assert (run["rates"]["correct"]["n"], run["rates"]["correct"]["unscored"]) == (10, 2)
    assert run["behavior"] == batch["behavior"]
    assert run["usage"] == batch["usage"]


async def test_a_candidate_with_judge_failures_passes_no_gate(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    await judge(client, "main")
    endpoint.usually = unusable_for(FAILING)
    await judge(client, "pr-42")
    found = await compare(client)
    assert found["questions"]["unscored_candidate"] == FAILING
    assert [gate["status"] for gate in found["gates"]] == [
        "inconclusive",
        "inconclusive",
        "inconclusive",
        "inconclusive",
        "inconclusive",
        "fail",
        "inconclusive",
    ]
    assert found["gates"][5]["questions"] == FAILING


async def test_what_failed_on_both_sides_passes_no_gate(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    endpoint.usually = unusable_for(FAILING)
    await judge(client, "main")
    await judge(client, "pr-42")
    found = await compare(client)
    assert "pass" not in [gate["status"] for gate in found["gates"]]
    assert found["questions"]["unscored_baseline"] == found["questions"]["unscored_candidate"] == FAILING


async def test_a_judge_that_is_down_for_all_of_it_passes_no_gate(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    await judge(client, "main")
    endpoint.usually = error(401)
    await judge(client, "pr-42")
    found = await compare(client)
    assert "pass" not in [gate["status"] for gate in found["gates"]]
    assert found["questions"]["unscored_candidate"] == IDS


async def test_a_later_judgment_takes_the_place_of_a_failed_attempt(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    await judge(client, "main")
    endpoint.usually = unusable_for(FAILING)
    await judge(client, "pr-42")
    endpoint.usually = says()
    await judge(client, "pr-42", FAILING)
    assert (await held(client, "pr-42", "Q03"))["correct"] is True
    found = await compare(client, {"metric": "correct", "max_drop": 0.1}, {"metric": "unscored", "max": 0})
    assert (found["verdict"], found["questions"]["unscored_candidate"]) == ("pass", [])


async def test_one_answer_that_failed_is_kept_too(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    await judge(client, "pr-42", IDS[:2])
    endpoint.usually = error(401)
    answer = await client.post("/judge", json=item("Q03") | {"dataset": "twelve", "run": "pr-42"})
    assert answer.status_code == 502
    assert (await held(client, "pr-42", "Q03"))["status"]["correct"] == "failed"


async def test_so_is_one_that_was_to_be_diagnosed(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    endpoint.usually = unusable_for(FAILING)
    items = [item(each) for each in IDS[:4]]
    answer = await client.post("/diagnose/batch", json={"items": items, "dataset": "twelve", "run": "pr-42"})
    assert answer.status_code == 200
    assert (await held(client, "pr-42", "Q03"))["status"]["correct"] == "failed"
    assert (await held(client, "pr-42", "Q04"))["correct"] is True


async def test_what_no_money_was_left_for_is_unscored(client: httpx.AsyncClient) -> None:
    found = await judge(client, "pr-42", max_cost_usd=0.02)
    begun = sum(each["problem"] is None for each in found["results"])
    assert 0 < begun < len(IDS)
    assert (await client.get("/runs/pr-42")).json()["rates"]["correct"]["unscored"] == len(IDS) - begun


async def test_judged_anew_by_a_judge_that_fails_it_is_a_failed_attempt(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    await judge(client, "main")
    endpoint.usually = unusable_for(FAILING)
    answer = await client.post("/runs/main/rejudge", json={"run": "pr-42", "use_cache": False})
    assert [each["index"] for each in answer.json()["failed"]] == [2, 6]
    found = await compare(client)
    assert found["questions"]["unscored_candidate"] == FAILING
    assert "pass" not in [gate["status"] for gate in found["gates"]]


async def test_a_failed_attempt_is_judged_by_rejudging(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    endpoint.usually = unusable_for(FAILING)
    await judge(client, "main")
    endpoint.usually = says()
    (await client.post("/runs/main/rejudge", json={"run": "pr-42"})).raise_for_status()
    assert (await held(client, "pr-42", "Q03"))["correct"] is True


async def test_a_run_that_is_begun_anew_with_a_failed_attempt_keeps_nothing_old(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    await judge(client, "pr-42")
    endpoint.usually = error(401)
    await judge(client, "pr-42", ["Q01"], replace_run=True, use_cache=False)
    run = (await client.get("/runs/pr-42")).json()
    assert [record["question_id"] for record in run["records"]] == ["Q01"]


async def test_a_job_keeps_them_too(client: httpx.AsyncClient, endpoint: FakeEndpoint) -> None:
    await judge(client, "pr-42", ["Q12"])
    endpoint.usually = unusable_for(["Q01", *FAILING])
    body = {"items": [item(each) for each in IDS[:8]], "dataset": "twelve", "run": "pr-42", "replace_run": True}
    sent = await client.post("/judge/batch", json=body, headers={"Prefer": "respond-async"})
    assert sent.status_code == 202
    told = (await client.get(f"{sent.headers['location']}/events")).text
    assert '"state":"done"' in told
    run = (await client.get("/runs/pr-42")).json()
    assert [record["question_id"] for record in run["records"]] == IDS[:8]
    assert (run["rates"]["correct"]["n"], run["rates"]["correct"]["unscored"]) == (5, 3)
