r"""Text of others, in which nothing acts unseen: what steers a reader's device, or turns text around, is written out.

What XML cannot hold is among it, so that whatever passes here can stand in any form.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Control characters, marks that change the direction of text, line separators, what is no character."""
_BREAKS = frozenset("\t\n\r")

T = TypeVar("T")


def visible(text: str, *, breaks: bool = False) -> str:
    r"""Write out what would act unseen; with `breaks`, tabs and line breaks stay.

    >>> visible("a\x00b\n\u202ec")
    'a\\x00b\\n\\u202ec'
    >>> visible("one\ntwo", breaks=True)
    'one\ntwo'
    """
    return _UNSEEN.sub(lambda found: found[0] if breaks and found[0] in _BREAKS else _written_out(found[0]), text)


def all_visible(answer: T) -> T:
    """An answer whose every text, names of objects too, was made visible."""
    shown: T = msgspec.convert(_within(msgspec.to_builtins(answer)), type(answer))
    return shown


def _within(value: Any) -> Any:
    match value:
        case str():
            return visible(value)
        case dict():
            return {visible(name): _within(each) for name, each in value.items()}
        case list() | tuple():
            return [_within(each) for each in value]
        case _:
            return value


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode()
