import io
import json
import logging
from typing import Any

import pytest
import structlog

from befund.contract import (
    Context,
    Estimate,
    Excluded,
    Finding,
    IntervalSettings,
    QuestionCounts,
    QuestionResult,
    RetrieveEvalResponse,
    RetrieveTimings,
)
from befund.settings import LogQuestions
from befund.telemetry import Metrics, configure_logging, log_retrieval

REQUEST = {"request_id": "r1", "trace_id": None, "endpoint": "/retrieve-eval"}


def response(questions: int, *, leaks: int = 0, findings: list[Finding] | None = None) -> RetrieveEvalResponse:
    return RetrieveEvalResponse(
        questions=QuestionCounts(
            total=150,
            eligible=140,
            excluded=Excluded(behavior=[], ground_truth=[], mapping=[], index=None),
            missing_from_run=[],
            unknown_in_run=0,
        ),
        metrics={"hit_rate@5": Estimate(value=0.75, ci=None, n=4, attempted=4, unscored=0, method="too_few")},
        slices={},
        per_question=[
            QuestionResult(
                id=f"Q{number}",
                relevant=["c1"],
                retrieved=["c1", "c2"],
                first_relevant_rank=1,
                metrics={},
                known_false_positives=[],
                unjudged=1,
                duplicates=[],
                acl_leaks=["c2", "c3"] if number < leaks else [],
                returned=2,
            )
            for number in range(questions)
        ],
        context=Context(chunks_per_question=None, tokens_per_question=None, tokenizer=None),
        findings=findings or [],
        timings=RetrieveTimings(embed_ms=None, search_ms=None, score_ms=20.0),
        intervals=IntervalSettings(confidence=0.95, seed=7, resamples=0, unit="question"),
        config={},
        run="main",
    )


def lines_for(measured: RetrieveEvalResponse, log_questions: LogQuestions = "summary") -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    log_retrieval(
        lambda event, **fields: lines.append({"event": event, **fields}),
        measured,
        log_questions=log_questions,
        request=REQUEST,
        latency_ms=12.34567,
    )
    return lines


def test_each_question_is_logged_with_ids_and_without_text() -> None:
    lines = lines_for(response(2))
    assert len(lines) == 2
    assert lines[1] == {
        "event": "evaluated",
        "request_id": "r1",
        "trace_id": None,
        "endpoint": "/retrieve-eval",
        "run": "main",
        "latency_ms": 12.346,
        "question_id": "Q1",
        "retrieved": ["c1", "c2"],
        "excluded": None,
        "first_relevant_rank": 1,
        "acl_leaks": [],
    }


@pytest.mark.parametrize(
    ("questions", "log_questions", "lines"),
    [(100, "summary", 100), (101, "summary", 1), (101, "all", 101), (0, "summary", 1), (0, "all", 1)],
)
def test_many_questions_are_logged_in_one_line_unless_all_are_wanted(
    questions: int, log_questions: LogQuestions, lines: int
) -> None:
    assert len(lines_for(response(questions), log_questions)) == lines


def test_the_summary_line_tells_counts_and_means() -> None:
    (line,) = lines_for(response(0, findings=[Finding(code="SMALL_SAMPLE", message="...")]))
    assert line == {
        "event": "evaluated",
        **REQUEST,
        "run": "main",
        "latency_ms": 12.346,
        "questions": 150,
        "eligible": 140,
        "metrics": {"hit_rate@5": 0.75},
        "findings": ["SMALL_SAMPLE"],
    }


def leaks_counted(measured: RetrieveEvalResponse) -> float | None:
    metrics = Metrics(version="1", routes=[], callers=[])
    metrics.retrieval(measured)
    return metrics.registry.get_sample_value("befund_acl_leaks_total")


def test_questions_with_a_leak_are_counted() -> None:
    assert leaks_counted(response(5, leaks=2)) == 2


def test_without_single_questions_the_finding_is_counted() -> None:
    finding = Finding(code="ACL_LEAK", message="...", questions=["Q1", "Q2", "Q3"])
    assert leaks_counted(response(0, findings=[finding])) == 3


def test_a_stage_that_did_not_run_is_not_timed() -> None:
    metrics = Metrics(version="1", routes=[], callers=[])
    metrics.retrieval(response(1))
    count = "befund_retrieval_duration_seconds_count"
    assert metrics.registry.get_sample_value(count, {"stage": "embed"}) == 0
    assert metrics.registry.get_sample_value(count, {"stage": "score"}) == 1
    assert metrics.registry.get_sample_value("befund_retrieval_duration_seconds_sum", {"stage": "score"}) == 0.02


def test_our_events_and_those_of_libraries_are_lines_of_json() -> None:
    stream = io.StringIO()
    configure_logging("info", stream=stream)
    structlog.get_logger().info("evaluated", retrieved=["ü"], other=object)
    structlog.get_logger().debug("not shown")
    logging.getLogger("uvicorn.error").warning("%s happened", "it")
    logging.getLogger("httpx").info("not shown")
    structlog.reset_defaults()
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["event"], first["level"], first["retrieved"]) == ("evaluated", "info", ["ü"])
    assert (second["event"], second["level"], second["logger"]) == ("it happened", "warning", "uvicorn.error")
