"""The index over an embedded Chroma, and over a Chroma server: the same is expected of both."""

import asyncio
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import chromadb
import httpx
import numpy as np
import pytest
from chromadb.config import Settings

from befund.adapters.chroma import ChromaIndex, EmbeddedChroma, ServedChroma
from befund.core.errors import ConflictError, ContradictionError, DependencyError, NotFoundError
from befund.ports import Collection, EmbedderIdentity, Hit, IndexedChunk, Vectors

pytestmark = pytest.mark.anyio

PLANE = EmbedderIdentity("plane/2", 2)


def at(*degrees: float) -> Vectors:
    """Points on the unit circle."""
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def chunk(id_: str, text: str | None = "text", **metadata: Any) -> IndexedChunk:
    return IndexedChunk(id_, text, metadata)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Chroma server."""
    port = free_port()
    command = Path(sys.executable).with_name("chroma")
    folder = tmp_path_factory.mktemp("chroma-server")
    arguments = [command, "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        transport = httpx.HTTPTransport(retries=8)  # waits a little longer each time
        with httpx.Client(transport=transport) as client:
            client.get(f"{url}/api/v2/heartbeat").raise_for_status()
        yield url
        process.kill()


@pytest.fixture(scope="module")
def opened_chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedChroma]:
    embedded = EmbeddedChroma(tmp_path_factory.mktemp("chroma"))
    embedded.open()
    yield embedded
    asyncio.run(embedded.close())


@pytest.fixture(params=["embedded", "served"])
async def index(request: pytest.FixtureRequest, opened_chroma: EmbeddedChroma) -> AsyncIterator[ChromaIndex]:
    """An empty index."""
    served = ServedChroma(request.getfixturevalue("chroma_server")) if request.param == "served" else None
    index = ChromaIndex(served or opened_chroma)
    for collection in await index.collections():
        await index.drop(collection.name)
    yield index
    if served is not None:
        await served.close()


@pytest.fixture
async def circle(index: ChromaIndex) -> ChromaIndex:
    """With a collection of four points, at 0, 30, 60 and 90 degrees."""
    await index.create("circle", embedder=PLANE, chunking="markdown/700/0")
    chunks = [chunk("a", "east", n=1), chunk("b", "near east", n=2), chunk("c", "near north", n=3), chunk("d", None)]
    await index.write("circle", chunks, at(0, 30, 60, 90))
    return index


async def test_a_new_index_is_ready_and_empty(index: ChromaIndex) -> None:
    await index.ready()
    assert await index.collections() == []


async def test_a_collection_says_how_it_was_made(circle: ChromaIndex) -> None:
    expected = Collection(
        name="circle",
        count=4,
        embedder=PLANE,
        dimension=2,
        chunking="markdown/700/0",
        corpus=None,
        uses_roles=False,
        space="cosine",
    )
    assert await circle.collection("circle") == expected
    assert await circle.collections() == [expected]


async def test_collections_come_by_name_however_many_there_are(index: ChromaIndex) -> None:
    for number in range(101, 0, -1):
        await index.create(f"c{number:03}", embedder=PLANE, chunking="x")
    assert [each.name for each in await index.collections()] == [f"c{number:03}" for number in range(1, 102)]


async def test_what_is_recorded_later_is_added(circle: ChromaIndex) -> None:
    await circle.describe("circle", chunking="markdown/300/50", corpus="sha256:abc")
    collection = await circle.collection("circle")
    assert (collection.chunking, collection.corpus, collection.embedder) == ("markdown/300/50", "sha256:abc", PLANE)


async def test_the_nearest_come_first(circle: ChromaIndex) -> None:
    hits = await circle.search("circle", at(10, 80), top_k=3)
    assert [[hit.id for hit in of_vector] for of_vector in hits] == [["a", "b", "c"], ["d", "c", "b"]]
    assert hits[0][0] == Hit("a", pytest.approx(1 - np.cos(np.radians(10)), abs=1e-5))


async def test_more_than_there_is_gives_what_there_is(circle: ChromaIndex) -> None:
    assert [len(hits) for hits in await circle.search("circle", at(10, 20), top_k=100_000)] == [4, 4]


async def test_many_vectors_are_searched_in_their_order(circle: ChromaIndex) -> None:
    hits = await circle.search("circle", np.tile(at(0, 90), (150, 1)), top_k=1)
    assert [of_vector[0].id for of_vector in hits] == ["a", "d"] * 150


async def test_an_empty_collection_is_searched(index: ChromaIndex) -> None:
    await index.create("empty", embedder=PLANE, chunking="x")
    assert await index.search("empty", at(10), top_k=3) == [[]]


async def test_no_vectors_find_nothing(circle: ChromaIndex) -> None:
    assert await circle.search("circle", np.empty((0, 2), dtype=np.float32), top_k=3) == []


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (None, ["a", "b", "c", "d"]),
        ({}, ["a", "b", "c", "d"]),
        ({"n": {"$gte": 2}}, ["b", "c"]),
        ({"$or": [{"n": 1}, {"n": 3}]}, ["a", "c"]),
        ({"n": 9}, []),
    ],
)
async def test_a_filter_is_applied(circle: ChromaIndex, where: dict[str, Any] | None, found: list[str]) -> None:
    [hits] = await circle.search("circle", at(0), top_k=10, where=where)
    assert [hit.id for hit in hits] == found


@pytest.mark.parametrize(
    "where",
    [
        {"n": {"$like": 1}},
        {"n": 1, "m": 2},
        {"$and": [{"n": 1}]},
        {"$and": {}},
        {"n": None},
        {"n": {"$in": []}},
        {"n": {"$gt": "x"}},
        {"n": {"$in": [1, "x"]}},
    ],
)
async def test_a_filter_that_cannot_be_read_is_refused(circle: ChromaIndex, where: dict[str, Any]) -> None:
    with pytest.raises(ContradictionError, match="The filter cannot be used: expected ") as caught:
        await circle.search("circle", at(0), top_k=1, where=where)
    assert caught.value.code == "bad-filter"
    assert [place.pointer for place in caught.value.places] == ["/where"]


async def test_a_filter_nested_too_deeply_is_refused(circle: ChromaIndex) -> None:
    where: dict[str, Any] = {"n": 1}
    for _ in range(15):
        where = {"$and": [where, {"n": 1}]}
    assert [len(hits) for hits in await circle.search("circle", at(0), top_k=4, where=where)] == [1]
    for _ in range(900):
        where = {"$and": [where, {"n": 1}]}
    with pytest.raises(ContradictionError, match="at most 32 levels"):
        await circle.search("circle", at(0), top_k=1, where=where)


@pytest.mark.parametrize(
    ("where", "limit"),
    [
        ({"$and": [{"n": 1}] * 257}, "at most 256 conditions, found 257"),
        ({"$or": [{"n": {"$gt": 1}}] * 10_000}, "at most 256 conditions, found 10000"),
        ({"$and": [{"$or": [{"n": 1}, {"n": 2}]}] * 129}, "at most 256 conditions, found 258"),
        ({"$and": [{"n": {"$in": [1] * 500}}, {"n": {"$nin": [2] * 501}}]}, "at most 1000 values in lists, found 1001"),
    ],
)
async def test_a_filter_with_too_much_in_it_is_refused(circle: ChromaIndex, where: dict[str, Any], limit: str) -> None:
    with pytest.raises(ContradictionError, match=limit) as caught:
        await circle.search("circle", at(0), top_k=1, where=where)
    assert caught.value.code == "bad-filter"


async def test_the_largest_filters_are_carried_out(circle: ChromaIndex) -> None:
    for where in (
        {"$or": [{"n": number} for number in range(256)]},
        {"n": {"$in": list(range(1_000))}},
        {"$and": [{"n": {"$in": [1, 2, 3]}}] * 256},
    ):
        assert [len(hits) for hits in await circle.search("circle", at(0), top_k=4, where=where)] == [3]


async def test_vectors_of_another_dimension_are_a_conflict_naming_both(circle: ChromaIndex) -> None:
    three = np.ones((1, 3), dtype=np.float32)
    with pytest.raises(ConflictError, match=r"vectors of 2 numbers; those given have 3") as caught:
        await circle.search("circle", three, top_k=1)
    assert caught.value.code == "dimension-mismatch"
    with pytest.raises(ConflictError, match="those given have 3"):
        await circle.write("circle", [chunk("e")], three)
    assert (await circle.collection("circle")).count == 4


@pytest.mark.parametrize("vector", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
async def test_vectors_without_a_direction_are_refused(circle: ChromaIndex, vector: list[float]) -> None:
    vectors = np.array([[1.0, 0.0], vector], dtype=np.float32)
    with pytest.raises(ContradictionError, match="zero or has a number that is not finite"):
        await circle.search("circle", vectors, top_k=1)
    with pytest.raises(ContradictionError, match="zero or has a number that is not finite"):
        await circle.write("circle", [chunk("e"), chunk("f")], vectors)


@pytest.mark.parametrize("name", ["nope", "", "x", "../../tenants", "a/b", "ä" * 10, "x" * 5000])
async def test_an_unknown_collection_is_not_found(index: ChromaIndex, name: str) -> None:
    for work in (
        index.collection(name),
        index.search(name, at(0), top_k=1),
        index.held(name, ["a"]),
        index.chunks(name),
        index.write(name, [chunk("a")], at(0)),
        index.delete(name, ["a"]),
        index.describe(name, chunking="x", corpus="y"),
        index.drop(name),
    ):
        with pytest.raises(NotFoundError) as caught:
            await work
        assert caught.value.code == "unknown-collection"
        assert len(caught.value.detail) < 300


@pytest.mark.parametrize("name", ["", "ab", "-abc", "abc.", "a b c", "a/b", "a..b", "192.168.1.1", "x" * 600])
async def test_a_name_that_chroma_does_not_take_is_refused(index: ChromaIndex, name: str) -> None:
    with pytest.raises(ContradictionError, match="cannot be the name of a collection") as caught:
        await index.create(name, embedder=PLANE, chunking="x")
    assert caught.value.code == "bad-collection-name"


async def test_making_a_collection_again_keeps_it(circle: ChromaIndex) -> None:
    again = await circle.create("circle", embedder=PLANE, chunking="other")
    assert (again.count, again.chunking) == (4, "markdown/700/0")


async def test_another_embedder_is_a_conflict_naming_both(circle: ChromaIndex) -> None:
    with pytest.raises(ConflictError, match=r"made with plane/2, not with sphere/3") as caught:
        await circle.create("circle", embedder=EmbedderIdentity("sphere/3", 3), chunking="x")
    assert caught.value.code == "embedder-mismatch"


async def test_held_are_those_there(circle: ChromaIndex) -> None:
    assert await circle.held("circle", ["a", "x", "a", "d"]) == {"a", "d"}
    assert await circle.held("circle", []) == frozenset()


async def test_chunks_come_as_they_were_asked_for(circle: ChromaIndex) -> None:
    assert await circle.chunks("circle", ["d", "x", "a"]) == [chunk("d", None), chunk("a", "east", n=1)]
    assert await circle.chunks("circle", []) == []
    assert {each.id for each in await circle.chunks("circle")} == {"a", "b", "c", "d"}


async def test_a_chunk_written_again_is_replaced_as_a_whole(circle: ChromaIndex) -> None:
    await circle.write("circle", [chunk("a", "new", roles=["staff"], m=1.5)], at(180))
    await circle.write("circle", [chunk("a", None, m=2)], at(180))
    assert await circle.chunks("circle", ["a"]) == [chunk("a", None, m=2)]
    assert [hit.id for hit in (await circle.search("circle", at(180), top_k=1))[0]] == ["a"]
    await circle.write("circle", [chunk("a", "bare")], at(180))
    assert await circle.chunks("circle", ["a"]) == [chunk("a", "bare")]


async def test_a_chunk_written_twice_at_once_is_refused(circle: ChromaIndex) -> None:
    with pytest.raises(ContradictionError, match="stands twice"):
        await circle.write("circle", [chunk("x"), chunk("x")], at(0, 1))


@pytest.mark.parametrize("roles", [["staff", "partner"], "staff,partner", []])
async def test_roles_are_kept_and_noticed(circle: ChromaIndex, roles: Any) -> None:
    await circle.write("circle", [chunk("e", roles=roles)], at(45))
    assert (await circle.collection("circle")).uses_roles
    [kept] = await circle.chunks("circle", ["e"])
    assert kept.metadata["roles"] == (roles or "")


async def test_deleted_chunks_are_gone_and_others_stay(circle: ChromaIndex) -> None:
    await circle.delete("circle", ["a", "x"])
    await circle.delete("circle", [])
    assert await circle.held("circle", ["a", "b"]) == {"b"}


async def test_a_dropped_collection_is_gone(circle: ChromaIndex) -> None:
    await circle.drop("circle")
    assert await circle.collections() == []


async def test_more_ids_than_a_statement_takes(index: ChromaIndex) -> None:
    await index.create("many", embedder=PLANE, chunking="x")
    ids = [f"c{number}" for number in range(40_000)]
    await index.write("many", [chunk(id_) for id_ in ids[:5_500]], at(*np.linspace(0, 90, 5_500)))
    assert len(await index.held("many", ids)) == 5_500
    assert [each.id for each in await index.chunks("many", ids)] == ids[:5_500]
    assert len(await index.chunks("many")) == 5_500
    await index.delete("many", ids)
    assert (await index.collection("many")).count == 0


def foreign(folder: Path, **metadata: Any) -> None:
    """A collection that somebody else made, with Chroma's defaults."""
    with chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False)) as client:
        collection = client.create_collection("foreign", metadata={"hnsw:space": "l2"})
        collection.add(ids=["a", "b"], embeddings=at(0, 90), metadatas=[{"n": 1, **metadata}, {"n": 2}])


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[EmbeddedChroma]:
    embedded = EmbeddedChroma(tmp_path / "chroma")
    yield embedded
    await embedded.close()


@pytest.mark.parametrize(("metadata", "uses_roles"), [({}, False), ({"roles": "staff"}, True)])
async def test_a_foreign_collection_is_read_as_it_is(
    embedded: EmbeddedChroma, tmp_path: Path, metadata: dict[str, Any], uses_roles: bool
) -> None:
    foreign(tmp_path / "chroma", **metadata)
    embedded.open()
    index = ChromaIndex(embedded)
    assert await index.collection("foreign") == Collection("foreign", 2, None, 2, None, None, uses_roles, "l2")
    assert [hit.id for hit in (await index.search("foreign", at(80), top_k=2))[0]] == ["b", "a"]
    await index.write("foreign", [chunk("c", roles=["staff"])], at(45))
    assert (await index.collection("foreign")).uses_roles
    assert (await index.collection("foreign")).space == "l2"


async def test_a_foreign_collection_of_another_dimension_is_not_continued(
    embedded: EmbeddedChroma, tmp_path: Path
) -> None:
    foreign(tmp_path / "chroma")
    embedded.open()
    with pytest.raises(ConflictError, match="vectors of 2 numbers; those given have 3"):
        await ChromaIndex(embedded).create("foreign", embedder=EmbedderIdentity("sphere/3", 3), chunking="x")


# What goes wrong with the folder


async def test_a_second_owner_in_the_same_process_is_refused(embedded: EmbeddedChroma, tmp_path: Path) -> None:
    embedded.open()
    with pytest.raises(DependencyError, match="in use by process") as caught:
        EmbeddedChroma(tmp_path / "chroma").open()
    assert caught.value.code == "index-in-use"


async def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DependencyError, match="cannot be written"):
        EmbeddedChroma(tmp_path / "file" / "chroma").open()


async def test_what_is_closed_can_be_opened_again_with_everything(tmp_path: Path) -> None:
    for expected in (0, 1):
        embedded = EmbeddedChroma(tmp_path / "chroma")
        embedded.open()
        index = ChromaIndex(embedded)
        await index.create("circle", embedder=PLANE, chunking="x")
        assert (await index.collection("circle")).count == expected
        await index.write("circle", [chunk("a")], at(0))
        await index.close()


async def test_an_index_that_is_not_open_is_down(embedded: EmbeddedChroma) -> None:
    with pytest.raises(DependencyError, match="not open"):
        await ChromaIndex(embedded).collections()
    with pytest.raises(DependencyError, match="being opened"):
        await embedded.ready()


@pytest.fixture(scope="module")
def two_collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the collections `lost` and `kept`, both large enough to have files of their own."""
    folder = tmp_path_factory.mktemp("index") / "chroma"

    async def fill() -> None:
        embedded = EmbeddedChroma(folder)
        embedded.open()
        index = ChromaIndex(embedded)
        for name in ("lost", "kept"):
            await index.create(name, embedder=PLANE, chunking="x")
            for start in range(0, 2_300, 300):
                chunks = [chunk(f"c{number}") for number in range(start, min(start + 300, 2_300))]
                await index.write(name, chunks, at(*np.linspace(0, 90, len(chunks))))
        await index.close()

    asyncio.run(fill())
    return folder


@pytest.fixture
def copied(two_collections: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(two_collections, tmp_path / "chroma"))


def segment_of(folder: Path, name: str) -> Path:
    database = sqlite3.connect(folder / "chroma.sqlite3")
    [[segment]] = database.execute(
        "SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection WHERE c.name = ? AND s.scope = 'VECTOR'",
        [name],
    )
    database.close()
    return folder / str(segment)


@pytest.mark.parametrize("file", ["", "data_level0.bin", "index_metadata.pickle", "length.bin"])
async def test_a_collection_whose_vectors_are_lost_is_damaged_and_the_others_are_not(
    embedded: EmbeddedChroma, copied: Path, file: str
) -> None:
    segment = segment_of(copied, "lost")
    shutil.rmtree(segment) if not file else (segment / file).unlink()
    embedded.open()
    index = ChromaIndex(embedded)
    for work in (index.search("lost", at(0), top_k=3), index.held("lost", ["c1"]), index.chunks("lost", ["c1"])):
        with pytest.raises(DependencyError, match="Collection 'lost' is damaged") as caught:
            await work
        assert caught.value.code == "index-damaged"
        assert "Ingest its documents anew" in caught.value.detail
    assert {each.name: each.damaged for each in await index.collections()} == {"lost": True, "kept": False}
    await index.ready()
    assert [len(hits) for hits in await index.search("kept", at(0), top_k=2_300)] == [2_300]


def cut_off(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def garble(file: Path) -> None:
    file.write_bytes(b"\xff" * file.stat().st_size)


@pytest.mark.parametrize(
    ("file", "spoil"),
    [
        ("data_level0.bin", cut_off),
        ("length.bin", cut_off),
        ("link_lists.bin", cut_off),
        ("header.bin", cut_off),
        ("header.bin", garble),
    ],
)
async def test_files_of_wrong_sizes_are_not_given_to_chroma_which_would_end_the_process(
    embedded: EmbeddedChroma, copied: Path, file: str, spoil: Any
) -> None:
    spoil(segment_of(copied, "lost") / file)
    embedded.open()
    index = ChromaIndex(embedded)
    for _ in range(2):
        with pytest.raises(DependencyError, match="Collection 'lost' is damaged"):
            await index.search("lost", at(0), top_k=3)
    assert {each.name: each.damaged for each in await index.collections()} == {"lost": True, "kept": False}
    await index.drop("lost")
    assert [each.name for each in await index.collections()] == ["kept"]


async def test_a_collection_in_which_chroma_failed_is_looked_at_anew(embedded: EmbeddedChroma, copied: Path) -> None:
    embedded.open()
    index = ChromaIndex(embedded)
    await index.search("lost", at(0), top_k=3)
    with sqlite3.connect(copied / "chroma.sqlite3") as database:
        database.execute("ALTER TABLE embedding_metadata RENAME TO away")
    with pytest.raises(DependencyError) as caught:
        await index.chunks("lost", ["c1"])
    assert caught.value.code == "index-failed"
    with sqlite3.connect(copied / "chroma.sqlite3") as database:
        database.execute("ALTER TABLE away RENAME TO embedding_metadata")
    cut_off(segment_of(copied, "lost") / "data_level0.bin")
    with pytest.raises(DependencyError, match="Collection 'lost' is damaged"):
        await index.chunks("lost", ["c1"])


def segments_in(folder: Path) -> set[Path]:
    return {path for path in folder.iterdir() if path.is_dir()}


async def test_the_files_of_a_deleted_collection_go_with_it(embedded: EmbeddedChroma, copied: Path) -> None:
    embedded.open()
    index = ChromaIndex(embedded)
    await index.search("lost", at(0), top_k=3)
    await index.drop("lost")
    assert segments_in(copied) == {segment_of(copied, "kept")}
    assert [len(hits) for hits in await index.search("kept", at(0), top_k=2_300)] == [2_300]


async def test_files_that_belong_to_no_collection_go_when_the_folder_is_opened(
    embedded: EmbeddedChroma, copied: Path
) -> None:
    shutil.copytree(segment_of(copied, "kept"), copied / "0c3f4aab-5d3c-4f8e-9d55-0d4a4f9b8a11")
    (copied / "mine").mkdir()
    embedded.open()
    await ChromaIndex(embedded).collections()
    expected = {segment_of(copied, "kept"), segment_of(copied, "lost"), copied / "mine"}
    assert segments_in(copied) == expected


async def test_a_damaged_collection_can_be_made_anew(embedded: EmbeddedChroma, copied: Path) -> None:
    shutil.rmtree(segment_of(copied, "lost"))
    embedded.open()
    index = ChromaIndex(embedded)
    with pytest.raises(DependencyError, match="is damaged"):
        await index.create("lost", embedder=PLANE, chunking="x")
    await index.drop("lost")
    await index.create("lost", embedder=PLANE, chunking="x")
    await index.write("lost", [chunk("a")], at(0))
    assert [[hit.id for hit in hits] for hits in await index.search("lost", at(0), top_k=3)] == [["a"]]


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "befund.lock")


def empty(database: Path) -> None:
    database.write_bytes(b"")


def remove(database: Path) -> None:
    database.unlink()


def scribble(database: Path) -> None:
    database.write_bytes(b"no database" * 1000)


def halve(database: Path) -> None:
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])


@pytest.mark.parametrize("spoil", [empty, remove, scribble, halve])
async def test_a_folder_without_a_whole_database_is_damaged_and_left_as_it_is(
    embedded: EmbeddedChroma, copied: Path, spoil: Any
) -> None:
    spoil(copied / "chroma.sqlite3")
    before = files_of(copied)
    embedded.open()
    index = ChromaIndex(embedded)
    with pytest.raises(DependencyError) as caught:
        await index.collections()
    assert caught.value.code == "index-damaged"
    with pytest.raises(DependencyError) as caught:
        await index.ready()
    assert caught.value.code == "index-damaged"
    assert files_of(copied) == before


async def test_a_database_that_vanishes_unreadies_the_index(embedded: EmbeddedChroma, copied: Path) -> None:
    embedded.open()
    index = ChromaIndex(embedded)
    await index.collections()
    await index.ready()
    (copied / "chroma.sqlite3").unlink()
    with pytest.raises(DependencyError):
        await index.ready()


# What goes wrong with a server


async def test_a_server_that_is_not_there_is_down_and_named() -> None:
    index = ChromaIndex(ServedChroma("http://127.0.0.1:9"))
    for work in (index.ready(), index.collections(), index.search("circle", at(0), top_k=1)):
        with pytest.raises(DependencyError, match=r"http://127\.0\.0\.1:9 cannot be reached") as caught:
            await work
        assert caught.value.code == "index-down"
        assert caught.value.retry_after == 5
    await index.close()


async def test_a_server_that_does_not_answer_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # takes connections, and that is all
        index = ChromaIndex(ServedChroma(f"http://127.0.0.1:{listener.getsockname()[1]}", ready_seconds=0.1))
        with pytest.raises(DependencyError, match="cannot be reached"):
            await index.collections()
        await index.close()


async def test_what_is_no_chroma_server_is_said(chroma_server: str) -> None:
    index = ChromaIndex(ServedChroma(f"{chroma_server}/elsewhere"))
    with pytest.raises(DependencyError, match="answered 404"):
        await index.ready()
    await index.close()
