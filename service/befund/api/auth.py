"""Named keys with scopes. Every route says which scope it needs, or that it is open."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from typing import Any

from litestar import Litestar
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from befund.api.exchange import Exchange
from befund.api.problems import Refusal
from befund.settings import ApiKey, Scope

_NEEDS = "needs"
_OPEN = "open"


def needs(scope: Scope) -> dict[str, object]:
    """Mark a route (`opt=needs("read")`) as one for keys with this scope."""
    return {_NEEDS: scope}


def open_to_all() -> dict[str, object]:
    """Mark a route (`opt=open_to_all()`) as one that asks for no key."""
    return {_NEEDS: _OPEN}


def needed_scope(handler: BaseRouteHandler) -> str | None:
    """The scope a route needs; None where it is open."""
    declared = handler.opt.get(_NEEDS)
    return None if declared == _OPEN or _is_options(handler) else declared


def refuse_undeclared_routes(app: Litestar) -> None:
    """Stop the start when a route says neither which scope it needs nor that it is open."""
    for route in app.routes:
        for handler in getattr(route, "route_handlers", [getattr(route, "route_handler", None)]):
            if not _is_options(handler) and _NEEDS not in handler.opt:
                raise RuntimeError(f"{route.path} declares neither a scope nor that it is open: {handler}")


def refuse_without_admin(exchange: Exchange, option: str) -> None:
    """Refuse an option that deletes what others stored to a key that may not delete.

    Raises:
        Refusal: 403, naming the scope.
    """
    if exchange.scopes is not None and "admin" not in exchange.scopes:
        raise Refusal(
            403,
            f"{option} deletes what is stored, and the key {exchange.caller!r} lacks the scope 'admin'. Use a key that "
            f"has it, or leave out {option}.",
        )


class Authorizer:
    """The guard of every route. Without any key configured everybody may do everything, anonymously."""

    def __init__(self, keys: Sequence[ApiKey]) -> None:
        self._keys = tuple((_digest(key.secret.encode()), key) for key in keys)

    # Async though it awaits nothing: Litestar would send a plain function through a thread on every request.
    async def __call__(self, connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
        """Let the request pass, or refuse it with 401 or 403."""
        scope = needed_scope(handler)
        if not self._keys or scope is None:
            return
        key = self._key_of(_sent_key(connection.scope["headers"]))
        exchange = Exchange.of(connection.scope)
        exchange.caller, exchange.scopes = key.name, frozenset(key.scopes)
        if scope not in key.scopes:
            raise Refusal(403, f"The key {key.name!r} lacks the scope {scope!r}. Use a key that has it.")

    def _key_of(self, sent: bytes | None) -> ApiKey:
        if sent is None:
            raise Refusal(
                401,
                "This path needs a key. Send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'.",
                headers={"WWW-Authenticate": 'Bearer realm="befund"'},
            )
        # Every key is compared, by digests of one length, so that the time taken tells nothing of the keys.
        digest = _digest(sent)
        matches = [key for known, key in self._keys if hmac.compare_digest(known, digest)]
        if not matches:
            raise Refusal(
                401,
                "The key is not known here. Check it for typing errors or ask for a new one.",
                headers={"WWW-Authenticate": 'Bearer realm="befund", error="invalid_token"'},
            )
        return matches[0]


def _sent_key(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The key a request brings. A Bearer token wins over X-API-Key; other schemes are not ours."""
    from_header: bytes | None = None
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].strip()
        if name == b"x-api-key":
            from_header = value.strip()
    return from_header


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def _is_options(handler: BaseRouteHandler) -> bool:
    """Whether this is the answer to OPTIONS that Litestar adds to every route; it tells methods, nothing else."""
    return isinstance(handler, HTTPRouteHandler) and handler.http_methods == {"OPTIONS"}
