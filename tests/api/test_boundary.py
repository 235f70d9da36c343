import asyncio
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from befund.api.arrival import Bodies
from befund.api.middleware import Boundary
from befund.app import create_app
from befund.settings import Settings
from befund.telemetry import Metrics

pytestmark = pytest.mark.anyio

TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-01"


async def series(client: httpx.AsyncClient, name: str) -> dict[tuple[str, ...], float]:
    """The values of one counter by the values of its labels, in the order of the label names."""
    families = text_string_to_metric_families((await client.get("/metrics")).text)
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return {tuple(value for _, value in sorted(sample.labels.items())): sample.value for sample in samples}


async def test_a_request_id_is_echoed(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"x-request-id": "run-42/7"})
    assert answer.headers["x-request-id"] == "run-42/7"


@pytest.mark.parametrize("sent", ["", "two words", "x" * 129, "line\tbreak", "ümlaut".encode()])
async def test_a_request_id_that_is_not_sane_is_replaced(client: httpx.AsyncClient, sent: str | bytes) -> None:
    answer = await client.get("/healthz", headers={"x-request-id": sent})
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])


async def test_a_traceparent_is_echoed_and_logged(
    client: httpx.AsyncClient, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    answer = await client.get("/healthz", headers={"traceparent": TRACEPARENT})
    assert answer.headers["traceparent"] == TRACEPARENT
    assert logged()[-1]["trace_id"] == TRACE


async def test_a_traceparent_of_a_later_version_is_read(client: httpx.AsyncClient) -> None:
    sent = f"cc-{TRACE}-b7ad6b7169203331-01-what-comes-later"
    assert (await client.get("/healthz", headers={"traceparent": sent})).headers["traceparent"] == sent


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "00-xyz",
        TRACEPARENT.upper(),
        f"ff-{TRACE}-b7ad6b7169203331-01",
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"{TRACEPARENT}-more",
    ],
)
async def test_an_invalid_traceparent_is_dropped(client: httpx.AsyncClient, sent: str) -> None:
    assert "traceparent" not in (await client.get("/healthz", headers={"traceparent": sent})).headers


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/metrics", "/schema", "/schema/openapi.json"])
async def test_head_is_get_without_a_body(kept: httpx.AsyncClient, path: str) -> None:
    head, full = await kept.head(path), await kept.get(path)
    assert head.status_code == full.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == full.headers["content-type"]


async def test_options_names_the_methods_without_a_key(guarded: httpx.AsyncClient) -> None:
    answer = await guarded.options("/retrieve-eval")
    assert answer.status_code == 204
    assert answer.headers["allow"] == "OPTIONS, POST"


async def test_requests_are_counted_with_their_true_status_and_caller(
    guarded: httpx.AsyncClient, example: dict[str, Any]
) -> None:
    await guarded.post("/retrieve-eval", json=example)
    await guarded.post("/retrieve-eval", json=example, headers={"x-api-key": "dash-secret"})
    await guarded.post("/retrieve-eval", json=example, headers={"x-api-key": "ci-secret"})
    await guarded.get("/fail", headers={"x-api-key": "dash-secret"})
    counted = {
        labels: value for labels, value in (await series(guarded, "befund_http_requests_total")).items() if value
    }
    assert counted == {
        ("anonymous", "POST", "/retrieve-eval", "401"): 1.0,
        ("dashboard", "POST", "/retrieve-eval", "403"): 1.0,
        ("ci", "POST", "/retrieve-eval", "200"): 1.0,
        ("dashboard", "GET", "/fail", "500"): 1.0,
    }


async def test_what_a_caller_makes_up_makes_no_series(client: httpx.AsyncClient) -> None:
    for number in range(20):
        await client.get(f"/{number}")
        await client.get(f"/schema/{number}")
        await client.request(f"METHOD{number}", "/healthz")
        await client.get("/healthz", headers={"x-api-key": str(number)})
    counted = await series(client, "befund_http_requests_total")
    assert counted["anonymous", "GET", "unmatched", "404"] == 20
    assert counted["anonymous", "GET", "/schema/{path}", "404"] == 20
    assert counted["anonymous", "OTHER", "/healthz", "405"] == 20
    assert counted["anonymous", "GET", "/healthz", "200"] == 20
    assert {route for _, _, route, _ in counted} == {
        "/healthz",
        "/readyz",
        "/metrics",
        "/retrieve-eval",
        "/compare",
        "/collections",
        "/collections/{name}",
        "/datasets",
        "/datasets/{name}",
        "/runs",
        "/runs/{name}",
        "/runs/{name}/bundle",
        "/runs/{name}/rejudge",
        "/runs/{name}/questions/{question}",
        "/collections/{name}/documents",
        "/collections/{name}/evidence-mapping",
        "/judge",
        "/judge/batch",
        "/diagnose",
        "/diagnose/batch",
        "/judge/calibration",
        "/jobs/{job_id}",
        "/monitors",
        "/monitors/{name}",
        "/monitors/{name}/entries",
        "/jobs/{job_id}/events",
        "/fail",
        "/too-much",
        "/",
        "/schema",
        "/schema/openapi.json",
        "/schema/{path}",
        "unmatched",
    }


async def test_known_series_stand_at_zero_from_the_start(guarded: httpx.AsyncClient) -> None:
    counted = await series(guarded, "befund_http_requests_total")
    assert counted["ci", "POST", "/retrieve-eval", "200"] == 0
    assert counted["dashboard", "POST", "/retrieve-eval", "500"] == 0
    assert await series(guarded, "befund_acl_leaks_total") == {(): 0}
    assert await series(guarded, "befund_retrieval_duration_seconds_count") == {
        ("embed",): 0,
        ("search",): 0,
        ("score",): 0,
    }
    assert list((await series(guarded, "befund_build_info")).values()) == [1]


async def test_an_evaluation_is_timed_by_stage(client: httpx.AsyncClient, example: dict[str, Any]) -> None:
    await client.post("/retrieve-eval", json=example)
    assert (await series(client, "befund_retrieval_duration_seconds_count"))["score",] == 1


async def test_what_stands_behind_the_path_is_not_logged(
    client: httpx.AsyncClient, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    await client.get("/healthz?token=private")
    assert [line["path"] for line in logged() if line["event"] == "request"] == ["/healthz"]
    assert "private" not in str(logged())


async def test_a_request_is_logged_in_one_line_without_body_or_key(
    guarded: httpx.AsyncClient, example: dict[str, Any], logged: Callable[[], list[dict[str, Any]]]
) -> None:
    headers = {"authorization": "Bearer ci-secret"}
    answer = await guarded.post("/retrieve-eval", json=example, headers=headers)
    lines = [line for line in logged() if line["event"] == "request"]
    assert len(lines) == 1
    line = lines[0]
    assert line.pop("duration_ms") >= 0
    assert line.pop("timestamp")
    assert line == {
        "event": "request",
        "level": "info",
        "request_id": answer.headers["x-request-id"],
        "trace_id": None,
        "method": "POST",
        "path": "/retrieve-eval",
        "route": "/retrieve-eval",
        "status": 200,
        "caller": "ci",
    }
    assert "secret" not in str(logged())
    assert "private" not in str(logged())


async def answer_to_half_a_body(then: Callable[[], Any], counted: Metrics) -> list[Any]:
    """Send the first half of a body straight to the app, let `then` happen, and give what the app sends."""
    bodies = Bodies(most_bytes=1000, seconds=60, idle_seconds=0.05)
    app = Boundary(create_app(Settings()).app, metrics=counted, bodies=bodies)
    scope = {"type": "http", "method": "POST", "path": "/retrieve-eval", "headers": [], "query_string": b""}
    messages = [{"type": "http.request", "body": b"{", "more_body": True}]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop() if messages else await then()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


async def test_a_body_that_stops_arriving_is_408_and_closes_the_connection() -> None:
    start, body = await answer_to_half_a_body(asyncio.Event().wait, Metrics(version="1", routes=[], callers=[]))
    assert start["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    assert b"/problems/request-timeout" in body["body"]


async def test_a_caller_who_goes_away_in_a_body_is_not_an_error_of_ours(
    logged: Callable[[], list[dict[str, Any]]],
) -> None:
    metrics = Metrics(version="1", routes=[], callers=[])

    async def leaves() -> Any:
        return {"type": "http.disconnect"}

    await answer_to_half_a_body(leaves, metrics)
    labels = {"route": "/retrieve-eval", "method": "POST", "status": "499", "caller": "anonymous"}
    assert metrics.registry.get_sample_value("befund_http_requests_total", labels) == 1
    assert [line["event"] for line in logged()] == ["request"]
