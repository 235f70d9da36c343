from typing import Any

import httpx
import pytest
from litestar import get

from befund.app import create_app
from befund.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer ci-secret"},
        {"authorization": "bearer ci-secret"},
        {"x-api-key": "ci-secret"},
        {"authorization": "Basic Y2k6eA==", "x-api-key": "ci-secret"},
    ],
)
async def test_a_key_with_the_scope_passes(
    guarded: httpx.AsyncClient, example: dict[str, Any], headers: dict[str, str]
) -> None:
    assert (await guarded.post("/retrieve-eval", json=example, headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer ci-secre"},
        {"x-api-key": "ci-secret2"},
        {"x-api-key": "ci"},
        {"authorization": "Bearer wrong", "x-api-key": "ci-secret"},
    ],
)
async def test_a_wrong_key_is_401_and_not_echoed(
    guarded: httpx.AsyncClient, example: dict[str, Any], headers: dict[str, str]
) -> None:
    answer = await guarded.post("/retrieve-eval", json=example, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="befund", error="invalid_token"'
    assert "secret" not in answer.text
    assert "wrong" not in answer.text


async def test_a_key_without_the_scope_is_403_naming_it(guarded: httpx.AsyncClient, example: dict[str, Any]) -> None:
    answer = await guarded.post("/retrieve-eval", json=example, headers={"x-api-key": "dash-secret"})
    assert answer.status_code == 403
    assert answer.json()["type"] == "/problems/forbidden"
    assert "'dashboard' lacks the scope 'evaluate'" in answer.json()["detail"]


async def test_the_key_is_asked_for_before_the_body_is_looked_at(guarded: httpx.AsyncClient) -> None:
    answer = await guarded.post("/retrieve-eval", content=b"{", headers={"content-type": "text/plain"})
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/metrics", "/schema", "/schema/openapi.json"])
async def test_open_paths_need_no_key(kept_guarded: httpx.AsyncClient, path: str) -> None:
    assert (await kept_guarded.get(path)).status_code == 200


async def test_a_route_that_declares_no_scope_stops_the_start() -> None:
    @get("/undeclared", sync_to_thread=False)
    def undeclared() -> None: ...

    with pytest.raises(RuntimeError, match="/undeclared declares neither a scope nor that it is open"):
        create_app(Settings(), routes=[undeclared])
