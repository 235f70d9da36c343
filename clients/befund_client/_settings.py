"""Where the service is and who asks."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import msgspec

DEFAULT_URL = "http://127.0.0.1:8080"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What every request of a client shares."""

    url: str
    key: str | None
    timeout: float

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, timeout={self.timeout!r})"

    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        authorization = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        return {"User-Agent": "befund-client", "Accept": "application/json", **authorization}


def resolve(url: str | None, key: str | None, timeout: float) -> Settings:
    """Fill what was not given from BEFUND_URL and BEFUND_API_KEY.

    Raises:
        ValueError: The address or the key cannot be one.
    """
    address = url or os.environ.get("BEFUND_URL") or DEFAULT_URL
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and address.isprintable()
        usable = usable and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"{address!r} is no address of a service; write it like {DEFAULT_URL}")
    secret = (key or os.environ.get("BEFUND_API_KEY") or "").strip()
    if not all("!" <= character <= "~" for character in secret):
        raise ValueError("the API key holds a character that no key has: check BEFUND_API_KEY")
    return Settings(url=address.rstrip("/"), key=secret or None, timeout=timeout)
