"""Problem documents, the index page and health."""

from typing import Literal

from befund.contract.base import Response


class ProblemDetail(Response, frozen=True, kw_only=True):
    """One place in the request and what is wrong there.

    Attributes:
        pointer: An RFC 6901 JSON pointer into the body.
        detail: What is wrong there.
    """

    pointer: str
    detail: str


class Problem(Response, frozen=True, kw_only=True):
    """An RFC 9457 problem document.

    Attributes:
        type: The kind of problem, `/problems/` and a stable code.
        title: The kind in a few words.
        status: The HTTP status.
        detail: What is wrong here and what to do next.
        instance: The path of the request.
        request_id: What to look for in the log; also in the header `X-Request-ID`.
        errors: Where in the body, as far as it is known.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[ProblemDetail] = []


class Index(Response, frozen=True, kw_only=True):
    """What is served here, and where to read on."""

    service: Literal["befund"]
    version: str
    paths: list[str]


class Health(Response, frozen=True, kw_only=True):
    """The process is alive."""

    status: Literal["ok"]
    version: str


class DependencyState(Response, frozen=True, kw_only=True):
    """One dependency and whether it answers.

    Attributes:
        detail: What is wrong, where it does not.
    """

    state: Literal["ok", "down"]
    detail: str | None = None


class Readiness(Response, frozen=True, kw_only=True):
    """Whether the service can take work, and each dependency's state."""

    status: Literal["ready", "unready"]
    dependencies: dict[str, DependencyState]
