import asyncio
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from befund.contract import Gate

from .test_datasets import refused

pytestmark = pytest.mark.anyio

QUESTIONS = [
    {"id": each, "question": f"What is {each}?", "relevant": ["gold"], "expected_facts": [f"{each} lasts 72 hours"]}
    for each in ("Q1", "Q2", "Q3", "Q4")
]
DATASET = {"questions": QUESTIONS}
HIT, MISS = ["gold", "x", "y"], ["x", "y", "z"]
BEFORE = {"Q1": HIT, "Q2": HIT, "Q3": MISS, "Q4": MISS}
AFTER = {"Q1": HIT, "Q2": MISS, "Q3": HIT, "Q4": MISS}
NO_DROP = {"metric": "hit_rate@1", "max_drop": 0}
NO_REGRESSION = {"metric": "hit_rate@1", "max_regressions": 0}
FORMS = {"text/markdown": "| gate |", "application/xml": "<testsuite", "text/html": "<html"}


def inline(**changes: Any) -> dict[str, Any]:
    body = {"dataset": DATASET, "baseline": {"rankings": BEFORE, "k": 3}, "candidate": {"rankings": AFTER, "k": 3}}
    return body | changes


def runs(*gates: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"baseline": {"run": "main"}, "candidate": {"run": "pr-42"}, "gates": list(gates)} | changes


async def measure(client: httpx.AsyncClient, run: str, rankings: dict[str, Any], **changes: Any) -> None:
    body = {"dataset": "four", "retrieval": {"rankings": rankings}, "k": [1, 3], "run": run} | changes
    (await client.post("/retrieve-eval", json=body)).raise_for_status()


async def answered(client: httpx.AsyncClient, run: str, answers: dict[str, str], **changes: Any) -> None:
    items = [{"question_id": each, "answer": answer, "context": []} for each, answer in answers.items()]
    body = {"items": items, "judge": "rules", "dataset": "four", "run": run} | changes
    (await client.post("/judge/batch", json=body)).raise_for_status()


async def compare(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post("/compare", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture
async def stored(kept: httpx.AsyncClient) -> httpx.AsyncClient:
    """A service with the runs `main` and `pr-42`."""
    (await kept.put("/datasets/four", json=DATASET)).raise_for_status()
    await measure(kept, "main", BEFORE)
    await measure(kept, "pr-42", AFTER)
    return kept


async def test_without_a_key_it_is_401_and_without_the_scope_403(kept_guarded: httpx.AsyncClient) -> None:
    await refused(kept_guarded.post("/compare", json=inline()), 401, "unauthorized")
    headers = {"x-api-key": "dash-secret"}
    await refused(kept_guarded.post("/compare", json=inline(), headers=headers), 403, "forbidden")


async def test_stored_runs_are_compared_question_by_question(stored: httpx.AsyncClient) -> None:
    found = await compare(stored, runs(NO_REGRESSION, NO_DROP))
    assert (found["verdict"], [gate["status"] for gate in found["gates"]]) == ("fail", ["fail", "pass"])
    assert found["gates"][0]["questions"] == ["Q2"]
    hit_rate = next(each for each in found["metrics"] if each["metric"] == "hit_rate@1")
    assert (hit_rate["improved"], hit_rate["regressed"]) == (["Q3"], ["Q2"])


async def test_rankings_sent_along_are_compared_as_stored_ones_are(stored: httpx.AsyncClient) -> None:
    kept = await compare(stored, runs(baseline={"run": "main", "k": 3}, candidate={"run": "pr-42", "k": 3}))
    sent = await compare(stored, inline())
    assert sent["metrics"] == kept["metrics"]


async def test_rankings_beside_a_run_are_measured_on_its_questions(stored: httpx.AsyncClient) -> None:
    body = runs(NO_REGRESSION, candidate={"rankings": AFTER, "k": 3}, baseline={"run": "main", "k": 3})
    assert (await compare(stored, body))["gates"][0]["questions"] == ["Q2"]


async def test_a_data_set_by_name(stored: httpx.AsyncClient) -> None:
    assert (await compare(stored, inline(dataset="four")))["questions"]["shared"] == 4


async def test_answers_are_compared_where_both_sides_judged_them(stored: httpx.AsyncClient) -> None:
    right = {each: f"{each} lasts 72 hours." for each in ("Q1", "Q2", "Q3", "Q4")}
    await answered(stored, "main", right)
    await answered(stored, "pr-42", right | {"Q4": "Q4 lasts 48 hours."})
    found = await compare(
        stored, runs({"metric": "correct", "max_regressions": 0}, {"metric": "correct", "max_drop": 0.3})
    )
    assert [(gate["status"], gate["questions"]) for gate in found["gates"]] == [("fail", ["Q4"]), ("pass", ["Q4"])]
    assert "ANSWERS_NOT_MEASURED" not in {each["code"] for each in found["findings"]}


async def test_rates_are_corrected_by_a_stored_calibration_beside_the_raw_ones(stored: httpx.AsyncClient) -> None:
    right = {each: f"{each} lasts 72 hours." for each in ("Q1", "Q2", "Q3", "Q4")}
    await answered(stored, "main", right)
    await answered(stored, "pr-42", right | {"Q4": "Q4 lasts 48 hours."})
    raw = next(each for each in (await compare(stored, runs()))["metrics"] if each["metric"] == "correct")
    assert (raw["candidate"]["value"], raw["candidate"]["corrected"]) == (0.75, None)
    people = [(True, "72 hours."), (True, "72 hours."), (True, "72 hours."), (True, "48 hours."), (False, "48 hours.")]
    items = [
        {
            "question": "How long?",
            "answer": f"It lasts {said}",
            "expected_facts": ["72 hours"],
            "human": {"correct": human},
        }
        for human, said in people
    ]
    body = {"name": "people", "judge": "rules", "items": items}
    (await stored.post("/judge/calibration", json=body)).raise_for_status()
    known = next(each for each in (await compare(stored, runs()))["metrics"] if each["metric"] == "correct")
    assert known["candidate"]["value"] == 0.75
    assert known["candidate"]["corrected"]["value"] == pytest.approx((0.75 + 1 - 1) / (0.75 + 1 - 1))
    assert known["baseline"]["corrected"]["value"] == 1.0
    assert known["delta"] == raw["delta"]


async def test_an_answer_the_candidate_lacks_keeps_the_gate_from_passing(stored: httpx.AsyncClient) -> None:
    right = {each: f"{each} lasts 72 hours." for each in ("Q1", "Q2", "Q3", "Q4")}
    await answered(stored, "main", right)
    await answered(stored, "pr-42", {name: answer for name, answer in right.items() if name != "Q4"})
    found = await compare(stored, runs({"metric": "correct", "max_drop": 0}, {"metric": "unscored", "max_share": 0.1}))
    assert found["questions"]["unscored_candidate"] == ["Q4"]
    assert [gate["status"] for gate in found["gates"]] == ["inconclusive", "fail"]


async def test_the_budget_of_answers(stored: httpx.AsyncClient) -> None:
    for run, factor in (("main", 1), ("pr-42", 2)):
        generation = {
            "latency_ms": 100 * factor,
            "usage": {"input_tokens": 90 * factor, "output_tokens": 10 * factor, "cost_usd": 0.25 * factor},
        }
        item = {"answer": "72 hours.", "context": [], "generation": generation}
        items = [item | {"question_id": each} for each in ("Q1", "Q2")]
        body = {"items": items, "judge": "rules", "dataset": "four", "run": run}
        (await stored.post("/judge/batch", json=body)).raise_for_status()
    gates = [{"metric": "tokens_per_question", "max_increase_percent": 100}, {"metric": "latency_ms", "max": 150}]
    found = await compare(stored, runs(*gates))
    assert [gate["status"] for gate in found["gates"]] == ["pass", "fail"]
    twice = {"increase_percent": 100.0, "n": 2}
    assert found["budget"]["tokens_per_question"] == {"baseline": 100.0, "candidate": 200.0, **twice}
    assert found["budget"]["latency_ms"] == {"baseline": 100.0, "candidate": 200.0, **twice}
    assert found["budget"]["cost_usd"] == {"baseline": 0.25, "candidate": 0.5, **twice}


@pytest.mark.parametrize("gate", [NO_DROP, NO_REGRESSION, {"metric": "hit_rate@3", "min": 0.4}])
@pytest.mark.parametrize("outage", [[], ["x"]])
async def test_a_search_that_finds_nothing_any_more_fails_its_gates(
    stored: httpx.AsyncClient, gate: dict[str, Any], outage: list[str]
) -> None:
    candidate = {"rankings": dict.fromkeys(BEFORE, outage), "k": 3}
    found = await compare(stored, inline(candidate=candidate, gates=[gate]))
    assert [each["status"] for each in found["gates"]] == ["fail"]


async def test_a_stored_run_that_found_nothing_fails_its_gates(stored: httpx.AsyncClient) -> None:
    await measure(stored, "pr-42", {each: [] for each in BEFORE}, replace_run=True)
    found = await compare(stored, runs(NO_DROP, {"metric": "hit_rate@3", "max_drop": 0}))
    assert [each["status"] for each in found["gates"]] == ["fail", "fail"]


async def test_an_unknown_run_is_404(stored: httpx.AsyncClient) -> None:
    await refused(stored.post("/compare", json=runs(candidate={"run": "pr-43"})), 404, "unknown-run")


async def test_an_unknown_data_set_is_404(stored: httpx.AsyncClient) -> None:
    await refused(stored.post("/compare", json=inline(dataset="nobody")), 404, "unknown-dataset")


@pytest.mark.parametrize(
    ("changes", "code", "pointer"),
    [
        ({"baseline": {"k": 3}}, "run-or-rankings", "/baseline"),
        ({"candidate": {"run": "a", "rankings": {}}}, "run-or-rankings", "/candidate"),
        ({"baseline": {"run": "main", "config": {"a": 1}}}, "config-of-run", "/baseline/config"),
        ({"dataset": None}, "dataset-missing", "/dataset"),
        ({"gates": [{"metric": "hit_rate"}]}, "gate-without-threshold", "/gates/0"),
        ({"gates": [NO_DROP, {"metric": "nonsense", "max_drop": 0}]}, "unknown-metric", "/gates/1/metric"),
        ({"metrics": ["mrr", "nonsense"]}, "unknown-metric", "/metrics/1"),
        ({"candidate": {"rankings": {"Q9": HIT}}}, "no-known-question", "/candidate/rankings"),
        ({"dataset": {"questions": []}}, "empty-dataset", "/dataset/questions"),
    ],
)
async def test_what_contradicts_itself_is_422(
    kept: httpx.AsyncClient, changes: dict[str, Any], code: str, pointer: str
) -> None:
    problem = await refused(kept.post("/compare", json=inline(**changes)), 422, code)
    assert problem["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"gates": [{"metric": "hit_rate", "max_drop": "much"}]}, "/gates/0/max_drop"),
        ({"gates": [{"metric": "hit_rate", "max_drops": 0}]}, "/gates/0"),
        ({"candidate": {"rankings": {"Q1": ["gold", 7]}}}, "/candidate/rankings/Q1/1"),
        ({"alpha": 0}, "/alpha"),
        ({"alpha": 1e-300}, "/alpha"),
        ({"k": 3}, ""),
    ],
)
async def test_what_does_not_decode_is_400(kept: httpx.AsyncClient, changes: dict[str, Any], pointer: str) -> None:
    problem = await refused(kept.post("/compare", json=inline(**changes)), 400, "malformed-request")
    assert problem["errors"][0]["pointer"] == pointer


async def test_a_field_or_a_ranking_given_twice_is_refused(kept: httpx.AsyncClient) -> None:
    twice = b'{"baseline": {"run": "a"}, "candidate": {"run": "b"}, "candidate": {"run": "c"}}'
    await refused(kept.post("/compare", content=twice), 400, "malformed-request")
    body = b'{"baseline": {"rankings": {"Q1": ["a"], "Q1": ["b"]}}, "candidate": {"rankings": {}}, '
    body += b'"dataset": {"questions": [{"id": "Q1", "question": "?", "relevant": ["a"]}]}}'
    await refused(kept.post("/compare", content=body), 422, "given-twice")


async def test_an_empty_run_and_runs_of_other_questions_are_422(stored: httpx.AsyncClient) -> None:
    other = {"questions": [{"id": "P1", "question": "?", "relevant": ["gold"]}]}
    await measure(stored, "other", {"P1": HIT}, dataset=other)
    await refused(stored.post("/compare", json=runs(NO_DROP, candidate={"run": "other"})), 422, "no-shared-question")
    (await stored.delete("/runs/other/questions/P1")).raise_for_status()
    await refused(stored.post("/compare", json=runs(NO_DROP, candidate={"run": "other"})), 422, "no-shared-question")


async def test_another_level_is_409_under_strict_and_else_inconclusive(stored: httpx.AsyncClient) -> None:
    await measure(stored, "other", AFTER, level="evidence")
    body = runs(NO_DROP, candidate={"run": "other"})
    await refused(stored.post("/compare", json=body | {"strict": True}), 409, "incomparable")
    found = await compare(stored, body)
    assert (found["verdict"], found["comparable"]["ok"]) == ("inconclusive", False)
    assert (await compare(stored, body | {"level": "evidence", "strict": True}))["verdict"] == "pass"


@pytest.mark.parametrize(("accept", "mark"), FORMS.items())
async def test_other_forms(stored: httpx.AsyncClient, accept: str, mark: str) -> None:
    answer = await stored.post("/compare", json=runs(NO_REGRESSION), headers={"accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(accept)
    assert mark in answer.text
    assert "Q2" in answer.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "image/png", "text/html;q=0", "*/*;q=0"])
async def test_else_it_is_json(stored: httpx.AsyncClient, accept: str) -> None:
    answer = await stored.post("/compare", json=runs(NO_DROP), headers={"accept": accept})
    assert answer.headers["content-type"] == "application/json"


async def test_junit_has_a_test_case_a_gate(stored: httpx.AsyncClient) -> None:
    gates = [NO_REGRESSION, NO_DROP, {"metric": "faithful", "min": 0.9}]
    answer = await stored.post("/compare", json=runs(*gates), headers={"accept": "application/xml"})
    suite = ElementTree.fromstring(answer.text)[0]  # noqa: S314 - our own
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [[child.tag for child in case] for case in suite] == [["failure"], [], ["error"]]


async def test_the_page_is_one_file_that_loads_nothing(stored: httpx.AsyncClient) -> None:
    answer = await stored.post("/compare", json=runs(NO_DROP), headers={"accept": "text/html"})
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "src=" not in answer.text
    assert "http://" not in answer.text.replace("http://www.w3.org/", "")


async def test_the_services_own_gates_decide_where_a_request_brings_none(serve_kept: Callable[..., Any]) -> None:
    client = await serve_kept(gates=(Gate(metric="hit_rate@1", max_regressions=0),))
    assert (await compare(client, inline()))["verdict"] == "fail"
    assert (await compare(client, inline(gates=[])))["verdict"] is None
    assert (await compare(client, inline(gates=[NO_DROP])))["verdict"] == "pass"


async def test_comparisons_are_counted_by_verdict_and_logged(
    stored: httpx.AsyncClient, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    await compare(stored, runs(NO_REGRESSION))
    await compare(stored, runs())
    exposed = (await stored.get("/metrics")).text
    counted = {verdict: f'befund_comparisons_total{{verdict="{verdict}"}}' for verdict in ("pass", "fail", "none")}
    assert f"{counted['fail']} 1.0" in exposed
    assert f"{counted['none']} 1.0" in exposed
    assert f"{counted['pass']} 0.0" in exposed
    line = next(each for each in logged() if each["event"] == "compared")
    assert (line["baseline"], line["candidate"], line["verdict"]) == ("main", "pr-42", "fail")


async def test_a_run_that_is_replaced_meanwhile_is_read_whole(stored: httpx.AsyncClient) -> None:
    async def replace() -> None:
        for _ in range(5):
            await measure(stored, "pr-42", AFTER, replace_run=True)

    found, *_ = await asyncio.gather(compare(stored, runs(NO_REGRESSION)), replace())
    assert found["questions"]["shared"] == 4
