"""The calls that look at monitors: arguments in, request bytes out."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict, Unpack
from urllib.parse import urlencode

import msgspec

from befund.contract import MonitorAnswer, MonitorEntries, MonitorList
from befund_client._exchange import Call
from befund_client._requests import nothing, path_of


class TimeKeywords(TypedDict, total=False):
    """Which time is looked at: `window` seconds up to `until`, or from `since` on; a day up to now if nothing is given.

    Times have an offset (`tzinfo`); `until` itself does not belong to it.
    """

    since: datetime | None
    until: datetime | None
    window: int | None


def monitors_call() -> Call[MonitorList]:
    """GET /monitors."""
    return Call(method="GET", path="/monitors", read=msgspec.json.Decoder(MonitorList).decode)


def monitor_call(name: str, step: int | None, **time: Unpack[TimeKeywords]) -> Call[MonitorAnswer]:
    """GET /monitors/{name}."""
    path = path_of("monitors", name) + _query({**_told(time), "step": step})
    return Call(method="GET", path=path, read=msgspec.json.Decoder(MonitorAnswer).decode)


def monitor_entries_call(
    name: str, limit: int, cursor: str | None, **time: Unpack[TimeKeywords]
) -> Call[MonitorEntries]:
    """GET /monitors/{name}/entries."""
    path = path_of("monitors", name, "entries") + _query({**_told(time), "limit": limit, "cursor": cursor})
    return Call(method="GET", path=path, read=msgspec.json.Decoder(MonitorEntries).decode)


def delete_monitor_call(name: str) -> Call[None]:
    """DELETE /monitors/{name}."""
    return Call(method="DELETE", path=path_of("monitors", name), read=nothing, accepted=frozenset({204}))


def _told(time: TimeKeywords) -> dict[str, str | int | None]:
    moments = {"since": time.get("since"), "until": time.get("until")}
    for name, moment in moments.items():
        if moment is not None and moment.tzinfo is None:
            raise ValueError(f"{name} has no offset: give it a tzinfo")
    told = {name: None if moment is None else moment.isoformat() for name, moment in moments.items()}
    return {**told, "window": time.get("window")}


def _query(fields: dict[str, str | int | None]) -> str:
    given = {name: value for name, value in fields.items() if value is not None}
    return "?" + urlencode(given) if given else ""
