"""A monitor before a model judge that fails."""

from typing import Any

import httpx
import pytest

from .endpoint import FakeEndpoint, error
from .test_api import ITEM, client, judge, start

pytestmark = pytest.mark.anyio

__all__ = ["client", "start"]  # fixtures


async def seen(client: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get("/monitors/prod")).json()
    return found


async def test_an_answer_the_judge_fails_at_counts_as_unscored(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    await judge(client, monitor="prod")
    endpoint.usually = error(401)
    assert (await judge(client, monitor="prod", answer="For two days.")).status_code == 502
    found = await seen(client)
    assert (found["answers"], found["failed"], list(found["judges"].values())) == (2, 1, [2])
    correct = found["rates"]["correct"]
    assert (correct["value"], correct["n"], correct["attempted"], correct["unscored"]) == (1.0, 1, 2, 1)
    (failed, _) = (await client.get("/monitors/prod/entries")).json()["entries"]
    assert (failed["judgment"], failed["problem"], failed["answer"]) == (None, "judge-request-refused", "For two days.")


async def test_one_that_is_tried_again_counts_once_with_what_came_of_it(
    client: httpx.AsyncClient, endpoint: FakeEndpoint
) -> None:
    usually, endpoint.usually = endpoint.usually, error(401)
    headers = {"idempotency-key": "k"}
    body = ITEM | {"monitor": "prod"}
    for _ in range(2):
        assert (await client.post("/judge", json=body, headers=headers)).status_code == 502
    assert (await seen(client))["failed"] == 1
    endpoint.usually = usually
    assert (await client.post("/judge", json=body, headers=headers)).status_code == 200
    found = await seen(client)
    assert (found["answers"], found["failed"], found["rates"]["correct"]["attempted"]) == (1, 0, 1)


async def test_tokens_and_cost_add_up(client: httpx.AsyncClient) -> None:
    each = (await judge(client, monitor="prod")).json()["usage"]
    await judge(client, monitor="prod", use_cache=False)
    used = (await seen(client))["usage"]
    assert used["input_tokens"] == 2 * each["input_tokens"] > 0
    assert used["cost_usd"] == pytest.approx(2 * each["cost_usd"])
