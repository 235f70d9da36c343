from typing import Any

import httpx
import pytest

from befund.adapters.rules_judge import RulesJudge

from .test_datasets import refused
from .test_judge import item, judged, named
from .test_judge_batch import judged as judged_together

pytestmark = pytest.mark.anyio

UNSURE = item(
    question="Who may rotate an API key?",
    answer="Keys are rotated by whoever looks after the workspace.",
    expected_facts=["Workspace administrators rotate API keys"],
    context=None,
    expected_behavior=None,
)


async def test_rules_decide_where_they_would_abstain(kept: httpx.AsyncClient) -> None:
    free, forced = await judged(kept, UNSURE), await judged(kept, UNSURE | {"force_verdict": True})
    assert (free["status"]["correct"], free["correct"]) == ("abstained", None)
    assert (forced["status"]["correct"], forced["correct"]) == ("scored", False)


async def test_they_are_another_judge_then(kept: httpx.AsyncClient) -> None:
    free, forced = await judged(kept, item()), await judged(kept, item(force_verdict=True))
    assert free["judge"]["fingerprint"] != forced["judge"]["fingerprint"]
    assert (free["judge"]["name"], forced["judge"]["name"]) == ("rules", "rules")


async def test_a_batch_is_forced_as_a_whole(kept: httpx.AsyncClient) -> None:
    free = (await judged_together(kept, UNSURE, item()))["summary"]["rates"]["correct"]
    forced = (await judged_together(kept, UNSURE, item(), force_verdict=True))["summary"]["rates"]["correct"]
    assert (free["n"], free["unscored"], forced["n"], forced["unscored"]) == (1, 1, 2, 0)


@pytest.mark.parametrize("first", [True, False])
async def test_a_run_holds_no_forced_verdict_beside_another(kept: httpx.AsyncClient, first: bool) -> None:
    await judged(kept, named(run="main", force_verdict=first))
    again = named(run="main", force_verdict=not first)
    problem = await refused(kept.post("/judge", json=again), 409, "run-conflict")
    assert "judge rules" in problem["detail"]


async def test_it_is_an_option_of_lines_too(kept: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/x-ndjson"}
    body = b'{"question": "Why?", "answer": "Because."}'
    answer = await kept.post("/judge/batch?force_verdict=true", content=body, headers=headers)
    (result,) = answer.json()["results"]
    assert result["judgment"]["judge"]["fingerprint"] == RulesJudge(force=True).fingerprint


async def test_each_is_calibrated_for_itself(kept: httpx.AsyncClient) -> None:
    body = {"name": "forced", "items": [UNSURE | {"human": {"correct": False}}], "force_verdict": True}
    found = (await kept.post("/judge/calibration", json=body)).json()
    assert found["dimensions"]["correct"]["specificity"] == 1.0
    assert (await judged(kept, item()))["judge"]["calibration"] is None
    calibration: dict[str, Any] = (await judged(kept, item(force_verdict=True)))["judge"]["calibration"]
    assert calibration["correct"]["specificity"] == 1.0
