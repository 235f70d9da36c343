"""What the docstrings of the wire types say, for the OpenAPI document."""

import inspect
import re

_SECTION = "\n\nAttributes:\n"
_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def summary_of(kind: type) -> str:
    """The docstring without its section about attributes."""
    return inspect.cleandoc(kind.__doc__ or "").partition(_SECTION)[0]


def attributes_of(kind: type) -> dict[str, str]:
    """What the docstrings of a type and its bases say of each attribute, each in one line."""
    said: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        section = inspect.cleandoc(each.__dict__.get("__doc__") or "").partition(_SECTION)[2]
        said |= {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(section)}
    return said
