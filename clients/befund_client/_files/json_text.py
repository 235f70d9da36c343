"""JSON as people write it into files: strict, and with the line of everything that is wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import NoReturn

import msgspec

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

Path = tuple[str | int, ...]


class BrokenJsonError(Exception):
    """What is wrong with a JSON text, and the line, counted from 1."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason, line)
        self.reason = reason
        self.line = line


class _NamedTwiceError(Exception):
    """An object names a key twice."""


def decode(text: str) -> object:
    """Decode JSON; refuse NaN, infinity, and keys named twice, of which most readers keep the last in silence."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_finite)
        if SURROGATE.search(text):
            msgspec.json.encode(value)
    except json.JSONDecodeError as error:
        raise BrokenJsonError(f"broken JSON: {error.msg} (column {error.colno})", error.lineno) from error
    except _NamedTwiceError as error:
        raise _named_twice(text) from error
    except RecursionError as error:
        raise BrokenJsonError("JSON nested too deeply to be read", 1) from error
    except UnicodeEncodeError as error:
        raise BrokenJsonError("half of a surrogate pair (\\ud800 to \\udfff) stands for no character", 1) from error
    except ValueError as error:
        raise BrokenJsonError(f"broken JSON: {error}", _line_with(text, str(error))) from error
    return value


def line_of(text: str, path: Path) -> int | None:
    """The line at which the value at `path` begins."""
    return next((line for found, line in _positions(text) if found == path), None)


def written(path: Path) -> str:
    """A path as people write it: `questions[3].id`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".") or "the whole"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _NamedTwiceError
    return made


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a finite number")


def _finite(written: str) -> float:
    number = float(written)
    return number if math.isfinite(number) else _no_number(written)


def _line_with(text: str, reason: str) -> int:
    constant = re.search(rf"(?<![\w\"]){re.escape(reason.split()[0])}(?![\w\"])", text)
    return text.count("\n", 0, constant.start()) + 1 if constant else 1


def _named_twice(text: str) -> BrokenJsonError:
    seen: dict[Path, int] = {}
    for path, line in _positions(text):
        if path in seen:
            where = f"lines {seen[path]} and {line}" if line != seen[path] else f"line {line}, twice"
            return BrokenJsonError(f"{path[-1]!r} is named twice in one object ({where}): keep one of them", line)
        seen[path] = line
    return BrokenJsonError("a key is named twice in one object: keep one of them", 1)


def _positions(text: str) -> Iterator[tuple[Path, int]]:
    """Every value of a well-formed JSON text in order, with its path and line. Slow; only errors ask for it."""
    path: list[str | int] = []
    key_next = False
    line, counted = 1, 0
    for token in TOKEN.finditer(text):
        line += text.count("\n", counted, token.start())
        counted = token.start()
        match token.group():
            case "}" | "]":
                path.pop()
                key_next = False
            case ",":
                if isinstance(path[-1], int):
                    path[-1] += 1
                else:
                    key_next = True
            case ":":
                key_next = False
            case key if key_next:
                path[-1] = json.loads(key)
            case value:
                yield tuple(path), line
                if value in "{[":
                    path.append("" if value == "{" else 0)
                    key_next = value == "{"
