"""What judging costs: tokens, and their price where it is known."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from befund.contract import Usage

_MILLION = 1_000_000


class Price(Struct, frozen=True):
    """US dollars for a million tokens. Cached input costs as much as other input where nothing else is said."""

    input: float
    output: float
    cached: float | None = None


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost; None where the price or the tokens are not known.

    >>> priced(Usage(input_tokens=1000, output_tokens=100, cached_tokens=400), Price(2.0, 8.0, 0.5)).cost_usd
    0.0022
    >>> priced(Usage(input_tokens=1000, output_tokens=100), None).cost_usd is None
    True
    """
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=_cost(usage, price),
    )


def total(usages: Iterable[Usage]) -> Usage:
    """All together; a part that one of them does not know is not known.

    >>> total([Usage(input_tokens=3, output_tokens=None), Usage(input_tokens=4, output_tokens=1)]).input_tokens
    7
    """
    every = list(usages)
    cost = [usage.cost_usd for usage in every]
    return Usage(
        input_tokens=_sum(every, "input_tokens"),
        output_tokens=_sum(every, "output_tokens"),
        cached_tokens=_sum(every, "cached_tokens"),
        cost_usd=None if None in cost else sum(part for part in cost if part is not None),
    )


def _cost(usage: Usage, price: Price | None) -> float | None:
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    cached_price = price.input if price.cached is None else price.cached
    fresh = usage.input_tokens - cached
    return (fresh * price.input + cached * cached_price + usage.output_tokens * price.output) / _MILLION


def _sum(usages: list[Usage], part: Literal["input_tokens", "output_tokens", "cached_tokens"]) -> int | None:
    parts = [getattr(usage, part) for usage in usages]
    return None if None in parts else sum(parts)
