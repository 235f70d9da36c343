"""Names of runs, data sets and monitors, as they come in paths."""

import msgspec

from befund.contract import DatasetReference, Name
from befund.core.errors import MalformedRequestError


def read_name(text: str) -> str:
    """A name of a run, data set or monitor.

    Raises:
        MalformedRequestError: It cannot be one.
    """
    try:
        return msgspec.convert(text, Name)
    except msgspec.ValidationError as error:
        raise MalformedRequestError(
            f"{text[:128]!r} is no name", "Names are 1 to 128 letters, digits, dots, lines and underscores."
        ) from error


def read_reference(text: str) -> str:
    """The name of a data set, or name@HASH; raises as above."""
    try:
        return msgspec.convert(text, DatasetReference)
    except msgspec.ValidationError as error:
        raise MalformedRequestError(
            f"{text[:128]!r} names no data set", "Write name, or name@HASH for a fixed version."
        ) from error
