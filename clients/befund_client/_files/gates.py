"""Gates in a file: `[[gates]]` tables in TOML, a list under `gates` in YAML or JSON."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from befund.contract import Gate
from befund_client._files.source import Source

FORMS = 'gates are [[gates]] tables with metric and one threshold, as metric = "recall@5", max_drop = 0.05'


def gates_of(source: Source) -> list[Gate]:
    """The gates of a file. A misspelt key would be a gate that never closes: it is an error.

    Raises:
        FileError: The file holds something else, or no gate.
    """
    value = _READERS.get(source.extension, _toml)(source)
    if not isinstance(value, dict) or set(value) != {"gates"}:
        others = sorted(set(value) - {"gates"}) if isinstance(value, dict) else []
        said = f"has {others[0]!r} at the top" if others else "holds no gates"
        raise source.error(f"{said}: {FORMS}")
    try:
        gates = msgspec.convert(value["gates"], list[Gate])
    except msgspec.ValidationError as error:
        raise source.error(f"{error}: {FORMS}") from error
    if not gates:
        raise source.error(f"holds no gate, and what decides nothing passes everything: {FORMS}")
    return gates


def _toml(source: Source) -> Any:
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise source.error(f"is not TOML: {error}") from error


def _yaml(source: Source) -> Any:
    import yaml  # needs the extra `cli`

    try:
        _refuse_twice(source, yaml.compose(source.text, Loader=yaml.SafeLoader), set())
        return yaml.safe_load(source.text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise source.error(f"is not YAML: {' '.join(str(error).split())}") from error


def _refuse_twice(source: Source, node: Any, seen: set[int]) -> None:
    """PyYAML keeps the last of two keys with one name; which of two thresholds is meant nobody can tell."""
    if node is None or id(node) in seen or isinstance(node.value, str):
        return
    seen.add(id(node))
    named: set[str] = set()
    for each in node.value:
        key, value = each if isinstance(each, tuple) else (None, each)
        if key is not None and isinstance(key.value, str):
            if key.value in named:
                raise source.error(f"line {key.start_mark.line + 1}: {key.value!r} is named twice: keep one of them")
            named.add(key.value)
        _refuse_twice(source, value, seen)


def _json(source: Source) -> Any:
    return source.json(source.text)


_READERS: Mapping[str, Callable[[Source], Any]] = {".yaml": _yaml, ".yml": _yaml, ".json": _json}
