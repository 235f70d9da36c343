"""Times as the store keeps them: microseconds since 1970, in UTC."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def moment_of(microseconds: int) -> datetime:
    """As it was stored; what no calendar holds, as the first or last day of ours, so that it can be listed."""
    within = min(max(microseconds, stored_moment(_FIRST)), stored_moment(_LAST))
    return _EPOCH + timedelta(microseconds=within)


def stored_moment(moment: datetime) -> int:
    """As it is stored."""
    return microseconds_in(moment - _EPOCH)


def microseconds_in(duration: timedelta) -> int:
    """A duration in the unit of the store."""
    return duration // timedelta(microseconds=1)
