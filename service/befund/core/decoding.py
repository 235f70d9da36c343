"""Decoding parts of a request one by one, with errors that say where in the whole body they stand."""

import json
import re
from bisect import bisect_right
from typing import Any, TypeVar

import msgspec
import numpy as np

from befund.contract.closed_sets import with_allowed
from befund.core.errors import ContradictionError, MalformedRequestError

T = TypeVar("T")

_MESSAGE = re.compile(r"(?P<what>.*?) - at (?:`key` in )?`(?P<path>\$.*)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")
_SPACED_COLON = re.compile(rb'"\s+:')
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)
_LARGEST_SEARCHED = 64 * 1024 * 1024
DEEPEST_NAMED = 16
_PARTS: dict[int, msgspec.json.Decoder[Any]] = {
    ord("{"): msgspec.json.Decoder(dict[str, msgspec.Raw]),
    ord("["): msgspec.json.Decoder(list[msgspec.Raw]),
}


def decode(raw: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode a body, or one part of it.

    Raises:
        MalformedRequestError: It is not JSON or does not fit the type; the error names the place within `raw`.
    """
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        what, pointer = read_message(with_allowed(error, decoder.type))
        raise MalformedRequestError(what, "GET /schema describes what is read here.", pointer=pointer) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _no_json(bytes(raw), error) from error
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


def offset_in(text: bytes, part: msgspec.Raw) -> int:
    """Where a part of a text begins that decoding left raw, which is a view of the text."""
    return _address(part) - _address(text)


def refuse_repeated_keys(raw: msgspec.Raw, *, keys: int) -> None:
    """Refuse a JSON object that names a key twice, which decoding would answer by keeping the last silently.

    Args:
        raw: The object's JSON, valid.
        keys: How many keys were left after decoding.

    Raises:
        ContradictionError: A key stands there twice.
    """
    text = bytes(raw)
    if may_repeat_keys(text, keys=keys):
        pairs: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list)
        refuse_twice([key for key, _ in pairs])


def may_repeat_keys(text: bytes, *, keys: int) -> bool:
    """Whether JSON may hold a key twice in an object, where `keys` were left after decoding.

    Each key brings a colon, so as many colons as keys leave none to be repeated. Where ids hold colons too, those that
    follow a quote are counted, which misses no key unless there are escapes or spaces before colons.
    """
    if text.count(b":") == keys:
        return False
    return text.count(b'":') != keys or b"\\" in text or _SPACED_COLON.search(text) is not None


def refuse_twice(names: list[str]) -> None:
    """Refuse a name that stands twice among the keys of one object."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ContradictionError.at(f"/{escape(name)}", "given-twice", f"{name!r} is given twice. Keep one.")
        seen.add(name)


def _no_json(text: bytes, error: Exception) -> MalformedRequestError:
    found = _ESCAPE.finditer(text) if len(text) <= _LARGEST_SEARCHED else ()
    half = next((escape for escape in found if escape["half"]), None)
    if half is not None:
        whole = _ESCAPE.sub(lambda escape: b"      " if escape["half"] else escape[0], text)
        try:
            return MalformedRequestError(
                f"The text holds half of a surrogate pair ({half[0].decode()})",
                "Send both halves, or leave it out.",
                pointer=_place_of(half.start(), whole),
            )
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # something else is wrong as well
    return MalformedRequestError(f"This is not JSON in UTF-8: {error}", "Send a JSON document.")


def _place_of(offset: int, text: bytes) -> str:
    """The value that holds the byte at `offset`, as a JSON pointer; where a key does, the object it is a key of."""
    pointer, part = "", msgspec.json.decode(text, type=msgspec.Raw)
    for _ in range(DEEPEST_NAMED):
        decoder = _PARTS.get(memoryview(part)[0])
        parts = decoder.decode(part) if decoder else {}
        names, values = (list(parts), list(parts.values())) if isinstance(parts, dict) else (range(len(parts)), parts)
        at = bisect_right(values, offset, key=lambda value: offset_in(text, value)) - 1
        if at < 0 or offset >= offset_in(text, values[at]) + len(memoryview(values[at])):
            break
        pointer, part = f"{pointer}/{escape(str(names[at]))}", values[at]
    return pointer


def _address(text: bytes | msgspec.Raw) -> int:
    return np.frombuffer(text, dtype=np.uint8).ctypes.data
