"""Monitors on a real SQLite file."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from befund.adapters import monitors_sql
from befund.adapters.store_sql import SqlStore
from befund.contract import Usage
from befund.core.errors import ConflictError, ContradictionError, NotFoundError
from befund.core.judged_tally import Shape, Times
from befund.core.monitors import Entry, Group, Period
from befund.ports import Answered

pytestmark = pytest.mark.anyio

START = datetime(2026, 11, 30, tzinfo=UTC)
MARKER = b"Zwetschgendatschi"


class Clock:
    """Seconds that only a test moves."""

    def __init__(self) -> None:
        self.now = START.timestamp()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "befund.sqlite"


@pytest.fixture
async def store(file: Path, clock: Clock) -> AsyncIterator[SqlStore]:
    made = SqlStore(file, clock=clock)
    await made.open()
    yield made
    await made.close()


def entry(
    key: str, *, json: bytes = b"{}", tokens: int | None = 10, judge_ms: float | None = 5.0, **shape: Any
) -> Entry:
    made = Shape(**{"judge": "sha256:1", "correct": "true", "faithful": "true", "behaved": "true"} | shape)
    usage = Usage(input_tokens=tokens, output_tokens=1, cached_tokens=0, cost_usd=0.5)
    return Entry(key=key, shape=made, usage=usage, judge_ms=judge_ms, generation_ms=None, json=json)


def hours(first: int, last: int, *, step: int | None = None) -> Period:
    cut = timedelta(hours=last - first if step is None else step)
    return Period(START + timedelta(hours=first), START + timedelta(hours=last), cut)


async def keys(store: SqlStore, name: str = "prod") -> list[bytes]:
    page = await store.monitors.entries(name, hours(-99, 99), limit=100)
    return [kept.json for kept in page.entries]


def counted(groups: list[Group]) -> dict[tuple[int, str], int]:
    return {(group.window, group.shape.correct): group.answers for group in groups}


async def test_entries_are_appended_and_counted_by_window_and_shape(store: SqlStore, clock: Clock) -> None:
    await store.monitors.append("prod", [entry("a"), entry("b"), entry("c", correct="false")])
    clock.now += 3600
    await store.monitors.append("prod", [entry("d")])
    found = await store.monitors.groups("prod", hours(0, 2, step=1))
    assert counted(found) == {(0, "true"): 2, (0, "false"): 1, (1, "true"): 1}


async def test_a_group_knows_what_its_answers_used_and_took(store: SqlStore) -> None:
    await store.monitors.append("prod", [entry("a"), entry("b", tokens=None, judge_ms=15.0), entry("c", judge_ms=None)])
    (group,) = await store.monitors.groups("prod", hours(0, 1))
    assert group.usage == Usage(input_tokens=None, output_tokens=3, cached_tokens=0, cost_usd=1.5)
    assert (group.judge, group.generation) == (Times(2, 20.0, 15.0), Times())


async def test_the_end_of_a_time_does_not_belong_to_it(store: SqlStore, clock: Clock) -> None:
    await store.monitors.append("prod", [entry("a")])
    clock.now += 3600
    await store.monitors.append("prod", [entry("b")])
    assert counted(await store.monitors.groups("prod", hours(0, 1))) == {(0, "true"): 1}


async def test_an_entry_that_comes_again_takes_its_own_place(store: SqlStore) -> None:
    await store.monitors.append("prod", [entry("a"), entry("b")])
    await store.monitors.append("prod", [entry("a", correct="false")])
    assert counted(await store.monitors.groups("prod", hours(0, 1))) == {(0, "true"): 1, (0, "false"): 1}
    assert (await store.monitors.one("prod")).held == 2


async def test_monitors_keep_apart(store: SqlStore) -> None:
    for name in ("prod", "beta"):
        await store.monitors.append(name, [entry("a")])
    assert [(each.name, each.held) for each in await store.monitors.every()] == [("beta", 1), ("prod", 1)]


async def test_a_monitor_knows_its_first_and_last_time(store: SqlStore, clock: Clock) -> None:
    await store.monitors.append("prod", [entry("a")])
    clock.now += 3600
    await store.monitors.append("prod", [entry("b")])
    monitor = await store.monitors.one("prod")
    assert (monitor.created, monitor.updated) == (START, START + timedelta(hours=1))


async def test_entries_are_read_by_page_the_newest_first(store: SqlStore, clock: Clock) -> None:
    await store.monitors.append("prod", [entry("a", json=b"1"), entry("b", json=b"2")])
    clock.now += 1
    await store.monitors.append("prod", [entry("c", json=b"3")])
    first = await store.monitors.entries("prod", hours(0, 1), limit=2)
    assert [kept.json for kept in first.entries] == [b"3", b"2"]
    second = await store.monitors.entries("prod", hours(0, 1), limit=2, before=first.next)
    assert ([kept.json for kept in second.entries], second.next) == ([b"1"], None)


async def test_many_at_once_go_in_portions(store: SqlStore) -> None:
    many = 2 * monitors_sql.PORTION + 1
    await store.monitors.append("prod", [entry(str(i), json=str(i).encode()) for i in range(many)])
    assert (await store.monitors.one("prod")).held == many
    page = await store.monitors.entries("prod", hours(0, 1), limit=1)
    assert page.entries[0].json == str(many - 1).encode()


async def test_the_answer_is_remembered_with_the_entries_or_neither(store: SqlStore) -> None:
    answered = Answered("ci", "k", "sha256:1", b"x")
    await store.monitors.append("prod", [entry("a", json=b"1")], answered=answered)
    assert await store.answered("ci", "k") == answered
    with pytest.raises(ConflictError):
        await store.monitors.append("prod", [entry("b", json=b"2")], answered=answered)
    assert await keys(store) == [b"1"]


async def test_what_is_older_is_pruned_and_an_empty_monitor_with_it(store: SqlStore, clock: Clock, file: Path) -> None:
    await store.monitors.append("prod", [entry("a", json=MARKER)])
    await store.monitors.append("old", [entry("a", json=MARKER)])
    clock.now += 3600
    await store.monitors.append("prod", [entry("b", json=b"2")])
    assert await store.monitors.prune(before=START + timedelta(hours=1), most=100) == 2
    assert await keys(store) == [b"2"]
    assert [(each.name, each.held) for each in await store.monitors.every()] == [("prod", 1)]
    assert MARKER not in b"".join(each.read_bytes() for each in file.parent.iterdir())


async def test_the_oldest_make_room_in_a_monitor_that_holds_too_many(store: SqlStore, clock: Clock) -> None:
    for i in range(5):
        await store.monitors.append("prod", [entry(str(i), json=str(i).encode())])
        clock.now += 1
    assert await store.monitors.prune(before=None, most=3) == 2
    assert await keys(store) == [b"4", b"3", b"2"]
    assert await store.monitors.prune(before=None, most=3) == 0


async def test_a_deleted_monitor_leaves_nothing(store: SqlStore, file: Path) -> None:
    await store.monitors.append("prod", [entry("a", json=MARKER)])
    await store.monitors.delete("prod")
    assert await store.monitors.every() == []
    with pytest.raises(NotFoundError):
        await store.monitors.one("prod")
    assert MARKER not in b"".join(each.read_bytes() for each in file.parent.iterdir())


async def test_there_are_not_more_monitors_than_can_be_listed(store: SqlStore) -> None:
    for i in range(monitors_sql.MOST_MONITORS):
        await store.monitors.append(f"m{i}", [entry("a")])
    with pytest.raises(ContradictionError) as refusal:
        await store.monitors.append("one-more", [entry("a")])
    assert refusal.value.code == "too-many-monitors"
    await store.monitors.append("m0", [entry("b")])
