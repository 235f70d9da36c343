"""Requests that may come twice."""

import re
from collections.abc import Mapping

from befund.core.errors import MalformedRequestError

_KEY = re.compile(r"[\x21-\x7e]{1,256}")


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    """The request's Idempotency-Key; None where it brings none.

    Raises:
        MalformedRequestError: It cannot be one.
    """
    key = headers.get("idempotency-key", "").strip()
    if key and not _KEY.fullmatch(key):
        raise MalformedRequestError(
            "The Idempotency-Key cannot be used", "It has 1 to 256 visible ASCII characters, a random UUID say."
        )
    return key or None
