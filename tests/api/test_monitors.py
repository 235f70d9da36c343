from collections.abc import Callable
from typing import Any

import httpx
import pytest

from .test_datasets import refused
from .test_jobs import finished, submit
from .test_judge import SAID, item, judged, named
from .test_judge_batch import judged as judged_together

pytestmark = pytest.mark.anyio

WRONG = "Orbit 3.0 retries failed webhook deliveries for 48 hours."


async def seen(client: httpx.AsyncClient, query: str = "", name: str = "prod") -> dict[str, Any]:
    answer = await client.get(f"/monitors/{name}{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def entries(client: httpx.AsyncClient, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"/monitors/prod/entries{query}")).json()["entries"]
    return found


@pytest.mark.parametrize(
    ("method", "path", "wrong"),
    [
        ("GET", "/monitors", "ci"),
        ("GET", "/monitors/prod", "ci"),
        ("GET", "/monitors/prod/entries", "ci"),
        ("DELETE", "/monitors/prod", "dash"),
    ],
)
async def test_without_a_key_it_is_401_and_without_the_scope_403(
    kept_guarded: httpx.AsyncClient, method: str, path: str, wrong: str
) -> None:
    await refused(kept_guarded.request(method, path), 401, "unauthorized")
    headers = {"x-api-key": f"{wrong}-secret"}
    await refused(kept_guarded.request(method, path, headers=headers), 403, "forbidden")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/monitors/x"), ("GET", "/monitors/x/entries"), ("DELETE", "/monitors/x")]
)
async def test_an_unknown_monitor_is_404(kept: httpx.AsyncClient, method: str, path: str) -> None:
    await refused(kept.request(method, path), 404, "unknown-monitor")


async def test_judgments_are_appended_and_counted(kept: httpx.AsyncClient) -> None:
    for _ in range(2):
        await judged(kept, item(monitor="prod", generation={"latency_ms": 800.0}))
    await judged(kept, item(monitor="prod", answer=WRONG))
    found = await seen(kept)
    assert (found["name"], found["answers"], found["held"], found["failed"], found["windows"]) == ("prod", 3, 3, 0, [])
    correct = found["rates"]["correct"]
    assert (correct["value"], correct["ci"], correct["n"], correct["method"]) == (2 / 3, None, 3, "too_few")
    assert found["correct_by_faithful"] == {"tt": 2, "tf": 0, "ft": 0, "ff": 1}
    assert found["behavior"] == {"answer": {"answer": 3}}
    assert found["usage"] == {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cost_usd": 0.0}
    assert found["timings"]["generation_ms"] == {"mean": 800.0, "max": 800.0}
    assert list(found["judges"].values()) == [3]


async def test_rates_have_wilsons_interval_from_ten_answers_on(kept: httpx.AsyncClient) -> None:
    await judged_together(kept, *[item()] * 10, *[item(answer=WRONG)] * 3, monitor="prod")
    correct = (await seen(kept))["rates"]["correct"]
    assert (correct["method"], correct["n"]) == ("wilson", 13)
    assert [round(limit, 3) for limit in correct["ci"]] == [0.497, 0.918]


async def test_they_are_those_a_batch_tells(kept: httpx.AsyncClient) -> None:
    sent = [item(), item(answer=WRONG), item(answer=""), item(context=None), item(expected_behavior="no_answer")]
    summary = (await judged_together(kept, *sent, monitor="prod"))["summary"]
    found = await seen(kept)
    for figure in ("rates", "correct_by_faithful", "behavior", "usage", "corrected"):
        assert found[figure] == summary[figure]
    assert found["timings"]["judge_ms"] == pytest.approx(summary["timings"]["judge_ms"])


async def test_windows_show_the_time_before_as_well(kept: httpx.AsyncClient) -> None:
    await judged(kept, item(monitor="prod"))
    found = await seen(kept, "?window=7200&step=3600")
    assert [window["answers"] for window in found["windows"]] == [0, 1]
    assert found["windows"][0]["rates"]["correct"]["value"] is None
    assert found["windows"][0]["until"] == found["windows"][1]["since"]
    assert (found["windows"][0]["since"], found["windows"][1]["until"]) == (found["since"], found["until"])


async def test_what_was_judged_before_is_not_in_the_time(kept: httpx.AsyncClient) -> None:
    await judged(kept, item(monitor="prod"))
    found = await seen(kept, "?since=2020-01-01T00:00:00Z&until=2021-01-01T00:00:00%2B01:00")
    assert (found["answers"], found["held"], found["until"]) == (0, 1, "2020-12-31T23:00:00Z")


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("?since=yesterday", 400, "malformed-request"),
        ("?window=0", 400, "malformed-request"),
        ("?step=0", 400, "malformed-request"),
        ("?window=99999999999", 400, "malformed-request"),
        ("?window=60&since=2026-01-01T00:00:00Z", 422, "window-and-since"),
        ("?window=86400&step=10", 422, "too-many-windows"),
        ("?since=2999-01-01T00:00:00Z", 422, "empty-period"),
        ("/entries?cursor=x", 400, "malformed-request"),
        ("/entries?limit=501", 400, "malformed-request"),
    ],
)
async def test_a_query_that_cannot_be_used_is_refused(
    kept: httpx.AsyncClient, query: str, status: int, code: str
) -> None:
    await judged(kept, item(monitor="prod"))
    await refused(kept.get(f"/monitors/prod{query}"), status, code)


async def test_monitors_are_listed(kept: httpx.AsyncClient) -> None:
    assert (await kept.get("/monitors")).json() == {"monitors": []}
    await judged(kept, item(monitor="prod"))
    await judged_together(kept, item(), item(), monitor="beta")
    found = (await kept.get("/monitors")).json()["monitors"]
    assert [(monitor["name"], monitor["answers"]) for monitor in found] == [("beta", 2), ("prod", 1)]


async def test_a_deleted_monitor_is_gone(kept: httpx.AsyncClient) -> None:
    await judged(kept, item(monitor="prod"))
    assert (await kept.delete("/monitors/prod")).status_code == 204
    await refused(kept.get("/monitors/prod"), 404, "unknown-monitor")


@pytest.mark.parametrize(
    ("changes", "code", "pointer"),
    [
        ({"run": "main", "question_id": "Q001", "dataset": "teralune"}, "run-and-monitor", "/monitor"),
        ({"replace_run": True}, "monitor-replaced", "/replace_run"),
        ({"config": {"prompt": "x" * 5_000}}, "config-too-large", "/config"),
    ],
)
async def test_what_contradicts_a_monitor_is_422(
    kept: httpx.AsyncClient, changes: dict[str, Any], code: str, pointer: str
) -> None:
    problem = await refused(kept.post("/judge", json=item(monitor="prod") | changes), 422, code)
    assert problem["errors"][0]["pointer"] == pointer
    whole = {"items": [item()], "monitor": "prod", **{k: v for k, v in changes.items() if k != "question_id"}}
    await refused(kept.post("/judge/batch", json=whole), 422, code)


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 129])
async def test_a_name_that_is_none_is_400(kept: httpx.AsyncClient, name: str) -> None:
    await refused(kept.post("/judge", json=item(monitor=name)), 400, "malformed-request")


async def test_an_entry_holds_what_was_judged(kept: httpx.AsyncClient) -> None:
    judgment = await judged(kept, named(monitor="prod", config={"prompt": "p7"}))
    (entry,) = await entries(kept)
    assert entry["judgment"] == judgment
    assert (entry["question_id"], entry["answer"], entry["config"]) == ("Q001", SAID, {"prompt": "p7"})
    assert entry["question"].startswith("Wie lange versucht Orbit 3.0")
    assert (entry["expected_behavior"], entry["problem"]) == ("answer", None)
    assert entry["context"] == [{"id": "c1", "text": SAID}]


async def test_without_texts_an_entry_holds_none(serve_kept: Callable[..., Any]) -> None:
    client = await serve_kept(store_content="ids")
    await judged(client, item(monitor="prod"))
    (entry,) = await entries(client)
    assert entry["judgment"]["correct"] is True
    assert entry["context"] == [{"id": "c1"}]
    assert "Orbit" not in str(entry)


async def test_entries_come_by_page(kept: httpx.AsyncClient) -> None:
    answers = (SAID, WRONG, "48 hours")
    for answer in answers:
        await judged(kept, item(monitor="prod", answer=answer))
    first = (await kept.get("/monitors/prod/entries?limit=2")).json()
    assert [entry["answer"] for entry in first["entries"]] == ["48 hours", WRONG]
    second = (await kept.get(f"/monitors/prod/entries?limit=2&cursor={first['next']}")).json()
    assert ([entry["answer"] for entry in second["entries"]], second["next"]) == ([SAID], None)


@pytest.mark.parametrize(
    ("path", "body"),
    [("/judge", item(monitor="prod")), ("/judge/batch", {"items": [item(), item()], "monitor": "prod"})],
)
async def test_a_repetition_gets_the_same_answer_and_is_not_counted_again(
    kept: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    first, second = [await kept.post(path, json=body, headers={"idempotency-key": "k"}) for _ in range(2)]
    assert (second.headers["idempotency-replayed"], second.content) == ("true", first.content)
    assert (await seen(kept))["answers"] == (1 if path == "/judge" else 2)


async def test_what_is_wrong_with_an_answer_is_not_traffic(kept: httpx.AsyncClient) -> None:
    await judged_together(kept, item(), item(answer=1), item(question=None), monitor="prod")
    found = await seen(kept)
    assert (found["answers"], found["failed"]) == (1, 0)


async def test_a_job_appends_each_answer_once(kept: httpx.AsyncClient) -> None:
    job = await finished(kept, await submit(kept, item(), item(answer=WRONG), item(answer=1), monitor="prod"))
    assert (job["done"], job["failed"]) == (3, 1)
    assert (await seen(kept))["rates"]["correct"]["value"] == 0.5
    ids = {entry["judgment"]["id"] for entry in await entries(kept)}
    assert ids == {result["judgment"]["id"] for result in job["result"]["results"] if result["judgment"]}


async def test_lines_name_the_monitor_in_the_query(kept: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/x-ndjson"}
    body = b'{"question": "Why?", "answer": "Because."}'
    answer = await kept.post("/judge/batch?monitor=prod", content=body, headers=headers)
    assert answer.status_code == 200
    assert (await seen(kept))["answers"] == 1


async def test_the_log_names_the_monitor(kept: httpx.AsyncClient, logged: Callable[[], list[dict[str, Any]]]) -> None:
    await judged(kept, item(monitor="prod"))
    (line,) = [line for line in logged() if line["event"] == "evaluated"]
    assert (line["monitor"], line["run"], line["correct"]) == ("prod", None, True)


async def test_the_counters_count_it_without_its_name(kept: httpx.AsyncClient) -> None:
    await judged(kept, item(monitor="prod"))
    counted = (await kept.get("/metrics")).text
    assert 'befund_judgments_total{caller="anonymous",dimension="correct",judge="rules",verdict="true"} 1.0' in counted
    assert "prod" not in counted


async def test_rates_are_corrected_once_the_judge_is_calibrated(kept: httpx.AsyncClient) -> None:
    sent = [item(), item(answer=WRONG)] * 10
    await judged_together(kept, *sent, monitor="prod")
    assert (await seen(kept))["corrected"] == {}
    right, wrong = item(human={"correct": True}), item(answer=WRONG, human={"correct": False})
    missed = item(answer=WRONG, human={"correct": True})
    body = {"name": "by-hand", "judge": "rules", "items": [right] * 15 + [missed] * 5 + [wrong] * 20}
    assert (await kept.post("/judge/calibration", json=body)).status_code == 200
    corrected = (await seen(kept))["corrected"]
    assert list(corrected) == ["correct"]
    assert (corrected["correct"]["value"], corrected["correct"]["method"]) == (0.5 / 0.75, "lang_reiczigel")
    batch = (await judged_together(kept, *sent))["summary"]
    assert batch["corrected"] == corrected


async def test_answers_past_their_time_or_too_many_are_deleted_at_the_next_start(
    serve_kept: Callable[..., Any],
) -> None:
    client = await serve_kept()
    await judged_together(client, *[item()] * 5, monitor="prod")
    again = await serve_kept(monitor_entries=3)
    assert (await seen(again))["held"] == 3
