"""Every error becomes an RFC 9457 problem document.

The status of an error is decided here and nowhere else: domain errors carry a code, errors of the HTTP layer are
`Refusal`s, Litestar's own exceptions are translated, and anything else is a 500 that says nothing of its cause.
"""

import traceback
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi import ResponseSpec
from litestar.types import Send
from msgspec import Struct

from befund.api.exchange import Exchange
from befund.contract import Problem, ProblemDetail
from befund.core.errors import (
    BefundError,
    ConflictError,
    ContradictionError,
    DependencyError,
    JudgeDeadlineError,
    JudgeUnusableError,
    MalformedRequestError,
    NotFoundError,
)

MEDIA_TYPE = "application/problem+json"
CALLER_GONE = 499

ExceptionHandler = Callable[[Request[Any, Any, Any], Exception], Response[bytes]]


class Kind(Struct, frozen=True):
    """A kind of problem: its stable code and its title, the same for every instance of it."""

    code: str
    title: str


KINDS: Mapping[int, Kind] = {
    400: Kind("malformed-request", "Malformed request"),
    401: Kind("unauthorized", "No valid key"),
    403: Kind("forbidden", "Key lacks the scope"),
    404: Kind("not-found", "Not found"),
    405: Kind("method-not-allowed", "Method not allowed"),
    408: Kind("request-timeout", "Request did not arrive in time"),
    409: Kind("conflict", "Conflict"),
    413: Kind("body-too-large", "Body over the limit"),
    415: Kind("unsupported-media-type", "Media type not read here"),
    422: Kind("contradiction", "Request cannot be carried out"),
    431: Kind("head-too-large", "Request line and headers over the limit"),
    CALLER_GONE: Kind("caller-gone", "Caller went away"),
    500: Kind("internal-error", "Internal error"),
    501: Kind("not-implemented", "Not a part of HTTP that is spoken here"),
    502: Kind("judge-unusable", "The judge gave no usable answer"),
    503: Kind("busy", "Not able to take the work now"),
    504: Kind("judge-deadline", "The judge did not answer in time"),
    505: Kind("http-version-not-supported", "Version of HTTP not spoken here"),
}

_DOMAIN_STATUS: Mapping[type[BefundError], int] = {
    MalformedRequestError: 400,
    NotFoundError: 404,
    ConflictError: 409,
    ContradictionError: 422,
    JudgeUnusableError: 502,
    DependencyError: 503,
    JudgeDeadlineError: 504,
}


class Refusal(Exception):
    """An error of the HTTP layer itself; `status` is one of `KINDS`, `detail` says what to do next."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


class _Answer(Struct):
    """What an exception turns into, before it is tied to a request."""

    status: int
    kind: Kind
    detail: str
    places: tuple[ProblemDetail, ...] = ()
    headers: dict[str, str] = {}


def exception_handlers(*, log_content: bool) -> dict[int | type[Exception], ExceptionHandler]:
    """Give Litestar one handler for everything that can be raised.

    Args:
        log_content: Whether the text of an unexpected error is logged; it may quote what the caller sent.
    """

    def handle(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        answer = _answer(request, error)
        if answer.status == 500 or isinstance(error, MemoryError):
            _log_failure(request, error, log_content=log_content)
        return problem_response(request, answer)

    return {HTTPException: handle, Exception: handle}


def problem_response(request: Request[Any, Any, Any], answer: _Answer) -> Response[bytes]:
    """Write the problem document of one request."""
    document = _document(request.scope, answer)
    return Response(document, status_code=answer.status, media_type=MEDIA_TYPE, headers=answer.headers)


async def send_problem(scope: Any, refusal: Refusal, send: Send) -> None:
    """Answer a request that never reaches the routes."""
    document = _document(scope, _refusal_answer(refusal))
    headers = {"content-type": MEDIA_TYPE, "content-length": str(len(document)), **refusal.headers}
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": document, "more_body": False})


def problem_specs(*statuses: int) -> dict[int, ResponseSpec]:
    """Declare the problems a route can answer with, for the OpenAPI document."""
    return {
        status: ResponseSpec(
            data_container=Problem, generate_examples=False, description=KINDS[status].title, media_type=MEDIA_TYPE
        )
        for status in statuses
    }


def problem_of(error: BefundError, *, instance: str, request_id: str) -> Problem:
    """The problem of one item among several of a request."""
    return _problem(_domain_answer(error), instance=instance, request_id=request_id)


def _document(scope: Any, answer: _Answer) -> bytes:
    return msgspec.json.encode(_problem(answer, instance=scope["path"], request_id=Exchange.of(scope).request_id))


def _problem(answer: _Answer, *, instance: str, request_id: str) -> Problem:
    return Problem(
        type=f"/problems/{answer.kind.code}",
        title=answer.kind.title,
        status=answer.status,
        detail=answer.detail,
        instance=instance,
        request_id=request_id,
        errors=list(answer.places),
    )


def _domain_answer(error: BefundError) -> _Answer:
    status = next((known for kind, known in _DOMAIN_STATUS.items() if isinstance(error, kind)), 500)
    return _Answer(status, Kind(error.code, error.title), error.detail, places=error.places, headers=_headers_of(error))


def _refusal_answer(refusal: Refusal) -> _Answer:
    return _Answer(refusal.status, KINDS[refusal.status], refusal.detail, headers=refusal.headers)


def _answer(request: Request[Any, Any, Any], error: Exception) -> _Answer:
    match error:
        case BefundError():
            return _domain_answer(error)
        case Refusal():
            return _refusal_answer(error)
        case ValidationException():
            return _validation_answer(error)
        case HTTPException() if error.status_code in KINDS and error.status_code < 500:
            detail = _http_detail(request, error)
            return _Answer(error.status_code, KINDS[error.status_code], detail, headers=dict(error.headers or {}))
        case MemoryError():
            detail = "There is not enough memory for this request now. Try again later, or send less at once."
            return _Answer(503, KINDS[503], detail, headers={"Retry-After": "10"})
        case _:
            detail = "The service failed on this request. Its log holds the cause under this request_id."
            return _Answer(500, KINDS[500], detail)


def _headers_of(error: BefundError) -> dict[str, str]:
    if isinstance(error, DependencyError) and error.retry_after is not None:
        return {"Retry-After": str(error.retry_after)}
    return {}


def _validation_answer(error: ValidationException) -> _Answer:
    """Translate what Litestar found in parameters, and the absence of a body, which it reports the same way."""
    found = [item for item in error.extra or [] if isinstance(item, dict)]
    if any(item.get("key") == "data" for item in found):
        return _Answer(400, KINDS[400], "The body is empty. Send a JSON object.")
    detail = "; ".join(f"{item.get('key', 'parameter')}: {item['message']}" for item in found)
    return _Answer(400, KINDS[400], detail or "A parameter cannot be used.")


def _http_detail(request: Request[Any, Any, Any], error: HTTPException) -> str:
    match error.status_code:
        case 404:
            return "There is nothing at this path. GET /schema lists what the service answers."
        case 405:
            return f"This path does not answer {request.scope['method']}. The Allow header names what it answers."
        case 413:
            limit = request.route_handler.resolve_request_max_body_size()
            return f"The body is over the limit of {limit} bytes for this path. Send less, or raise the limit."
        case _:
            return error.detail


def _log_failure(request: Request[Any, Any, Any], error: Exception, *, log_content: bool) -> None:
    """Log where an unexpected error arose; its text only where content may be logged, since it may quote a body."""
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    structlog.get_logger().error(
        "failed",
        **Exchange.of(request.scope).log_fields(),
        error=type(error).__qualname__,
        **({"error_text": str(error)} if log_content else {}),
        frames=frames,
    )
