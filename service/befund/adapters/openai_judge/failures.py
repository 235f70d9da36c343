"""What an endpoint answers instead of a reply, sorted by what can be done about it."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import msgspec

Kind = Literal[
    "form",
    "parameter",
    "context",
    "cut",
    "refused",
    "rejected",
    "limited",
    "unavailable",
    "garbled",
    "truncated",
    "malformed",
    "unusable",
]
"""What is wrong.

`form`: this form is not taken. `parameter`: one parameter is not taken. `context`: the text is longer than the model's
window; `cut`: so it was cut silently. `refused`: by the model or a content filter. `rejected`: not taken in any form.
`limited`: too many requests. `unavailable`: down, for the moment. `garbled`: no answer of this protocol. `truncated`:
the reply was cut off. `malformed`: the reply is not of the form asked for. `unusable`: its content contradicts itself
or what was asked.
"""

_CONTEXT = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|too many tokens|(?:prompt|input) is too long|"
    r"exceeds? (?:the )?(?:available |model'?s? )?context|reduce the length",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content[ _-]?(?:filter|policy|management)|safety system|responsible.?ai", re.IGNORECASE)
_NOT_TAKEN = re.compile(
    r"unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|does not support|"
    r"invalid|only the default|must be|deprecated|not available",
    re.IGNORECASE,
)
_NO_MODEL = frozenset({"model_not_found", "DeploymentNotFound", "deployment_not_found"})
_MOST_READ = 2_000
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class CallError(Exception):
    """One call brought no usable reply.

    Attributes:
        kind: What can be done about it.
        said: Status and code, for the caller; never a text of the endpoint, which may quote what was sent.
        status: The HTTP status; None where there was no answer.
        parameter: The parameter that is not taken.
        retry_after: Seconds the endpoint asks to wait.
    """

    def __init__(
        self,
        kind: Kind,
        said: str,
        *,
        status: int | None = None,
        parameter: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(said)
        self.kind = kind
        self.said = said
        self.status = status
        self.parameter = parameter
        self.retry_after = retry_after


def failure_of(status: int, body: bytes, *, sent: Collection[str], retry_after: float | None = None) -> CallError:
    """Sort an answer with an error status.

    Args:
        status: The HTTP status.
        body: The body, whatever it is.
        sent: Names of the parameters that can be left out.
        retry_after: Seconds, as its headers say.
    """
    code, param, message = _error_in(body)
    shown = f"{status} ({code})" if code and _CODE.fullmatch(code) else str(status)
    kind: Kind
    parameter = None
    if status == 429:
        kind = "limited"
    elif status in (408, 409, 425, 500, 502, 503, 504, 507, 520, 521, 522, 523, 524, 529):
        kind = "unavailable"
    elif _FILTERED.search(f"{code} {message}"):
        kind = "refused"
    elif code == "context_length_exceeded" or _CONTEXT.search(message) or status == 413:
        kind = "context"
    elif status in (401, 402, 403) or code in _NO_MODEL:
        kind = "rejected"
    elif parameter := _parameter_in(param, message, sent):
        kind = "parameter"
    elif status < 400:
        kind = "garbled"
    else:
        kind = "form"
    return CallError(
        kind, f"the endpoint answered {shown}", status=status, parameter=parameter, retry_after=retry_after
    )


def seconds_to_wait(headers: Any, *, now: datetime | None = None) -> float | None:
    """What `Retry-After` (seconds or a date) or `retry-after-ms` ask for; None where they say nothing sensible."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(text) - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\s*\d{1,9}(?:\.\d{1,9})?\s*", text) else None


def _error_in(body: bytes) -> tuple[str, str, str]:
    """Code, parameter and message, in the several places where endpoints put them."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", "", body[:_MOST_READ].decode("utf-8", "replace")
    error = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(error, dict):
        return "", "", str(error)[:_MOST_READ]
    code = str(error.get("code") or error.get("type") or "")
    message = error.get("message") or error.get("detail") or error.get("error") or ""
    details = message.get("detail") if isinstance(message, dict) else message
    if isinstance(details, list) and details and isinstance(details[0], dict):
        return code, *_of_pydantic(details[0])
    return code, str(error.get("param") or ""), str(message)[:_MOST_READ]


def _of_pydantic(detail: dict[str, Any]) -> tuple[str, str]:
    """Parameter and message of servers that validate with pydantic; the input they echo is not looked at."""
    where = detail.get("loc")
    place = [str(part) for part in where if part != "body"] if isinstance(where, list) else []
    return (place[0] if place else ""), str(detail.get("msg") or "")[:_MOST_READ]


def _parameter_in(param: str, message: str, sent: Collection[str]) -> str | None:
    """The parameter the error speaks of, if it is one that was sent and can be left out."""
    named = re.split(r"[.\[]", param)[0]
    if named:
        return named if named in sent else None
    if not _NOT_TAKEN.search(message):
        return None
    return next((name for name in sorted(sent) if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message)), None)
