"""Work that goes on in the background: many answers, judged one by one, each result kept as it comes."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from befund.contract import JobState, JudgeBatchOptions

FINAL: frozenset[JobState] = frozenset({"done", "failed", "cancelled"})
JOB_ITEMS = 10_000
"""Answers of one job."""


class JobAbout(Struct, frozen=True, kw_only=True):
    """What a job was sent with, beside its items."""

    options: JudgeBatchOptions
    request_id: str
    trace_id: str | None


class Job(Struct, frozen=True, kw_only=True):
    """A stored job without its items. `outcome` is its summary, or its problem, as JSON, once it has ended."""

    id: str
    state: JobState
    caller: str
    about: JobAbout
    total: int
    done: int
    failed: int
    spent: float
    outcome: bytes | None
    created: datetime
    updated: datetime


class JobItem(Struct, frozen=True):
    """One answer of a job, and what came of it as JSON; None while that is not known."""

    place: int
    item: bytes
    result: bytes | None


class JobCounts(Struct, frozen=True):
    """Jobs by state, and how long the oldest one that nobody works on has waited."""

    by_state: Mapping[str, int]
    oldest_seconds: float
