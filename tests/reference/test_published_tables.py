"""The published evaluation: its request, posted, gives every figure that was published."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from befund.usecases.compare import compare_rankings
from befund.usecases.retrieve import evaluate_retrieval

FOLDER = Path(__file__).resolve().parents[1] / "data" / "published_tables"
PUBLISHED = json.loads((FOLDER / "expected.json").read_text())
EXAMPLE = PUBLISHED["worked_example"]

Ask = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture(params=["in process", "over HTTP"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Evaluates a request, one way or the other."""
    if request.param == "in process":
        return lambda body: json.loads(
            msgspec.json.encode(evaluate_retrieval(json.dumps(body).encode(), clock=time.monotonic))
        )
    service = request.getfixturevalue("service")
    return lambda body: httpx.post(f"{service}/retrieve-eval", json=body).raise_for_status().json()


@pytest.fixture
def published() -> dict[str, Any]:
    """The request, in the form that the published file says to post it in."""
    run = json.loads((FOLDER / "smoke_run.json").read_text())
    return {
        "dataset": run["dataset"],
        "index_chunk_ids": run["index_chunk_ids"],
        "retrieval": {"rankings": run["rankings"]},
    }


def test_the_questions_that_count(ask: Ask, published: dict[str, Any]) -> None:
    questions = ask(published)["questions"]
    assert questions["total"] == PUBLISHED["smoke_questions"] == 25
    assert questions["eligible"] == PUBLISHED["eligible"] == 13
    excluded = {reason: len(names) for reason, names in questions["excluded"].items()}
    assert excluded == {**PUBLISHED["excluded"], "ground_truth": 0}


@pytest.mark.parametrize("per_question", [True, False])
def test_the_metrics(ask: Ask, published: dict[str, Any], per_question: bool) -> None:
    metrics = ask({**published, "k": [3, 5], "per_question": per_question})["metrics"]
    figures = {name: round(metrics[name]["value"], 3) for name in PUBLISHED["metrics"]}
    assert figures == PUBLISHED["metrics"]
    assert len(figures) == 6


def test_what_the_longer_cut_changes_question_by_question(ask: Ask, published: dict[str, Any]) -> None:
    rows = [row for row in ask({**published, "k": [3, 5]})["per_question"] if row["excluded"] is None]
    changed = PUBLISHED["compare"]

    def moved(metric: str, sign: int) -> list[str]:
        return [row["id"] for row in rows if sign * (row["metrics"][f"{metric}@5"] - row["metrics"][f"{metric}@3"]) > 0]

    assert moved("hit_rate", 1) == changed["hit_rate_improved"]
    assert moved("hit_rate", -1) == changed["hit_rate_regressed"]
    assert moved("precision", -1) == changed["precision_decreased"]


@pytest.mark.parametrize("k", [3, 5])
def test_the_chunks_before_a_generator(ask: Ask, published: dict[str, Any], k: int) -> None:
    assert k in PUBLISHED["compare"]["chunks_per_question"]
    assert ask({**published, "k": [k]})["context"]["chunks_per_question"] == k


def test_the_comparison_of_both_cutoffs(published: dict[str, Any]) -> None:
    expected = PUBLISHED["compare"]
    rankings = published["retrieval"]["rankings"]
    answer = compare_rankings(
        json.dumps(
            {
                "dataset": published["dataset"],
                "baseline": {"rankings": rankings, "k": expected["baseline_k"]},
                "candidate": {"rankings": rankings, "k": expected["candidate_k"]},
                "gates": [{"metric": "hit_rate", "max_drop": 0.0}],
            }
        ).encode()
    )
    metrics = {metric.metric: metric for metric in answer.metrics}
    hit_rate, precision = metrics["hit_rate"], metrics["precision"]
    assert (hit_rate.improved, hit_rate.regressed) == (expected["hit_rate_improved"], expected["hit_rate_regressed"])
    assert (precision.decreased, precision.regressed) == (expected["precision_decreased"], [])
    assert round(precision.delta or 0, 4) == -0.0718
    assert hit_rate.regression_possible is expected["hit_rate_regression_possible"]
    chunks = answer.budget["chunks_per_question"]
    assert [chunks.baseline, chunks.candidate] == expected["chunks_per_question"]
    assert round(chunks.increase_percent or 0, 1) == expected["context_increase_percent"]
    assert (answer.verdict, hit_rate.p_value, hit_rate.n) == ("pass", 1.0, 13)


def test_the_worked_example(ask: Ask) -> None:
    question = {"id": "Q", "question": "?", "relevant": EXAMPLE["relevant"]}
    rankings = {"Q": EXAMPLE["retrieved"]}
    answer = ask({"dataset": {"questions": [question]}, "retrieval": {"rankings": rankings}, "k": [3, 5]})
    figures = {name: value for name, value in EXAMPLE.items() if "@" in name}
    assert len(figures) == 5
    assert {name: answer["metrics"][name]["value"] for name in figures} == figures
