"""The store on a real SQLite file."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from befund.adapters.store_sql import SqlStore
from befund.adapters.tables import metadata
from befund.adapters.versions_sql import PORTION
from befund.core.datasets import Edition, edition_of
from befund.core.errors import ConflictError, DependencyError, NotFoundError
from befund.core.retrieval.envelope import LazyDataset
from befund.core.runs import Identity, Record
from befund.ports import Answered, RunWrite

pytestmark = pytest.mark.anyio

DAY = 86_400.0
MARKER = "Zwetschgendatschi"


class Clock:
    """Seconds that only a test moves."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

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


def edition(*ids: str, text: str = "?", mapping: dict[str, list[str]] | None = None, content: Any = "full") -> Edition:
    body = {
        "questions": [{"id": name, "question": text, "relevant": ["c1"], "split": "test"} for name in ids],
        "evidence_mapping": mapping or {},
    }
    return edition_of(msgspec.json.decode(msgspec.json.encode(body), type=LazyDataset), content=content)


def identity(of: Edition, **config: Any) -> Identity:
    return Identity(version=of.version.hash, config=config, measured={"level": "chunk"})


def records(of: Edition, what: str = "{}") -> list[Sequence[Record]]:
    return [
        [
            Record(question_id=each.id, question_hash=each.hash, position=i, part="retrieval", json=what.encode())
            for i, each in enumerate(of.questions)
        ]
    ]


def write(name: str, of: Edition, what: str = "{}", **changes: Any) -> RunWrite:
    made = RunWrite(name=name, identity=identity(of), dataset_name=None, edition=of, records=records(of, what))
    return msgspec.structs.replace(made, **changes)


async def found(store: SqlStore, run: str) -> dict[str, str]:
    held = await store.records(await store.run(run), limit=10_000)
    return {record.question_id: record.json.decode() for record in held}


def bytes_of(file: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(file.parent.iterdir()))


def take_away(file: Path, instead: bytes | None) -> None:
    file.rename(file.with_suffix(".moved"))
    if instead is not None:
        file.write_bytes(instead)


def make_empty(file: Path) -> None:
    file.parent.mkdir()
    file.touch()


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)


async def test_the_migrations_make_the_tables_that_the_statements_use(store: SqlStore, file: Path) -> None:
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


async def test_the_file_is_written_ahead_and_safely(store: SqlStore, file: Path) -> None:
    async with store._database.reading() as connection:
        said = [
            (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")
        ]
    assert said == ["wal", 2]


async def test_a_data_set_comes_back_as_it_was_put(store: SqlStore) -> None:
    put = edition("Q1", "Q2", mapping={"E1": ["c1"]})
    written = await store.put_dataset("set", put)
    assert written.is_new
    assert await store.dataset("set") == put


async def test_the_same_content_makes_no_new_version(store: SqlStore) -> None:
    await store.put_dataset("set", edition("Q1", "Q2"))
    again = await store.put_dataset("set", edition("Q2", "Q1"))
    assert not again.is_new
    assert [len(versions) for versions in (await store.datasets()).values()] == [1]


async def test_a_name_stands_for_what_was_put_last(store: SqlStore) -> None:
    first, second = edition("Q1"), edition("Q1", "Q2")
    await store.put_dataset("set", first)
    await store.put_dataset("set", second)
    assert (await store.dataset("set")).version.questions == 2
    await store.put_dataset("set", first)
    assert (await store.dataset("set")).version.questions == 1
    listed = (await store.datasets())["set"]
    assert [each.version.questions for each in listed] == [1, 2]


@pytest.mark.parametrize("form", ["{hash}", "{digits}", "{digits:.8}", "sha256:{digits:.10}"])
async def test_a_version_is_named_by_its_hash(store: SqlStore, form: str) -> None:
    first = edition("Q1")
    await store.put_dataset("set", first)
    await store.put_dataset("set", edition("Q2"))
    reference = form.format(hash=first.version.hash, digits=first.version.hash.removeprefix("sha256:"))
    assert await store.dataset(f"set@{reference}") == first


@pytest.mark.parametrize("reference", ["other", "set@00000000", "set@sha256:", "set@{digits:.7}", "other@{digits}"])
async def test_what_a_reference_does_not_name_is_not_found(store: SqlStore, reference: str) -> None:
    put = edition("Q1")
    await store.put_dataset("set", put)
    with pytest.raises(NotFoundError) as caught:
        await store.dataset(reference.format(digits=put.version.hash.removeprefix("sha256:")))
    assert caught.value.code == "unknown-dataset"


async def test_texts_that_were_left_out_are_added_when_they_come(store: SqlStore) -> None:
    await store.put_dataset("set", edition("Q1", text=MARKER, content="ids"))
    assert MARKER.encode() not in (await store.dataset("set")).questions[0].json
    written = await store.put_dataset("set", edition("Q1", text=MARKER))
    assert not written.is_new
    assert await store.dataset("set") == edition("Q1", text=MARKER)
    await store.put_dataset("set", edition("Q1", text=MARKER, content="ids"))
    assert (await store.dataset("set")).version.content == "full"


async def test_a_deleted_data_set_is_gone_and_its_text_too(store: SqlStore, file: Path) -> None:
    put = edition("Q1", text=MARKER)
    await store.put_dataset("set", put)
    assert MARKER.encode() in bytes_of(file)
    removed = await store.delete_dataset("set")
    assert (removed.versions, removed.kept_for_runs) == ([put.version.hash], [])
    assert MARKER.encode() not in bytes_of(file)
    with pytest.raises(NotFoundError):
        await store.dataset("set")


async def test_one_version_can_be_deleted(store: SqlStore) -> None:
    first, second = edition("Q1"), edition("Q2")
    await store.put_dataset("set", first)
    await store.put_dataset("set", second)
    await store.delete_dataset(f"set@{second.version.hash}")
    assert await store.dataset("set") == first


async def test_a_version_that_a_run_needs_stays_until_the_run_goes(store: SqlStore, file: Path) -> None:
    put = edition("Q1", text=MARKER)
    await store.put_dataset("set", put)
    await store.write_run(write("main", put, edition=None))
    removed = await store.delete_dataset("set")
    assert removed.kept_for_runs == [put.version.hash]
    assert (await store.run("main")).dataset.version == put.version
    await store.delete_run("main")
    assert MARKER.encode() not in bytes_of(file)


async def test_a_run_brings_its_data_set_and_keeps_a_record_a_question(store: SqlStore) -> None:
    put = edition("Q1", "Q2")
    await store.write_run(write("main", put, '{"a":1}'))
    run = await store.run("main")
    assert (run.questions, run.dataset.version, run.dataset_name) == (2, put.version, None)
    assert await found(store, "main") == {"Q1": '{"a":1}', "Q2": '{"a":1}'}
    assert await store.datasets() == {}


async def test_the_same_question_again_replaces_its_record(store: SqlStore) -> None:
    both = edition("Q1", "Q2")
    await store.write_run(write("main", both, "1"))
    await store.write_run(write("main", both, records=[records(both, "2")[0][:1]]))
    assert await found(store, "main") == {"Q1": "2", "Q2": "1"}


async def test_another_configuration_is_a_conflict_that_names_the_field_and_writes_nothing(store: SqlStore) -> None:
    put = edition("Q1")
    await store.write_run(write("main", put, "1", identity=identity(put, retrieval={"top_k": 3})))
    with pytest.raises(ConflictError, match=r"another config\.retrieval\.top_k: 3 there, 5 here") as caught:
        await store.write_run(write("main", put, "2", identity=identity(put, retrieval={"top_k": 5})))
    assert caught.value.code == "run-conflict"
    assert await found(store, "main") == {"Q1": "1"}


@pytest.mark.parametrize("other", [True, "1", [1], {"a": 1}])
async def test_a_configuration_of_another_type_is_a_conflict(store: SqlStore, other: object) -> None:
    put = edition("Q1")
    await store.write_run(write("main", put, "1", identity=identity(put, retrieval={"boost": 1.0})))
    with pytest.raises(ConflictError, match=r"another config\.retrieval\.boost"):
        await store.write_run(write("main", put, "2", identity=identity(put, retrieval={"boost": other})))


async def test_the_same_number_written_otherwise_is_no_conflict(store: SqlStore) -> None:
    put = edition("Q1")
    await store.write_run(write("main", put, "1", identity=identity(put, retrieval={"boosts": [1.0]})))
    await store.write_run(write("main", put, "2", identity=identity(put, retrieval={"boosts": [1]})))
    assert await found(store, "main") == {"Q1": "2"}


async def test_another_data_set_is_a_conflict(store: SqlStore) -> None:
    await store.write_run(write("main", edition("Q1")))
    with pytest.raises(ConflictError, match="another dataset"):
        await store.write_run(write("main", edition("Q1", "Q2")))


async def test_a_run_begun_anew_has_nothing_of_the_old_one(store: SqlStore, file: Path) -> None:
    await store.write_run(write("main", edition("Q1", text=MARKER), f'"{MARKER}"'))
    other = edition("Q2")
    await store.write_run(write("main", other, "2", replace=True))
    assert await found(store, "main") == {"Q2": "2"}
    assert MARKER.encode() not in bytes_of(file)


async def test_a_write_that_fails_half_way_leaves_everything_as_it_was(store: SqlStore) -> None:
    put = edition("Q1", "Q2")
    await store.write_run(write("main", put, "1"))

    def broken() -> Any:
        yield records(put, "2")[0][:1]
        raise KeyError("half way")

    with pytest.raises(KeyError):
        await store.write_run(write("main", put, records=broken(), replace=True))
    assert await found(store, "main") == {"Q1": "1", "Q2": "1"}


async def test_a_question_is_deleted_from_a_run(store: SqlStore) -> None:
    await store.write_run(write("main", edition("Q1", "a/b%2F")))
    await store.delete_question("main", "a/b%2F")
    assert list(await found(store, "main")) == ["Q1"]
    with pytest.raises(NotFoundError, match="holds nothing about question 'a/b%2F'"):
        await store.delete_question("main", "a/b%2F")


@pytest.mark.parametrize("call", ["run", "delete_run"])
async def test_an_unknown_run_is_not_found(store: SqlStore, call: str) -> None:
    with pytest.raises(NotFoundError, match="There is no run 'none'"):
        await getattr(store, call)("none")


async def test_runs_are_paged_the_last_written_first(store: SqlStore, clock: Clock) -> None:
    put = edition("Q1")
    for name in ("a", "b", "c", "d"):
        await store.write_run(write(name, put))
    clock.now += 1
    await store.write_run(write("a", put))
    first = await store.runs(limit=3)
    assert [run.name for run in first.runs] == ["a", "d", "c"]
    rest = await store.runs(limit=3, before=first.next)
    assert ([run.name for run in rest.runs], rest.next) == (["b"], None)


async def test_records_are_paged_in_the_order_of_the_data_set(store: SqlStore) -> None:
    await store.write_run(write("main", edition("Q2", "Q1", "Q3")))
    run = await store.run("main")
    first = await store.records(run, limit=2)
    rest = await store.records(run, after=first[-1].position, limit=2)
    assert [each.question_id for each in (*first, *rest)] == ["Q2", "Q1", "Q3"]


async def test_more_records_than_a_statement_takes(store: SqlStore) -> None:
    many = edition(*(f"Q{i}" for i in range(2 * PORTION + 1)))
    await store.put_dataset("many", many)
    await store.write_run(write("main", many, edition=None))
    assert (await store.run("main")).questions == 1001
    assert len((await store.dataset("many")).questions) == 1001


async def test_an_answer_is_remembered_for_a_day(store: SqlStore, clock: Clock) -> None:
    answer = Answered("ci", "key", "sha256:1", b"{}")
    await store.write_run(write("main", edition("Q1")), answered=answer)
    assert await store.answered("ci", "key") == answer
    assert await store.answered("other", "key") is None
    clock.now += DAY
    assert await store.answered("ci", "key") is None


async def test_an_answer_given_meanwhile_undoes_the_write(store: SqlStore) -> None:
    answer = Answered("ci", "key", "sha256:1", b"{}")
    await store.write_run(None, answered=answer)
    with pytest.raises(ConflictError) as caught:
        await store.write_run(write("main", edition("Q1")), answered=answer)
    assert caught.value.code == "answered-meanwhile"
    assert (await store.runs(limit=1)).runs == []


async def test_answers_are_bounded(file: Path, clock: Clock) -> None:
    store = SqlStore(file, clock=clock, most_remembered=2)
    await store.open()
    for number in range(3):
        clock.now += 1
        await store.write_run(None, answered=Answered("ci", str(number), "sha256:1", None))
    assert [await store.answered("ci", str(number)) is None for number in range(3)] == [True, False, False]
    await store.close()


async def test_measurements_of_a_test_split_are_counted(store: SqlStore) -> None:
    assert await store.test_measurements("set") == 0
    for _ in range(2):
        await store.write_run(None, measured_test_of="set")
    assert await store.test_measurements("set") == 2


async def test_old_runs_are_pruned_with_what_they_alone_needed(store: SqlStore, clock: Clock, file: Path) -> None:
    await store.write_run(write("old", edition("Q1", text=MARKER)))
    clock.now += DAY
    await store.write_run(write("new", edition("Q2")))
    assert await store.prune(before=datetime.fromtimestamp(clock.now - 1, UTC)) == 1
    assert [run.name for run in (await store.runs(limit=9)).runs] == ["new"]
    assert MARKER.encode() not in bytes_of(file)


async def test_a_store_opens_again_with_what_it_held(store: SqlStore, file: Path) -> None:
    await store.write_run(write("main", edition("Q1"), "1"))
    again = SqlStore(file)
    await again.open()
    assert await found(again, "main") == {"Q1": "1"}
    await again.close()


@pytest.fixture
def letter(file: Path) -> Path:
    file.parent.mkdir()
    file.write_text("This is a letter, not a database. " * 200)
    return file


async def test_a_file_that_is_no_database_is_said_to_be_none(letter: Path) -> None:
    with pytest.raises(DependencyError, match="its file is no SQLite database"):
        await SqlStore(letter).open()


async def test_a_store_of_a_newer_version_is_left_alone(store: SqlStore, file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(DependencyError, match="written by another version of Befund"):
        await SqlStore(file).open()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DependencyError, match=r"cannot be made .*BEFUND_DATA_DIR"):
        await SqlStore(tmp_path / "file" / "befund.sqlite").open()


@pytest.mark.parametrize("instead", [None, b"", b"another file"])
async def test_a_file_that_was_taken_away_is_not_written_to(store: SqlStore, file: Path, instead: bytes | None) -> None:
    await store.write_run(write("main", edition("Q1")))
    take_away(file, instead)
    with pytest.raises(DependencyError, match="moved, deleted or replaced"):
        await store.write_run(write("main", edition("Q1")))
    with pytest.raises(DependencyError, match="moved, deleted or replaced"):
        await store.ask()


async def test_an_empty_file_is_not_taken_for_a_new_store(file: Path) -> None:
    make_empty(file)
    with pytest.raises(DependencyError, match="is empty: put a back-up in its place, or delete it to begin anew"):
        await SqlStore(file).open()
    assert bytes_of(file) == b""


async def test_a_run_that_has_gone_does_not_pass_for_one_without_records(store: SqlStore) -> None:
    await store.write_run(write("main", edition("Q1")))
    before = await store.run("main")
    await store.write_run(write("main", edition("Q1"), replace=True))
    with pytest.raises(NotFoundError):
        await store.records(before, limit=10)
    assert await store.records(await store.run("main"), after=0, limit=10) == []


async def test_a_locked_database_is_unavailable_for_now(store: SqlStore, file: Path) -> None:
    async with store._database.reading() as connection:
        await connection.exec_driver_sql("PRAGMA busy_timeout=10")
    blocking = sqlite3.connect(file, isolation_level=None)
    blocking.execute("BEGIN IMMEDIATE")
    with pytest.raises(DependencyError, match="another process kept it locked") as caught:
        await store.write_run(write("main", edition("Q1")))
    assert (caught.value.code, caught.value.retry_after) == ("store-unavailable", 5)
    blocking.execute("ROLLBACK")
    blocking.close()
    await store.write_run(write("main", edition("Q1")))


async def test_a_damaged_file_is_said_to_be_damaged(file: Path) -> None:
    made = SqlStore(file)
    await made.open()
    await made.put_dataset("set", edition(*map(str, range(200))))
    await made.close()
    damage(file)
    with pytest.raises(DependencyError, match="its file is damaged"):
        await SqlStore(file).open()
