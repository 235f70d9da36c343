"""Domain errors: a stable code, what is wrong, what to do next. HTTP status lives in api/problems.py."""

from collections.abc import Sequence
from typing import Self

from befund.contract import ProblemDetail, Usage


class BefundError(Exception):
    """Base of every error a caller can act on.

    Attributes:
        code: Stable, kebab-case; becomes the problem's type.
        title: The kind of error in a few words, the same for every instance of a code.
        detail: What is wrong here and what to do next.
        places: Where in the request, as JSON pointers.
    """

    title = "Request failed"

    def __init__(self, code: str, detail: str, *, places: Sequence[ProblemDetail] = ()) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.places = tuple(places)

    def move_below(self, pointer: str) -> None:
        """Put `pointer` before every place, for parts that are read without knowing where they stand."""
        self.places = tuple(ProblemDetail(pointer=pointer + at.pointer, detail=at.detail) for at in self.places)


class MalformedRequestError(BefundError):
    """The body does not decode: not JSON, a wrong type, a value out of bounds, an unknown field, too deep.

    Args:
        what: What is wrong, without a full stop.
        advice: What to do next, as a sentence.
        pointer: Where in the body, as far as it is known.
    """

    title = "Malformed request"

    def __init__(self, what: str, advice: str, *, pointer: str = "") -> None:
        self._what = what
        self._advice = advice
        place = ProblemDetail(pointer=pointer, detail=what)
        super().__init__("malformed-request", self._sentence(pointer), places=[place])

    def move_below(self, pointer: str) -> None:
        """Put `pointer` before the place, in the text too."""
        super().move_below(pointer)
        self.detail = self._sentence(self.places[0].pointer)

    def _sentence(self, pointer: str) -> str:
        return f"{self._what}{f' at {pointer}' if pointer else ''}. {self._advice}"


class ContradictionError(BefundError):
    """The request decodes but contradicts itself or cannot be carried out as it stands."""

    title = "Request cannot be carried out"

    @classmethod
    def at(cls, pointer: str, code: str, detail: str) -> Self:
        """The error with one place that says the same."""
        return cls(code, detail, places=[ProblemDetail(pointer=pointer, detail=detail)])


class NotFoundError(BefundError):
    """The request names a run, dataset, collection or job that does not exist."""

    title = "Not found"


class ConflictError(BefundError):
    """The request does not fit what is stored: another embedder, another configuration of a run."""

    title = "Conflict"


class DependencyError(BefundError):
    """Something the service depends on is down, damaged or answers unusably; nothing was scored.

    Attributes:
        retry_after: Seconds after which trying again makes sense; None where it does not by itself.
    """

    title = "Dependency unavailable"

    def __init__(self, code: str, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(code, detail)
        self.retry_after = retry_after


class JudgeError(BefundError):
    """A judge gave no verdict.

    Attributes:
        usage: What it used in vain; None where it used nothing.
    """

    usage: Usage | None = None


class JudgeUnusableError(JudgeError):
    """A judge answered, and what it said cannot be used, also not on asking again: nothing was scored.

    Codes: `judge-output-unusable`, `judge-output-truncated`, `judge-refused` (the model or its content filter),
    `judge-context-exceeded`, `judge-request-refused` (the endpoint does not take the request: key, model, parameters).
    """

    title = "The judge gave no usable answer"


class JudgeUnavailableError(DependencyError, JudgeError):
    """A judge is down (`judge-unavailable`) or limits us (`judge-limited`); nothing was scored."""

    title = "The judge is not available"


class JudgeDeadlineError(JudgeError):
    """A judge did not answer before the deadline (`judge-deadline`); nothing was scored."""

    title = "The judge did not answer in time"
