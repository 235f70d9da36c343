"""Requests in short form, evaluated in the test's own process."""

import json
import time
from typing import Any

import pytest

from befund.contract import RetrieveEvalResponse
from befund.core.errors import BefundError
from befund.usecases.retrieve import evaluate_retrieval


def question(name: str = "Q", **fields: Any) -> dict[str, Any]:
    return {"id": name, "question": "?", **fields}


def body_of(questions: list[dict[str, Any]], rankings: dict[str, Any], **options: Any) -> bytes:
    """The request; `mapping`, `name` and `generated` belong to the data set."""
    dataset = {"questions": questions}
    for option, field in {"mapping": "evidence_mapping", "name": "name", "generated": "generated"}.items():
        if option in options:
            dataset[field] = options.pop(option)
    return json.dumps({"dataset": dataset, "retrieval": {"rankings": rankings}, **options}).encode()


def evaluate(questions: list[dict[str, Any]], rankings: dict[str, Any], **options: Any) -> RetrieveEvalResponse:
    return evaluate_retrieval(body_of(questions, rankings, **options), clock=time.monotonic)


def refused(questions: list[dict[str, Any]], rankings: dict[str, Any], **options: Any) -> BefundError:
    with pytest.raises(BefundError) as caught:
        evaluate(questions, rankings, **options)
    return caught.value


def values(response: RetrieveEvalResponse) -> dict[str, float | None]:
    return {name: estimate.value for name, estimate in response.metrics.items()}


def finding(response: RetrieveEvalResponse, code: str) -> Any:
    """The finding of this code; None where it was not made."""
    return next((found for found in response.findings if found.code == code), None)
