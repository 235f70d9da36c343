"""Documents and their chunks: what is stored beside each chunk, and how it is known again."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Self

from msgspec import Struct

from befund.core.errors import ContradictionError
from befund.core.retrieval.content import hash_of

Value = str | int | float | bool | list[str]
Metadata = Mapping[str, Value]

DEFAULT_MAX_CHARACTERS = 700
MOST_FIELDS = 100
LONGEST_NAME = 128
LONGEST_VALUE = 4096
LARGEST_INTEGER = 2**63 - 1
OWN_FIELDS = frozenset({"document", "number", "chunks", "start", "end", "content"})
"""What Befund itself stores beside a chunk; a document's own fields of these names are left out."""
RESERVED_BEGINNINGS = ("$", "#", "chroma:")
"""Names that the index keeps for its own."""

_CHUNKING = re.compile(r"markdown/([1-9][0-9]{0,8})/(0|[1-9][0-9]{0,8})")


class MetadataError(ValueError):
    """A document's metadata cannot be stored; the message says which and why."""


class Chunking(Struct, frozen=True, kw_only=True):
    """How documents are cut: at most so many characters a chunk, so many of them repeated in the next."""

    max_characters: int = DEFAULT_MAX_CHARACTERS
    overlap: int = 0

    @property
    def name(self) -> str:
        """What a collection records.

        >>> Chunking().name
        'markdown/700/0'
        """
        return f"markdown/{self.max_characters}/{self.overlap}"

    @classmethod
    def named(cls, name: str | None) -> Self | None:
        """The chunking of that name; None where it is not one of these."""
        found = _CHUNKING.fullmatch(name or "")
        return found and cls(max_characters=int(found[1]), overlap=int(found[2]))

    def check(self) -> None:
        """Refuse a chunk that would repeat all of the one before.

        Raises:
            ContradictionError: The overlap is not smaller than a chunk.
        """
        if self.overlap >= self.max_characters:
            raise ContradictionError.at(
                "/chunking/overlap",
                "overlap-too-large",
                f"The overlap is {self.overlap}, a chunk has at most {self.max_characters} characters. "
                "Give an overlap that is smaller.",
            )


class Chunk(Struct, frozen=True, kw_only=True):
    """A piece of one document, with its place in the text it was cut from: `text == source[start:end]`."""

    id: str
    document: str
    text: str
    start: int
    end: int


class Document(Struct, frozen=True, kw_only=True):
    """A text with what is known about it, ready to be cut."""

    id: str
    text: str
    metadata: Metadata

    @property
    def content(self) -> str:
        """Hash over text and metadata: as long as it stays the same, the document has not changed."""
        return hash_of([self.text, self.metadata])


def corpus_hash(contents: Mapping[str, str]) -> str:
    """Hash over all documents, from their ids and content hashes, in any order."""
    return hash_of(contents)


def plain_newlines(text: str) -> str:
    r"""Write every line end as `\n` and drop a byte order mark, so that the same text is the same everywhere.

    >>> plain_newlines("\ufeffone\r\ntwo\rthree")
    'one\ntwo\nthree'
    """
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def flat_metadata(given: Mapping[Any, Any]) -> dict[str, Value]:
    """Flatten metadata to what an index can hold and filter by.

    Maps become dotted names, dates ISO texts, `roles` always a list; null is left out, and so are empty lists, except
    for roles: a document with an empty list of them is for nobody.

    >>> flat_metadata({"version": "3.0", "owner": {"team": "docs"}, "roles": "staff, partner", "valid_to": None})
    {'version': '3.0', 'owner.team': 'docs', 'roles': ['staff', 'partner']}

    Raises:
        MetadataError: There is too much of it, or it is nothing to be filtered by.
    """
    flat: dict[str, Value] = {}
    for name, given_value in _leaves(given, ""):
        value = _value(name, given_value)
        if name == "roles" and not isinstance(value, list):
            value = [role for part in _text(value).split(",") if (role := part.strip())]
        if name not in OWN_FIELDS and (value != [] or name == "roles"):
            flat[name] = value
        if len(flat) > MOST_FIELDS:
            raise MetadataError(f"the metadata has more than {MOST_FIELDS} values")
    return flat


def _leaves(value: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        name = f"{prefix}{_text(key)}"
        if not name or len(name) > LONGEST_NAME:
            raise MetadataError(f"a name in the metadata is empty or longer than {LONGEST_NAME} characters")
        if name.startswith(RESERVED_BEGINNINGS):
            reserved = ", ".join(RESERVED_BEGINNINGS)
            raise MetadataError(f"its field {name!r} cannot be stored: names with {reserved} are the index's own")
        if isinstance(inner, Mapping):
            if name == "roles":
                raise MetadataError("roles is neither a name nor a list of names")
            yield from _leaves(inner, f"{name}.")
        elif inner is not None:
            yield name, inner


def _value(name: str, value: Any) -> Value:
    if isinstance(value, list | tuple | set):
        if any(isinstance(item, Mapping | list | tuple | set) for item in value):
            raise MetadataError(f"{name} is a list that holds lists or maps")
        items = [_text(item) for item in value if item is not None]
        _refuse_long(name, "".join(items))
        return items
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= LARGEST_INTEGER:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    text = _text(value)
    _refuse_long(name, text)
    return text


def _refuse_long(name: str, text: str) -> None:
    if len(text) > LONGEST_VALUE:
        raise MetadataError(f"{name} is longer than {LONGEST_VALUE} characters")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else str(value)
