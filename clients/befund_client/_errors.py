"""The one error tree of this package."""

from __future__ import annotations

import os

from befund.contract import Problem


class BefundError(Exception):
    """Base of every error this package raises on purpose."""


class ProblemError(BefundError):
    """The service refused or failed, and said why.

    Attributes:
        problem: The problem document as the service sent it.
        status: Its HTTP status.
        request_id: What to look for in the service's log.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem
        self.status = problem.status
        self.request_id = problem.request_id

    def __str__(self) -> str:
        return f"{self.problem.title} ({self.status}): {self.said} [request {self.request_id}]"

    @property
    def said(self) -> str:
        """What is wrong and where."""
        places = "".join(
            f"; {place.pointer}: {place.detail}"
            for place in self.problem.errors[:3]
            if place.detail not in self.problem.detail
        )
        more = len(self.problem.errors) - 3
        if more > 0:
            places += f"; and {more} more places"
        return f"{self.problem.detail}{places}"


class NotFoundError(ProblemError):
    """404: the run, data set, collection or job does not exist (yet)."""


class ConflictError(ProblemError):
    """409: what is stored differs from what was sent; `replace_run=True` begins a run anew."""


class TransportError(BefundError):
    """No answer came: no connection, a broken one, or none in time.

    Attributes:
        request_id: The id that was sent along, in case the service saw the request.
    """

    def __init__(self, message: str, request_id: str) -> None:
        super().__init__(message, request_id)
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.args[0]} [request {self.request_id}]"


class ResponseError(BefundError):
    """An answer came, but not one the contract knows: a proxy's error page, another service, broken JSON.

    Attributes:
        status: The HTTP status of the answer.
        request_id: The id in the answer, else the one that was sent.
    """

    def __init__(self, message: str, status: int, request_id: str) -> None:
        super().__init__(message, status, request_id)
        self.status = status
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.args[0]} [request {self.request_id}]"


class FileError(BefundError):
    """A file cannot be read as what it was given for.

    Attributes:
        path: The file.
        line: The line where it goes wrong, counted from 1; None where no single line does.
        reason: What is wrong and what to do, without the place.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str, line: int | None = None) -> None:
        super().__init__(path, reason, line)
        self.path = os.fspath(path)
        self.reason = reason
        self.line = line

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}, line {self.line}"
        return f"{place}: {self.reason}"
