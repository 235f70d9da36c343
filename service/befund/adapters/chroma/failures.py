"""Chroma's errors in our words."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from befund.core.errors import BefundError, ContradictionError, DependencyError, NotFoundError

_TOO_LARGE = re.compile(r"Expression tree is too large|too many SQL variables")


@contextmanager
def translated(name: str | None = None) -> Iterator[None]:
    """Translate what Chroma raises while something is done with a collection (or with none)."""
    try:
        yield
    except BefundError:
        raise
    except Exception as error:  # Chroma's server errors come as plain exceptions
        raise _translation(error, name) from error


def _translation(error: Exception, name: str | None) -> BefundError:
    from chromadb import errors  # slow to import; once it has raised something it is there

    if name is not None and isinstance(error, errors.NotFoundError):
        return unknown_collection(name)
    if name is not None and isinstance(error, errors.InvalidArgumentError) and "name: Expected" in str(error):
        return bad_name(name)
    return failed(name, error)


def unknown_collection(name: str) -> NotFoundError:
    """There is none of this name."""
    return NotFoundError(
        "unknown-collection",
        f"There is no collection {name[:100]!r}. GET /collections lists those there are; befund ingest makes one.",
    )


def bad_name(name: str) -> ContradictionError:
    """Chroma takes no such name."""
    return ContradictionError(
        "bad-collection-name",
        f"{name[:100]!r} cannot be the name of a collection. It should be 3 to 512 letters, digits, dots, dashes or "
        "underscores, begin and end with a letter or digit, and be no IP address.",
    )


def damaged(name: str) -> DependencyError:
    """Its vectors are lost."""
    return DependencyError(
        "index-damaged",
        f"Collection {name!r} is damaged: vectors of it are lost or cannot be read. Ingest its documents anew with "
        "replace (befund ingest --replace); the other collections can be used.",
    )


def bad_filter(complaint: str) -> ContradictionError:
    """A filter that Chroma cannot read; the place is within the search."""
    what = (
        complaint.removesuffix(" in query.")
        .removesuffix(" in get.")
        .removesuffix(".")
        .replace("Expected", "expected", 1)
    )
    return ContradictionError.at(
        "/where",
        "bad-filter",
        f'The filter cannot be used: {what}. Write {{"field": value}}, {{"field": {{"$gte": 1}}}} or '
        '{"$and": [..., ...]}; operators are $eq $ne $gt $gte $lt $lte $in $nin $contains $not_contains $and $or.',
    )


@contextmanager
def filter_translated(where: Mapping[str, Any] | None) -> Iterator[None]:
    """Say of a failure that the filter is what cannot be read, where it is."""
    try:
        yield
    except DependencyError as error:
        cause = error.__cause__
        if not where or cause is None:
            raise
        from chromadb.errors import InternalError, InvalidArgumentError

        if isinstance(cause, ValueError | InvalidArgumentError):
            raise bad_filter(str(cause)) from cause
        if isinstance(cause, InternalError) and _TOO_LARGE.search(str(cause)):
            raise bad_filter("expected fewer conditions and values") from cause
        raise


def failed(name: str | None, error: Exception) -> DependencyError:
    """Chroma failed, and not for anything the caller did."""
    about = "The index" if name is None else f"The index, asked about collection {name!r},"
    kind = type(error).__name__
    return DependencyError(
        "index-failed", f"{about} failed ({kind}: {str(error)[:300]}). Look at its log and its disk, then try again."
    )
