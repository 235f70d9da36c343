"""Fields named twice in one JSON object, of which decoding keeps the last in silence."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from itertools import islice
from operator import or_
from types import GenericAlias
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Raw, inspect

from befund.core.decoding import DEEPEST_NAMED, escape, offset_in
from befund.core.errors import MalformedRequestError

_ENCODER = msgspec.json.Encoder()
_ARRAY = msgspec.json.Decoder(list[Raw])
_MOST_LOOKED_AT = 100_000
_ESCAPED = (b"\\u003a", b"\\u003A")
_PLAIN = {inspect.NoneType: None, inspect.StrType: str}


def refuse_repeated_fields(raw: bytes | Raw, kind: Any) -> None:
    """Refuse JSON in which an object names a field or a key twice.

    Args:
        raw: JSON; what does not decode as `kind` is left to whoever decodes it.
        kind: Its type; parts that the type leaves raw are not looked into.

    Raises:
        MalformedRequestError: A name stands there twice; the error names its place within `raw`.
    """
    text = bytes(raw)
    try:
        if may_repeat_fields(text, kind):
            looking = _refuse_first_repeated(msgspec.json.decode(text, type=Raw))
            deque(islice(looking, _MOST_LOOKED_AT), maxlen=0)
            if _loses_colons(text, kind):
                raise MalformedRequestError("An object names a field more than once", "Keep one of them.")
    except (ValueError, RecursionError):
        return


def may_repeat_fields(text: bytes, kind: Any) -> bool:
    """Whether an object may name a field or a key twice; quick, and right where it says no.

    The text is decoded as little as its objects need, and encoded again. What was repeated is lost by that, and at
    least one colon with it, unless an escaped one makes up for it.

    Args:
        text: JSON; of an array of many small parts rather than of each part, where it must cost little.
        kind: Its type; parts that the type leaves raw are not looked into.

    Raises:
        ValueError: It does not decode as `kind` (msgspec's errors are such).
        RecursionError: It is nested too deeply.
    """
    return _loses_colons(text, kind) or any(map(text.__contains__, _ESCAPED))


def without(text: bytes, *runs: Sequence[Raw]) -> bytes:
    """The text with each run of parts, from the first to the last of it, replaced by one 0.

    Args:
        text: JSON.
        runs: Neighbouring parts, in order, that decoding this very text left raw; others (defaults) are passed over.
    """
    spans = sorted((offset_in(text, run[0]), offset_in(text, run[-1]) + _length(run[-1])) for run in runs if run)
    spans = [(start, end) for start, end in spans if 0 <= start < end <= len(text)]
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    return b"0".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def _loses_colons(text: bytes, kind: Any) -> bool:
    return _colons(_ENCODER.encode(_outline_of(kind).decode(text))) < _colons(text)


def _length(part: Raw) -> int:
    return len(memoryview(part))


def _colons(text: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord(":")))


@cache
def _outline_of(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_outline(inspect.type_info(kind)))


def _outline(kind: inspect.Type) -> Any:
    """The type of the same JSON with everything raw that holds no object."""
    match kind:
        case inspect.Metadata():
            return _outline(kind.type)
        case inspect.StructType():
            fields = [(field.encode_name, _outline(field.type), UNSET) for field in kind.fields]
            return msgspec.defstruct(kind.cls.__name__, fields, gc=False)
        case inspect.DictType():
            return GenericAlias(dict, (str, _outline(kind.value_type)))
        case inspect.ListType() | inspect.CollectionType():
            items = _outline(kind.item_type)
            return Raw if items is Raw else GenericAlias(list, items)
        case inspect.UnionType():
            members = [each.type if isinstance(each, inspect.Metadata) else each for each in kind.types]
            holding = [form for form in map(_outline, members) if form is not Raw]
            plain = [_PLAIN[type(each)] for each in members if type(each) in _PLAIN]
            if len(holding) == 1 and len(plain) == len(members) - 1:
                return reduce(or_, plain, holding[0])
            return Any if holding else Raw
        case inspect.AnyType():
            return Any
        case _:
            return Raw


class _Name(str):
    """A name in an object, told apart from other strings so that each one is seen as it is decoded."""

    __slots__ = ()


def _refuse_first_repeated(part: Raw, pointer: str = "", depth: int = 0) -> Iterator[None]:
    """Look at each object and array, down to a depth no field of ours reaches; yields at each, so as to be ended."""
    yield
    for name, inner in _parts(part, pointer):
        if depth < DEEPEST_NAMED and memoryview(inner)[0] in b"{[":
            yield from _refuse_first_repeated(inner, f"{pointer}/{escape(str(name))}", depth + 1)


def _parts(part: Raw, pointer: str) -> Iterable[tuple[str | int, Raw]]:
    """The values within an object or array by name or position; none of anything else."""
    match memoryview(part)[:1].tobytes():
        case b"{":
            names: list[str] = []

            def see(_: type, name: str) -> _Name:
                names.append(name)
                return _Name(name)

            parts = msgspec.json.decode(part, type=dict[_Name, Raw], dec_hook=see)
            if len(parts) != len(names):
                twice = next(name for name, times in Counter(names).items() if times > 1)
                raise MalformedRequestError(
                    f"Object contains field `{twice}` more than once",
                    "Keep one of them.",
                    pointer=f"{pointer}/{escape(twice)}",
                )
            return parts.items()
        case b"[":
            return enumerate(_ARRAY.decode(part))
        case _:
            return ()
