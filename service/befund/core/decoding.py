"""Decoding parts of a request one by one, with errors that say where in the whole body they stand."""

import json
import re
from typing import Any, TypeVar

import msgspec

from befund.core.errors import ContradictionError, MalformedRequestError

T = TypeVar("T")

_MESSAGE = re.compile(r"(?P<what>.*?) - at (?:`key` in )?`(?P<path>\$.*)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")


def decode(raw: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode a body, or one part of it.

    Raises:
        MalformedRequestError: It is not JSON or does not fit the type; the error names the place within `raw`.
    """
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        what, pointer = read_message(str(error))
        raise MalformedRequestError(what, "GET /schema describes what is read here.", pointer=pointer) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedRequestError(f"This is not JSON in UTF-8: {error}", "Send a JSON document.") from error
    except RecursionError as error:
        raise MalformedRequestError("This is nested too deeply", "Send the documented fields only.") from error


def read_message(message: str) -> tuple[str, str]:
    """What msgspec complains of, and where as a JSON pointer (as far as it knows: map keys are not named).

    >>> read_message("Expected `str`, got `int` - at `$.questions[3].id`")
    ('Expected `str`, got `int`', '/questions/3/id')
    >>> read_message("Number out of range - at `$.relevant[...]`")
    ('Number out of range', '/relevant')
    """
    found = _MESSAGE.fullmatch(message)
    if found is None:
        return message, ""
    pointer = ""
    for step in _STEP.finditer(found["path"]):
        name = step[1] or step[2]
        if name is None:
            break
        pointer += "/" + escape(name)
    return found["what"], pointer


def escape(name: str) -> str:
    """One step of a JSON pointer (RFC 6901).

    >>> escape("a/b~c")
    'a~1b~0c'
    """
    return name.replace("~", "~0").replace("/", "~1")


def refuse_repeated_keys(raw: msgspec.Raw, *, keys: int) -> None:
    """Refuse a JSON object that names a key twice, which decoding would answer by keeping the last silently.

    Args:
        raw: The object's JSON, valid.
        keys: How many keys were left after decoding.

    Raises:
        ContradictionError: A key stands there twice.
    """
    text = bytes(raw)
    if text.count(b":") != keys:
        pairs: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list)
        refuse_twice([key for key, _ in pairs])


def refuse_twice(names: list[str]) -> None:
    """Refuse a name that stands twice among the keys of one object."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ContradictionError.at(f"/{escape(name)}", "given-twice", f"{name!r} is given twice. Keep one.")
        seen.add(name)
