"""What a value from a closed set may be, for errors about one that is none of them."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

_COMPLAINT = re.compile(r"Invalid enum value .*? - at (?:`key` in )?`\$(?P<path>.*)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(?:\d+|\.\.\.)\]")


def with_allowed(error: msgspec.ValidationError, kind: Any) -> str:
    """What msgspec complains of, with the values there are where it is about one outside a closed set.

    >>> from befund.contract import Question
    >>> try:
    ...     msgspec.convert({"id": "Q1", "question": "How?", "expected_behavior": "refuse"}, Question)
    ... except msgspec.ValidationError as error:
    ...     with_allowed(error, Question)
    "Invalid enum value 'refuse' (allowed: 'answer', 'clarify', 'deny', 'no_answer') - at `$.expected_behavior`"
    """
    message = str(error)
    found = _COMPLAINT.fullmatch(message)
    allowed = list(_allowed_at(kind, found["path"])) if found else []
    if not allowed:
        return message
    what, at, place = message.rpartition(" - at ")
    return f"{what} (allowed: {', '.join(map(repr, allowed))}){at}{place}"


def _allowed_at(kind: Any, path: str) -> Iterator[object]:
    types = [inspect.type_info(kind)]
    for step in _STEP.finditer(path):
        types = [inner for each in types for inner in _inside(each, step[1])]
    for each in _plain(types):
        if isinstance(each, inspect.LiteralType):
            yield from each.values


def _inside(kind: inspect.Type, name: str | None) -> Iterator[inspect.Type]:
    """The types one step further in: of a field, or of the members of an array or object."""
    for each in _plain([kind]):
        match each:
            case inspect.StructType(fields=fields):
                yield from (field.type for field in fields if field.encode_name == name)
            case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner) if name is None:
                yield inner


def _plain(types: list[inspect.Type]) -> Iterator[inspect.Type]:
    """Each type without what surrounds it."""
    for each in types:
        match each:
            case inspect.UnionType(types=members):
                yield from _plain(list(members))
            case inspect.Metadata(type=inner):
                yield from _plain([inner])
            case _:
                yield each
