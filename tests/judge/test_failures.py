"""Errors as several servers word them."""

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from befund.adapters.openai_judge.failures import Kind, failure_of, seconds_to_wait

SENT = {"temperature", "max_completion_tokens", "store", "reasoning", "seed"}
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def pydantic(field: str, kind: str, message: str, value: Any = "x") -> dict[str, Any]:
    return {"type": kind, "loc": ["body", field], "msg": message, "input": value}


WORDINGS: list[tuple[int, Any, Kind, str | None]] = [
    (400, {"error": {"message": "Unsupported value", "param": "temperature"}}, "parameter", "temperature"),
    (400, {"error": {"message": "Invalid value", "param": "reasoning.effort"}}, "parameter", "reasoning"),
    (400, {"error": {"message": "Invalid schema for temperature", "param": "response_format"}}, "form", None),
    (400, {"error": {"message": "Invalid 'text.format'", "param": "text.format.schema"}}, "form", None),
    (400, {"error": {"code": 400, "message": 'unknown field "seed"'}}, "parameter", "seed"),
    (400, {"error": 'json: unknown field "seed"'}, "parameter", "seed"),
    (400, {"error": {"message": "the temperature outside is fine"}}, "form", None),
    (422, {"detail": [pydantic("response_format", "literal_error", "Input should be 'text'")]}, "form", None),
    (422, {"detail": [pydantic("seed", "extra_forbidden", "Extra inputs are not permitted")]}, "parameter", "seed"),
    (422, {"detail": [pydantic("prompt", "missing", "Field required", {"temperature": "invalid"})]}, "form", None),
    (
        422,
        {"object": "error", "message": {"detail": [pydantic("max_completion_tokens", "extra_forbidden", "Extra")]}},
        "parameter",
        "max_completion_tokens",
    ),
    (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}, "context", None),
    (400, {"error": {"message": "the request exceeds the available context size"}}, "context", None),
    (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens."}, "context", None),
    (413, b"<html>too large</html>", "context", None),
    (400, {"error": {"message": "filtered", "code": "content_filter"}}, "refused", None),
    (404, {"error": {"message": "no", "code": "model_not_found"}}, "rejected", None),
    (404, {"detail": "Not Found"}, "form", None),
    (404, b"404 page not found", "form", None),
    (401, {"error": {"message": "Incorrect API key"}}, "rejected", None),
    (429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, "limited", None),
    (500, {"error": {"message": "temperature unknown"}}, "unavailable", None),
    (503, b"", "unavailable", None),
    (302, b"", "garbled", None),
    (400, [1, 2], "form", None),
    (400, b"\xff\xfe", "form", None),
    (400, b"[" * 5_000, "form", None),
]


@pytest.mark.parametrize(("status", "body", "kind", "parameter"), WORDINGS, ids=range(len(WORDINGS)))
def test_what_an_error_means_is_read_from_status_code_and_words(
    status: int, body: Any, kind: Kind, parameter: str | None
) -> None:
    found = failure_of(status, body if isinstance(body, bytes) else json.dumps(body).encode(), sent=SENT)
    assert (found.kind, found.parameter) == (kind, parameter)


def test_only_status_and_code_are_passed_on() -> None:
    body = {"error": {"message": "I quote: a private question", "code": "bad_request"}}
    assert failure_of(400, json.dumps(body).encode(), sent=SENT).said == "the endpoint answered 400 (bad_request)"
    body["error"]["code"] = "I quote: a private question"
    assert failure_of(400, json.dumps(body).encode(), sent=SENT).said == "the endpoint answered 400"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "9" * 400}, None),
    ],
    ids=str,
)
def test_retry_after_is_read_in_seconds_milliseconds_and_as_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert seconds_to_wait(httpx.Headers(headers), now=NOW) == seconds
