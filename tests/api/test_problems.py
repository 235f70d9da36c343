from collections.abc import Callable
from typing import Any

import httpx
import pytest
from litestar import get

from befund.api.auth import needs
from befund.core.errors import BefundError, JudgeDeadlineError, JudgeUnavailableError, JudgeUnusableError
from befund.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "path", ["/nothing", "/retrieve-eval/more", "/schema/nothing", "/schema/a.json", "/schema/a/b"]
)
async def test_an_unknown_path_is_a_404_problem(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "/problems/not-found",
        "title": "Not found",
        "status": 404,
        "detail": "There is nothing at this path. GET /schema lists what the service answers.",
        "instance": path,
        "request_id": answer.headers["x-request-id"],
        "errors": [],
    }


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/retrieve-eval", {"POST", "OPTIONS"}),
        ("HEAD", "/retrieve-eval", {"POST", "OPTIONS"}),
        ("POST", "/healthz", {"GET", "HEAD", "OPTIONS"}),
        ("PROPFIND", "/healthz", {"GET", "HEAD", "OPTIONS"}),
        ("DELETE", "/schema/openapi.json", {"GET", "HEAD", "OPTIONS"}),
    ],
)
async def test_a_method_a_path_does_not_answer_is_405_with_allow(
    client: httpx.AsyncClient, method: str, path: str, allow: set[str]
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == allow
    if method != "HEAD":
        assert answer.json()["type"] == "/problems/method-not-allowed"


async def test_a_failure_is_500_and_says_nothing_of_its_cause(client: httpx.AsyncClient) -> None:
    answer = await client.get("/fail")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "/problems/internal-error"
    assert "private" not in answer.text
    assert "KeyError" not in answer.text


async def test_a_failure_is_logged_with_its_place_and_without_its_text(
    client: httpx.AsyncClient, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    answer = await client.get("/fail")
    failure = next(line for line in logged() if line["event"] == "failed")
    assert failure["request_id"] == answer.json()["request_id"]
    assert failure["error"] == "KeyError"
    assert failure["frames"][-1].endswith(" fail")
    assert "private" not in str(failure)


async def test_the_text_of_a_failure_is_logged_where_content_may_be(
    connect: Callable[..., httpx.AsyncClient], logged: Callable[[], list[dict[str, Any]]]
) -> None:
    await connect(Settings(log_content=True)).get("/fail")
    assert "private" in next(line for line in logged() if line["event"] == "failed")["error_text"]


async def test_a_host_header_that_is_none_is_a_400_problem(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"host": "a/b"})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


async def test_too_little_memory_is_503_and_logged_once(
    client: httpx.AsyncClient, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    answer = await client.get("/too-much")
    assert answer.status_code == 503
    assert answer.json()["type"] == "/problems/busy"
    assert answer.headers["retry-after"] == "10"
    assert [line["error"] for line in logged() if line["event"] == "failed"] == ["MemoryError"]
    assert (await client.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "title", "retry_after"),
    [
        (JudgeUnusableError("judge-refused", "It refused."), 502, "The judge gave no usable answer", None),
        (JudgeUnavailableError("judge-limited", "Wait.", retry_after=7), 503, "The judge is not available", "7"),
        (JudgeDeadlineError("judge-deadline", "Too late."), 504, "The judge did not answer in time", None),
    ],
    ids=["502", "503", "504"],
)
async def test_a_judge_that_fails_is_a_problem_that_says_how(
    connect: Callable[..., httpx.AsyncClient], error: BefundError, status: int, title: str, retry_after: str | None
) -> None:
    @get("/judged", opt=needs("read"), sync_to_thread=False)
    def judged() -> None:
        raise error

    answer = await connect(routes=[judged]).get("/judged")
    assert answer.status_code == status
    assert answer.headers.get("retry-after") == retry_after
    assert (answer.json()["type"], answer.json()["title"]) == (f"/problems/{error.code}", title)
    assert answer.json()["detail"] == error.detail
