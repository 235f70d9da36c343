import httpx
import pytest
from litestar import post
from litestar.params import JSONBody

from befund.api.auth import needs
from befund.app import create_app
from befund.contract import Evidence
from befund.settings import Settings

pytestmark = pytest.mark.anyio


@post("/echo", opt=needs("evaluate"), status_code=200, sync_to_thread=False)
def echo(data: JSONBody[Evidence]) -> Evidence:
    return data


@pytest.fixture
def client() -> httpx.AsyncClient:
    app = create_app(Settings(), routes=[echo])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://befund")  # type: ignore[arg-type]


async def test_a_typed_body_is_decoded(client: httpx.AsyncClient) -> None:
    assert (await client.post("/echo", json={"id": "E1", "quote": "72 hours"})).json() == {
        "id": "E1",
        "quote": "72 hours",
    }


async def test_a_field_given_twice_in_a_typed_body_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/echo", content='{"id": "E1", "quote": "a", "quote": "b"}')
    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"pointer": "/quote", "detail": "Object contains field `quote` more than once"}]


@pytest.mark.parametrize(
    ("address", "detail"),
    [
        ("/runs?limt=5", "The parameter 'limt' is not read here. Did you mean 'limit'?"),
        ("/runs?a=5", "The parameter 'a' is not read here. This path reads cursor, limit."),
        ("/datasets?limit=5", "The parameter 'limit' is not read here. Leave it out."),
    ],
)
async def test_an_unknown_parameter_is_refused_by_name(client: httpx.AsyncClient, address: str, detail: str) -> None:
    answer = await client.get(address)
    assert answer.status_code == 400
    assert answer.json()["detail"] == detail


async def test_an_open_route_takes_any_parameter(client: httpx.AsyncClient) -> None:
    assert (await client.get("/healthz?probe=1")).status_code == 200
