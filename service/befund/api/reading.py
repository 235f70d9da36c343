"""What a request may bring: the parameters its route reads, and a body of a kind that is read."""

from difflib import get_close_matches
from functools import cache
from typing import Any

from litestar import Request
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter

from befund.api.auth import needed_scope
from befund.api.body import JSON_OF, refuse_other_media_types
from befund.api.problems import Refusal


async def refuse_what_is_not_read(request: Request[Any, Any, Any]) -> None:
    """Refuse, before anything is done, parameters and bodies that the route does not read."""
    _refuse_unknown_parameters(request)
    refuse_other_media_types(request)


def _refuse_unknown_parameters(request: Request[Any, Any, Any]) -> None:
    """Refuse a parameter that the route does not read, as unknown fields of a body are.

    Routes that need no key take any: probes and scrapers add what they like. Those that read their body themselves
    read their parameters too.
    """
    if needed_scope(request.route_handler) is None or JSON_OF in request.route_handler.opt:
        return
    known = _parameters(request.route_handler)
    for name in request.query_params:
        if name not in known:
            raise Refusal(400, f"The parameter {name[:100]!r} is not read here. {_advice(name, known)}")


def _advice(name: str, known: frozenset[str]) -> str:
    if meant := get_close_matches(name, known, n=1):
        return f"Did you mean {meant[0]!r}?"
    return f"This path reads {', '.join(sorted(known))}." if known else "Leave it out."


@cache
def _parameters(handler: BaseRouteHandler) -> frozenset[str]:
    found = handler.parsed_fn_signature.parameters.items()
    return frozenset(
        definition.kwarg_definition.query or name
        for name, definition in found
        if isinstance(definition.kwarg_definition, QueryParameter)
    )
