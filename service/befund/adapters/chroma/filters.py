"""Filters as Chroma can carry them out: over thousands of conditions its native code ends the process."""

from collections.abc import Mapping

MOST_LEVELS = 32
MOST_CONDITIONS = 256
MOST_VALUES = 1_000
"""In all lists of `$in` and `$nin` together."""


def complaint(where: object) -> str | None:
    """What is too much in a filter; None where nothing is."""
    if _nests_deeper(where, MOST_LEVELS):
        return f"expected at most {MOST_LEVELS} levels"
    conditions, values = _sizes(where)
    if conditions > MOST_CONDITIONS:
        return f"expected at most {MOST_CONDITIONS} conditions, found {conditions}"
    if values > MOST_VALUES:
        return f"expected at most {MOST_VALUES} values in lists, found {values}"
    return None


def _nests_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(levels == 1 or _nests_deeper(each, levels - 1) for each in inner if isinstance(each, Mapping | list))


def _sizes(value: object) -> tuple[int, int]:
    """How many conditions and how many values in lists there are."""
    inner = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    nested = [_sizes(each) for each in inner if isinstance(each, Mapping | list)]
    conditions, values = sum(each[0] for each in nested), sum(each[1] for each in nested)
    if isinstance(value, Mapping):
        return max(1, conditions), values
    return conditions, values + len(inner) - len(nested)
