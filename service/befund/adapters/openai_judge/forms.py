"""The forms in which a model can be asked for JSON, from the strictest to the plainest, and how each is answered.

Endpoints take some of them and refuse, ignore or break on others; whatever comes back is validated by us all the same.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from befund.contract import Usage

Form = Literal["responses", "chat_schema", "json_with_exact_schema", "json_with_schema", "json", "plain"]

FORMS: tuple[Form, ...] = get_args(Form)

_NAME = "judgment"
_ROOM_NAMES: dict[Form, str] = dict.fromkeys(("json_with_exact_schema", "json_with_schema"), "max_tokens")
"""Who takes these forms knows the older name; llama_cpp.server ignores the newer one, and writes without end."""
_LARGEST_COUNT = 1_000_000_000


class Ask(Struct, frozen=True, kw_only=True):
    """One request for a model.

    Attributes:
        model: Which model.
        system: Its instructions.
        user: What is to be judged.
        schema: The form of every reply, the same for all answers, since some endpoints take seconds for a new one.
        exact_schema: The form of the reply to this one, for endpoints that write by it.
        room: Most tokens it may write; None leaves that to the endpoint.
        parameters: As configured, and `temperature`; sent as they are.
    """

    model: str
    system: str
    user: str
    schema: Mapping[str, Any]
    exact_schema: Mapping[str, Any]
    room: int | None
    parameters: Mapping[str, Any]


class Reply(Struct, frozen=True, kw_only=True):
    """What the model wrote, how it ended, and what it used.

    `ended` is `length` where the room was used up, `refused` where the model or a content filter would not.
    """

    text: str
    ended: Literal["complete", "length", "refused"]
    usage: Usage


class NoReplyError(Exception):
    """The body is not an answer of this protocol."""


def path_of(form: Form) -> str:
    """Where a request of this form goes, below the base URL."""
    return "/responses" if form == "responses" else "/chat/completions"


def body_of(form: Form, ask: Ask) -> dict[str, Any]:
    """A request of this form."""
    if form == "responses":
        return {
            "model": ask.model,
            "instructions": ask.system,
            "input": ask.user,
            "text": {"format": {"type": "json_schema", "name": _NAME, "strict": True, "schema": ask.schema}},
            "store": False,
            **({} if ask.room is None else {"max_output_tokens": ask.room}),
            **ask.parameters,
        }
    chat: dict[str, Any] = {
        "model": ask.model,
        "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}],
        **({} if ask.room is None else {_ROOM_NAMES.get(form, "max_completion_tokens"): ask.room}),
        **ask.parameters,
    }
    match form:
        case "chat_schema":
            named = {"name": _NAME, "strict": True, "schema": ask.schema}
            chat["response_format"] = {"type": "json_schema", "json_schema": named}
        case "json_with_exact_schema":
            chat["response_format"] = {"type": "json_object", "schema": ask.exact_schema}
        case "json_with_schema":
            chat["response_format"] = {"type": "json_object", "schema": ask.schema}
        case "json":
            chat["response_format"] = {"type": "json_object"}
        case "plain":
            pass
    return chat


def reply_in(form: Form, body: bytes) -> Reply:
    """Read an answer.

    Raises:
        NoReplyError: It is not JSON, or not what this protocol answers with.
    """
    try:
        if form == "responses":
            return _of_responses(msgspec.json.decode(body, type=_Responses))
        return _of_chat(msgspec.json.decode(body, type=_Chat))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoReplyError from error


class _Part(Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Output(Struct):
    type: str = ""
    content: list[_Part] | None = None


class _Incomplete(Struct):
    reason: str | None = None


class _Responses(Struct):
    output: list[_Output]
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    usage: Any = None


class _Message(Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(Struct):
    message: _Message
    finish_reason: str | None = None


class _Chat(Struct):
    choices: list[_Choice]
    usage: Any = None


def _of_responses(found: _Responses) -> Reply:
    parts = [part for output in found.output if output.type == "message" for part in output.content or ()]
    text = "".join(part.text or "" for part in parts if part.type == "output_text")
    why = found.incomplete_details.reason if found.incomplete_details else None
    ended: Literal["complete", "length", "refused"] = "complete"
    if any(part.refusal or part.type == "refusal" for part in parts) or why == "content_filter":
        ended = "refused"
    elif why is not None or found.status == "incomplete":
        ended = "length"
    elif found.status not in (None, "completed"):
        raise NoReplyError
    details = _member(found.usage, "input_tokens_details")
    return Reply(text=text, ended=ended, usage=_usage(found.usage, "input_tokens", "output_tokens", details))


def _of_chat(found: _Chat) -> Reply:
    if not found.choices:
        raise NoReplyError
    choice = found.choices[0]
    content = choice.message.content
    text = content if isinstance(content, str) else "".join(part.text or "" for part in content or ())
    ended: Literal["complete", "length", "refused"] = "complete"
    if choice.message.refusal or choice.finish_reason == "content_filter":
        ended = "refused"
    elif choice.finish_reason in ("length", "max_tokens"):
        ended = "length"
    details = _member(found.usage, "prompt_tokens_details")
    return Reply(text=text, ended=ended, usage=_usage(found.usage, "prompt_tokens", "completion_tokens", details))


def _usage(given: Any, read: str, written: str, details: Any) -> Usage:
    return Usage(
        input_tokens=_count(given, read),
        output_tokens=_count(given, written),
        cached_tokens=_count(details, "cached_tokens"),
    )


def _member(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, dict) else None


def _count(given: Any, name: str) -> int | None:
    """A number of tokens; what cannot be one is not known."""
    found = _member(given, name)
    return found if type(found) is int and 0 <= found < _LARGEST_COUNT else None
