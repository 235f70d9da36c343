import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from openapi_spec_validator import validate

from befund.api.schema import encoded_document
from befund.app import create_app
from befund.contract import RetrieveEvalRequest, RetrieveEvalResponse
from befund.settings import Settings

COMMITTED = Path(__file__).parents[2] / "clients" / "openapi.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(encoded_document(create_app(Settings()).app))
    return found


def test_the_committed_document_is_true(document: dict[str, Any]) -> None:
    assert msgspec.json.decode(COMMITTED.read_bytes()) == document, "run: befund openapi > clients/openapi.json"


def test_the_document_is_valid_openapi(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    validate(document)


def test_bounds_and_the_refusal_of_unknown_fields_are_described(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["RetrieveEvalRequest"]["additionalProperties"] is False
    assert schemas["RetrieveEvalRequest"]["properties"]["k"]["items"]["maximum"] == 100_000
    assert "additionalProperties" not in schemas["RetrieveEvalResponse"]


def test_fields_say_what_they_mean(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    request = schemas["RetrieveEvalRequest"]
    assert request["properties"]["gain"]["description"].startswith("The gain of nDCG: the grade itself")
    assert request["properties"]["retrieval"]["description"] == "What was retrieved, or where to search."
    assert schemas["Retrieval"]["properties"]["top_k"]["description"] == "How many chunks to ask for."
    assert not [name for name, schema in schemas.items() if "Attributes:" in schema["description"]]
    for name in ("RetrieveEvalRequest", "Retrieval", "Evidence", "Problem", "Estimate"):
        assert [key for key, field in schemas[name]["properties"].items() if "description" not in field] == []


def test_the_body_that_stays_bytes_is_described_as_what_it_holds(document: dict[str, Any]) -> None:
    operation = document["paths"]["/retrieve-eval"]["post"]
    request, answer = operation["requestBody"], operation["responses"]["200"]
    assert request["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/RetrieveEvalRequest"}
    assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/RetrieveEvalResponse"}


def test_a_body_of_lines_is_described(document: dict[str, Any]) -> None:
    operations = document["paths"]["/runs/{name}/bundle"]
    assert list(operations["put"]["requestBody"]["content"]) == ["application/x-ndjson"]
    assert list(operations["get"]["responses"]["200"]["content"]) == ["application/x-ndjson"]


def test_every_error_of_a_route_is_described_as_a_problem(document: dict[str, Any]) -> None:
    responses = document["paths"]["/retrieve-eval"]["post"]["responses"]
    problems = {status for status, response in responses.items() if "application/problem+json" in response["content"]}
    assert problems == {"400", "401", "403", "404", "408", "409", "413", "415", "422", "500", "503"}


def test_security_follows_from_the_scope(document: dict[str, Any]) -> None:
    assert document["paths"]["/retrieve-eval"]["post"]["security"] == [{"bearer": []}, {"apiKey": []}]
    assert "security" not in document["paths"]["/healthz"]["get"]
    assert document["components"]["securitySchemes"].keys() == {"bearer", "apiKey"}


def test_a_default_that_a_function_makes_is_described(document: dict[str, Any]) -> None:
    assert document["components"]["schemas"]["RetrieveEvalRequest"]["properties"]["k"]["default"] == [1, 3, 5, 10]


def test_examples_are_what_the_contract_reads(document: dict[str, Any]) -> None:
    operation = document["paths"]["/retrieve-eval"]["post"]
    requests = operation["requestBody"]["content"]["application/json"]["examples"]
    answers = operation["responses"]["200"]["content"]["application/json"]["examples"]
    assert requests.keys() == answers.keys()
    for name in requests:
        msgspec.convert(requests[name]["value"], RetrieveEvalRequest)
        msgspec.convert(answers[name]["value"], RetrieveEvalResponse)


@pytest.mark.anyio
async def test_examples_can_be_sent_as_they_stand(client: httpx.AsyncClient, document: dict[str, Any]) -> None:
    content = document["paths"]["/retrieve-eval"]["post"]["requestBody"]["content"]["application/json"]
    for example in content["examples"].values():
        assert (await client.post("/retrieve-eval", json=example["value"])).status_code == 200


@pytest.mark.anyio
async def test_the_page_takes_nothing_from_outside(client: httpx.AsyncClient) -> None:
    answer = await client.get("/schema")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert re.findall(r"https?:|//[a-z]+\.|@import|url\(", answer.text) == []
    assert re.findall(r"""\b(?:src|href)=["']([^"']*)""", answer.text) == [
        "data:,",
        "/schema/openapi.json",
        "/schema/openapi.json",
    ]


@pytest.mark.anyio
async def test_the_page_may_run_its_own_script_only(client: httpx.AsyncClient) -> None:
    policy = (await client.get("/schema")).headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "connect-src 'self'" in policy


@pytest.mark.anyio
async def test_the_page_has_no_inline_handlers_or_styles_its_policy_would_stop(
    client: httpx.AsyncClient,
) -> None:
    assert re.findall(r"<[^>]+\s(?:on\w+|style)=", (await client.get("/schema")).text) == []


@pytest.mark.anyio
async def test_the_document_is_served_with_its_own_media_type(client: httpx.AsyncClient) -> None:
    answer = await client.get("/schema/openapi.json")
    assert answer.headers["content-type"] == "application/vnd.oai.openapi+json"
    assert answer.json()["paths"]["/fail"]["get"]["security"] == [{"bearer": []}, {"apiKey": []}]
