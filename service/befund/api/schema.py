"""The OpenAPI document, and a page to read it and try it.

Litestar describes the routes; the wire types are described by msgspec, which keeps their bounds and says where unknown
fields are refused. Scopes become security requirements here, so that a route declares them once.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

import msgspec
from litestar import Litestar, Request, Response, Router
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

import befund
from befund import contract
from befund.api.auth import needed_scope, open_to_all
from befund.api.body import ALSO_READS, ALSO_WRITES, JSON_OF
from befund.api.docstrings import attributes_of, summary_of
from befund.api.examples import PROBLEM, REQUESTS, answer_to
from befund.api.problems import KINDS, MEDIA_TYPE

_REFERENCE = "#/components/schemas/"
_STATE = "openapi_document"
_UNPARSED = "unparsed_body"


def reads_unparsed(media_type: str) -> dict[str, object]:
    """Mark a route (in its `opt`) as one that reads its body itself, of this media type."""
    return {_UNPARSED: media_type}


def openapi_config() -> OpenAPIConfig:
    """Tell Litestar where the document and the page are served."""
    page = files("befund.api").joinpath("schema.html").read_bytes()
    return OpenAPIConfig(
        title="Befund",
        version=befund.__version__,
        description="Evaluation of retrieval-augmented generation: retrieval metrics that agree with trec_eval.",
        use_handler_docstrings=True,
        render_plugins=[_Page(page), _Document()],
        components=Components(
            security_schemes={
                "bearer": SecurityScheme(type="http", scheme="bearer", description="A configured key."),
                "apiKey": SecurityScheme(
                    type="apiKey", name="X-API-Key", security_scheme_in="header", description="A configured key."
                ),
            }
        ),
        openapi_router=Router(
            "/schema",
            route_handlers=[],
            include_in_schema=False,
            dto=None,
            return_dto=None,
            opt=open_to_all(),
            response_headers={"Content-Security-Policy": _content_security_policy(page)},
            after_request=_problem_when_not_found,
        ),
    )


def openapi_document(app: Litestar) -> dict[str, Any]:
    """Give the whole document as it is served and committed."""
    document = app.openapi_schema.to_schema()
    schemas = document["components"]["schemas"]
    read = {handler.opt[JSON_OF].__name__ for _, _, handler in _described_routes(app) if JSON_OF in handler.opt}
    document["components"]["schemas"] = _contract_schemas({*schemas, *read})
    document["servers"] = [{"url": "/"}]
    for path, method, handler in _described_routes(app):
        operation = document["paths"][path][method]
        _add_security(operation, handler)
        if _UNPARSED in handler.opt:
            content = {handler.opt[_UNPARSED]: {"schema": {"type": "string"}}}
            operation["requestBody"] = {"required": True, "content": content}
        if JSON_OF in handler.opt:
            operation["requestBody"] = {"required": True, "content": _read_itself(handler)}
        for form in handler.opt.get(ALSO_WRITES, ()):
            operation["responses"]["200"]["content"][form] = {"schema": {"type": "string"}}
        _add_examples(operation, path)
    return document


def encoded_document(app: Litestar) -> bytes:
    """Give the document as bytes, indented, so that a change of one thing is a change of its lines.

    It is made once, at the start, since it takes long enough to be felt by other requests.
    """
    if _STATE not in app.state:
        app.state[_STATE] = json.dumps(openapi_document(app), indent=2, ensure_ascii=False).encode() + b"\n"
    encoded: bytes = app.state[_STATE]
    return encoded


class _Document(OpenAPIRenderPlugin):
    """GET /schema/openapi.json."""

    def __init__(self) -> None:
        super().__init__(path="/openapi.json", media_type="application/vnd.oai.openapi+json")  # type: ignore[arg-type]

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return encoded_document(request.app)


class _Page(OpenAPIRenderPlugin):
    """GET /schema: one file with everything in it, which reads the document beside it."""

    def __init__(self, page: bytes) -> None:
        super().__init__(path="/")
        self._page = page

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return self._page


def _content_security_policy(page: bytes) -> str:
    """Allow the page's own script and style, by their hashes, and requests to this service; nothing else."""
    script, style = (
        base64.b64encode(hashlib.sha256(_inner(page, tag)).digest()).decode() for tag in (b"script", b"style")
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _inner(page: bytes, tag: bytes) -> bytes:
    match = re.search(rb"<%b>(.*?)</%b>" % (tag, tag), page, re.DOTALL)
    if match is None:
        raise RuntimeError(f"schema.html has no <{tag.decode()}>")
    return match[1]


def _problem_when_not_found(response: Response[Any]) -> Response[Any]:
    """Litestar answers unknown paths beside the document in HTML; here they are problems like all others."""
    if response.status_code == 404:
        raise NotFoundException
    return response


def _contract_schemas(named: Iterable[str]) -> dict[str, Any]:
    """Describe the wire types that the routes mention, and all they consist of."""
    kinds = [getattr(contract, name) for name in sorted(named)]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REFERENCE + "{name}")
    for name, schema in schemas.items():
        kind = getattr(contract, name)
        schema["description"] = summary_of(kind)
        for attribute, said in attributes_of(kind).items():
            schema["properties"][attribute]["description"] = said
        for field in msgspec.structs.fields(kind):  # msgspec describes no default that a function makes
            if field.default_factory is not msgspec.NODEFAULT:
                schema["properties"][field.encode_name].setdefault("default", field.default_factory())
    return schemas


def _described_routes(app: Litestar) -> Iterator[tuple[str, str, HTTPRouteHandler]]:
    for route in app.routes:
        for handler in getattr(route, "route_handlers", []):
            if handler.resolve_include_in_schema():
                for method in handler.http_methods:
                    yield route.path_format, method.lower(), handler


def _read_itself(handler: HTTPRouteHandler) -> dict[str, Any]:
    """What a route reads that reads its body itself."""
    return {
        "application/json": {"schema": {"$ref": _REFERENCE + handler.opt[JSON_OF].__name__}},
        handler.opt[ALSO_READS]: {"schema": {"type": "string"}},
    }


def _add_security(operation: dict[str, Any], handler: HTTPRouteHandler) -> None:
    scope = needed_scope(handler)
    refusals = (500,) if scope is None else (401, 403, 500)
    if scope is not None:
        operation["security"] = [{"bearer": []}, {"apiKey": []}]
        said = (operation.get("description"), f"Needs a key with the scope `{scope}`.")
        operation["description"] = "\n\n".join(filter(None, said))
    for status in refusals:
        operation["responses"][str(status)] = {
            "description": KINDS[status].title,
            "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REFERENCE}Problem"}}},
        }


def _add_examples(operation: dict[str, Any], path: str) -> None:
    requests = REQUESTS.get(path)
    if requests is None:
        return
    answers = {name: answer_to(path, request) for name, request in requests.items()}
    responses = operation["responses"]
    operation["requestBody"]["content"]["application/json"]["examples"] = _as_examples(requests)
    responses["200"]["content"]["application/json"]["examples"] = _as_examples(answers)
    responses["400"]["content"][MEDIA_TYPE]["examples"] = _as_examples({"A value of the wrong type": PROBLEM})


def _as_examples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {"summary": name, "value": value} for name, value in values.items()}
