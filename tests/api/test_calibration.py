from typing import Any

import httpx
import pytest

from .test_datasets import refused
from .test_judge import item, judged

pytestmark = pytest.mark.anyio


def labelled(correct: bool | None = None, **changes: Any) -> dict[str, Any]:
    return item(human={"correct": correct, "faithful": True}, **changes)


def request(*items: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"name": "by-hand", "judge": "rules", "items": items} | changes


async def calibrate(client: httpx.AsyncClient, *items: dict[str, Any], **changes: Any) -> dict[str, Any]:
    answer = await client.post("/judge/calibration", json=request(*items, **changes))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_without_a_key_it_is_401_and_without_the_scope_403(kept_guarded: httpx.AsyncClient) -> None:
    await refused(kept_guarded.post("/judge/calibration", json=request(labelled())), 401, "unauthorized")
    headers = {"x-api-key": "ci-secret"}
    await refused(kept_guarded.post("/judge/calibration", json=request(labelled()), headers=headers), 403, "forbidden")


async def test_a_judge_is_compared_with_people(kept: httpx.AsyncClient) -> None:
    found = await calibrate(kept, labelled(True), labelled(True, answer="48 hours"), labelled(False, answer="48 hours"))
    correct = found["dimensions"]["correct"]
    assert (correct["n"], correct["scored"], correct["disagreements"]) == (3, 3, [1])
    assert (correct["sensitivity"], correct["specificity"], correct["indicative"]) == (0.5, 1.0, True)
    assert (found["dimensions"]["behaved"]["n"], found["name"], found["failed"]) == (0, "by-hand", [])


async def test_what_cannot_be_judged_is_listed_and_lowers_the_coverage(kept: httpx.AsyncClient) -> None:
    found = await calibrate(kept, labelled(True), labelled(True, question=None))
    assert [(each["index"], each["problem"]["type"]) for each in found["failed"]] == [(1, "/problems/question-missing")]
    assert found["dimensions"]["correct"]["coverage"] == 0.5


async def test_it_rides_along_on_every_verdict_from_then_on(kept: httpx.AsyncClient) -> None:
    assert (await judged(kept, item()))["judge"]["calibration"] is None
    await calibrate(kept, labelled(True), labelled(False, answer="48 hours"))
    assert (await judged(kept, item()))["judge"]["calibration"]["correct"] == {
        "sensitivity": 1.0,
        "specificity": 1.0,
        "n": 2,
        "positives": 1,
        "negatives": 1,
    }


async def test_the_newest_one_counts(kept: httpx.AsyncClient) -> None:
    await calibrate(kept, labelled(True))
    await calibrate(kept, labelled(True), labelled(True), name="another")
    assert (await judged(kept, item()))["judge"]["calibration"]["correct"]["n"] == 2


async def test_an_unknown_judge_is_422(kept: httpx.AsyncClient) -> None:
    body = request(labelled(True), judge="nobody")
    await refused(kept.post("/judge/calibration", json=body), 422, "unknown-judge")


async def test_an_answer_may_name_the_judge_and_no_other(kept: httpx.AsyncClient) -> None:
    assert (await calibrate(kept, labelled(True, judge="rules")))["dimensions"]["correct"]["n"] == 1
    body = request(labelled(True), labelled(True, judge="default"))
    problem = await refused(kept.post("/judge/calibration", json=body), 422, "another-judge")
    assert problem["errors"][0]["pointer"] == "/items/1/judge"


async def test_where_the_caller_would_rather_read_it_is_a_page(kept: httpx.AsyncClient) -> None:
    answer = await kept.post("/judge/calibration", json=request(labelled(True)), headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "How far does the judge “rules” agree with people?" in answer.text


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "text/html;q=0.5, application/json", "text/html;q=0", "image/png"]
)
async def test_else_it_is_json(kept: httpx.AsyncClient, accept: str) -> None:
    answer = await kept.post("/judge/calibration", json=request(labelled(True)), headers={"accept": accept})
    assert answer.headers["content-type"] == "application/json"


async def test_a_problem_is_a_problem_for_who_would_rather_read(kept: httpx.AsyncClient) -> None:
    body = request(labelled(True), judge="nobody")
    await refused(kept.post("/judge/calibration", json=body, headers={"accept": "text/html"}), 422, "unknown-judge")


async def test_disagreements_are_told_in_words(kept: httpx.AsyncClient) -> None:
    found = await calibrate(kept, labelled(True), labelled(True, answer="48 hours", question_id="Q7"))
    (worst,) = found["dimensions"]["correct"]["worst"]
    assert (worst["index"], worst["question_id"], worst["answer"]) == (1, "Q7", "48 hours")
    assert (worst["human"], worst["judged"], worst["confidence"]) == (True, False, 0.8)
    assert "48 hours" in worst["reason"] or "72 hours" in worst["reason"]


async def test_answers_to_one_question_are_one_group_unless_groups_are_named(kept: httpx.AsyncClient) -> None:
    assert (await calibrate(kept, labelled(True), labelled(False)))["groups"] == 1
    assert (await calibrate(kept, labelled(True, group="a"), labelled(False, group="b")))["groups"] == 2
