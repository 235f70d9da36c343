"""Filters as Chroma reads them, evaluated on one chunk's metadata: which clause leaves the chunk out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Where = Mapping[str, Any]

_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": lambda value, limit: value > limit,
    "$gte": lambda value, limit: value >= limit,
    "$lt": lambda value, limit: value < limit,
    "$lte": lambda value, limit: value <= limit,
}
_OPPOSITE = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}
"""What has no such field passes these."""


def failing_clause(where: Where, metadata: Mapping[str, object]) -> dict[str, Any] | None:
    """The first clause of a filter that a chunk with this metadata does not pass; None where it passes all.

    Clauses are those that `$and` joins; an `$or` is one clause, since all of it must fail.

    >>> failing_clause({"$and": [{"language": "en"}, {"version": {"$gte": 3}}]}, {"language": "en", "version": 2})
    {'version': {'$gte': 3}}
    >>> failing_clause({"$or": [{"version": 2}, {"version": 3}]}, {"version": 2.0}) is None
    True
    """
    for key, value in where.items():
        if key == "$and":
            failed = next((clause for each in value if (clause := failing_clause(each, metadata))), None)
            if failed is not None:
                return failed
        elif not _passes(key, value, metadata):
            return {key: value}
    return None


def fields_of(where: Where) -> list[str]:
    """The metadata fields that a filter looks at, in order, each once.

    >>> fields_of({"$or": [{"version": 2}, {"$and": [{"role": "x"}, {"version": 3}]}]})
    ['version', 'role']
    """
    found: dict[str, None] = {}
    for key, value in where.items():
        if key in ("$and", "$or"):
            found.update(dict.fromkeys(field for each in value for field in fields_of(each)))
        else:
            found[key] = None
    return list(found)


def _passes(key: str, value: Any, metadata: Mapping[str, object]) -> bool:
    if key == "$or":
        return any(failing_clause(each, metadata) is None for each in value)
    own = metadata.get(key)
    conditions = value if isinstance(value, Mapping) else {"$eq": value}
    return all(_holds(operator, operand, own) for operator, operand in conditions.items())


def _holds(operator: str, operand: Any, own: object) -> bool:
    if operator in _OPPOSITE:
        return not _holds(_OPPOSITE[operator], operand, own)
    if operator == "$eq":
        return _equal(own, operand)
    if operator == "$in":
        return any(_equal(own, each) for each in operand)
    if operator == "$contains":
        return (
            isinstance(own, Sequence)
            and not isinstance(own, str)
            and any(type(each) is type(operand) and each == operand for each in own)
        )
    return isinstance(own, int | float) and not isinstance(own, bool) and _ORDER[operator](own, _as_kept(operand, own))


def _equal(own: object, wanted: object) -> bool:
    """Numbers equal numbers whatever their kind; a truth value equals no number."""
    if isinstance(own, int | float) and _is_number(own) and isinstance(wanted, int | float) and _is_number(wanted):
        return own == _as_kept(wanted, own)
    return type(own) is type(wanted) and own == wanted


def _as_kept(operand: float, own: float) -> float:
    """Chroma compares what it keeps as an integer with the operand cut to one: 2 is not less than 2.5 there."""
    return int(operand) if isinstance(own, int) else operand


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
