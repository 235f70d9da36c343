from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest

from befund.settings import Settings

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}


async def problem(client: httpx.AsyncClient, body: bytes, **headers: str) -> dict[str, Any]:
    answer = await client.post("/retrieve-eval", content=body, headers=headers)
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert document["status"] == answer.status_code
    assert document["instance"] == "/retrieve-eval"
    assert document["request_id"] == answer.headers["x-request-id"]
    return document


async def test_without_a_key_it_is_401(guarded: httpx.AsyncClient, example: dict[str, Any]) -> None:
    answer = await guarded.post("/retrieve-eval", json=example)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="befund"'
    assert answer.json()["type"] == "/problems/unauthorized"


async def test_rankings_are_evaluated(client: httpx.AsyncClient, example: dict[str, Any]) -> None:
    answer = await client.post("/retrieve-eval", json=example)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["questions"]["total"] == 1


async def test_a_large_body_is_evaluated(client: httpx.AsyncClient, example: dict[str, Any]) -> None:
    example["config"] = {"filler": "x" * 100_000}
    answer = await client.post("/retrieve-eval", json=example)
    assert answer.json()["config"]["filler"] == "x" * 100_000


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"null",
        b'{"unknown": 1}',
        b'{"dataset": 5, "retrieval": {}}',
        b"\xff\xfe",
        b'{"dataset": "\xff", "retrieval": {}}',
        b"[" * 100_000,
        b'{"dataset": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"dataset": "x", "retrieval": {}, "config": {"x": NaN}}',
    ],
)
async def test_a_body_that_does_not_decode_is_400(client: httpx.AsyncClient, body: bytes) -> None:
    document = await problem(client, body, **JSON)
    assert document["status"] == 400
    assert document["type"] == "/problems/malformed-request"


async def test_an_empty_body_is_400(client: httpx.AsyncClient) -> None:
    assert (await problem(client, b"", **JSON))["detail"] == "The body is empty. Send a JSON object."


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-type": "application/x-msgpack"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-type": "application/json", "content-encoding": "gzip"},
        {"content-type": "garbage"},
    ],
)
async def test_what_is_not_plain_json_is_415(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    document = await problem(client, b"{}", **headers)
    assert document["status"] == 415
    assert document["type"] == "/problems/unsupported-media-type"


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json; charset="utf-8"',
        "application/vnd.befund+json",
    ],
)
async def test_json_by_any_of_its_names_is_read(
    client: httpx.AsyncClient, example: dict[str, Any], content_type: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    answer = await client.post("/retrieve-eval", content=msgspec.json.encode(example), headers=headers)
    assert answer.status_code == 200


async def test_a_body_over_the_limit_is_413(connect: Callable[..., httpx.AsyncClient], example: dict[str, Any]) -> None:
    client = connect(Settings(max_body_bytes=100))
    document = await problem(client, msgspec.json.encode(example), **JSON)
    assert document["status"] == 413
    assert "100 bytes" in document["detail"]
