"""The YAML at the head of a Markdown document."""

from collections.abc import Mapping
from typing import Any

import yaml

from befund.adapters.splitter import front_matter_length
from befund.core.corpus import MetadataError

LONGEST = 64 * 1024

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_front_matter(text: str) -> Mapping[Any, Any]:
    r"""What the front matter of a document says; empty where it has none.

    Aliases (`*name`) are refused: a few lines of them stand for gigabytes.

    >>> read_front_matter("---\nid: D1\nroles: [staff]\n---\nText.")
    {'id': 'D1', 'roles': ['staff']}

    Raises:
        MetadataError: It is not YAML, no map, or too long.
    """
    length = front_matter_length(text)
    if length > LONGEST:
        raise MetadataError(f"the front matter is longer than {LONGEST} characters")
    inner = text[:length].strip().removeprefix("\ufeff").removeprefix("---").removesuffix("---")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(inner, Loader=_Loader)):
            raise MetadataError("the front matter uses YAML aliases, which are not read")
        value = yaml.load(inner, Loader=_Loader)  # noqa: S506 - one of the two safe loaders
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, MetadataError):
            raise
        raise MetadataError(f"the front matter is not YAML: {_first_line(error)}") from error
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise MetadataError("the front matter is no map of names to values")
    return value


def _first_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).partition("\n")[0] or type(error).__name__
    return f"{what}, line {mark.line + 1}" if mark else str(what)
