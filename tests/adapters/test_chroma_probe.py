"""Looking into Chroma: what it says of a chunk agrees with its own search, and ranks with an exact count."""

import asyncio
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from befund.adapters.chroma import ChromaProbe, EmbeddedChroma
from befund.adapters.chroma.connection import EmbeddedChroma as Connection
from befund.core.errors import ContradictionError, NotFoundError
from befund.core.where import failing_clause
from befund.ports import Contest, EmbedderIdentity, IndexedChunk, Standing, Vectors

pytestmark = pytest.mark.anyio

DIMENSION, CHUNKS = 8, 1_500
IDENTITY = EmbedderIdentity("chance/8", DIMENSION)


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    embedded = EmbeddedChroma(tmp_path_factory.mktemp("chroma"))
    embedded.open()
    yield embedded
    asyncio.run(embedded.close())


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return np.random.default_rng(7).standard_normal((CHUNKS, DIMENSION)).astype(np.float32)


@pytest.fixture
async def index(chroma: Connection, vectors: Vectors) -> ChromaProbe:
    """1,500 chunks of 500 documents, every second in English."""
    index = ChromaProbe(chroma)
    try:
        await index.collection("chance")
    except NotFoundError:
        await index.create("chance", embedder=IDENTITY, chunking="none")
        chunks = [
            IndexedChunk(f"c{i}", f"text {i}", {"document": f"d{i // 3}", "language": "en" if i % 2 else "de"})
            for i in range(CHUNKS)
        ]
        await index.write("chance", chunks, vectors)
    return index


def counted(vectors: Vectors, question: Any, chunk: int, *, keep: Any = slice(None)) -> int:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = unit @ (question / np.linalg.norm(question))
    return 1 + int((near[keep] > near[chunk] + 1e-6).sum())


async def test_ranks_of_many_are_exact(index: ChromaProbe, vectors: Vectors) -> None:
    questions = np.random.default_rng(8).standard_normal((40, DIMENSION)).astype(np.float32)
    contests = [Contest(question, vectors[i]) for i, question in enumerate(questions)]
    standings = await index.ranks("chance", contests, deepest=1_000)
    assert [each.rank for each in standings] == [
        min(counted(vectors, question, i), 1_001) for i, question in enumerate(questions)
    ]


async def test_ranks_count_only_what_passes_the_filter(index: ChromaProbe, vectors: Vectors) -> None:
    where = {"language": "en"}
    questions = np.random.default_rng(9).standard_normal((30, DIMENSION)).astype(np.float32)
    contests = [Contest(question, vectors[2 * i + 1], where) for i, question in enumerate(questions)]
    standings = await index.ranks("chance", contests, deepest=1_000)
    english = slice(1, None, 2)
    assert [each.rank for each in standings] == [
        counted(vectors, question, 2 * i + 1, keep=english) for i, question in enumerate(questions)
    ]


async def test_a_single_rank(index: ChromaProbe, vectors: Vectors) -> None:
    for chunk in (3, 700):
        (standing,) = await index.ranks("chance", [Contest(vectors[chunk], vectors[chunk])], deepest=1_000)
        assert standing == Standing(1, 1)
    (far,) = await index.ranks("chance", [Contest(vectors[3], -vectors[3])], deepest=1_000)
    assert far == Standing(1_001, 1_001)


async def test_a_single_rank_is_the_one_that_many_get(chroma: Connection) -> None:
    index = ChromaProbe(chroma)
    random = np.random.default_rng(11)
    wide = random.standard_normal((4_000, 128)).astype(np.float32)
    await index.create("wide", embedder=EmbedderIdentity("chance/128", 128), chunking="none")
    await index.write("wide", [IndexedChunk(f"c{i}", "text", {"n": i}) for i in range(len(wide))], wide)
    questions = wide[:40] + random.standard_normal((40, 128)).astype(np.float32) * 6
    contests = [Contest(question, wide[i]) for i, question in enumerate(questions)]
    many = await index.ranks("wide", contests, deepest=1_000)
    far = [i for i, each in enumerate(many) if each.rank > 100][:6]
    assert [(await index.ranks("wide", [contests[i]], deepest=1_000))[0] for i in far] == [many[i] for i in far]
    assert len(far) == 6


async def test_chunks_that_are_just_as_near_share_their_ranks(chroma: Connection) -> None:
    index = ChromaProbe(chroma)
    await index.create("twins", embedder=EmbedderIdentity("plane/2", 2), chunking="none")
    plane = np.array([[1, 0], [1, 1], [1, 1], [1, 1], [0, 1]], dtype=np.float32)
    await index.write("twins", [IndexedChunk(f"c{i}", "text", {"n": i}) for i in range(5)], plane)
    assert await index.ranks("twins", [Contest(plane[0], plane[2])], deepest=1_000) == [Standing(2, 4)]


async def test_a_chunk_is_looked_at_with_its_text_and_vector(index: ChromaProbe, vectors: Vectors) -> None:
    looked = await index.look_at("chance", ["c5", "nowhere", "c5"])
    assert list(looked) == ["c5"]
    assert looked["c5"].chunk == IndexedChunk("c5", "text 5", {"document": "d1", "language": "en"})
    assert looked["c5"].vector.tolist() == pytest.approx(vectors[5].tolist())


async def test_all_chunks_of_documents_are_found(index: ChromaProbe) -> None:
    found = await index.of_documents("chance", ["d1", "d499", "nowhere"])
    assert sorted(chunk.id for chunk in found) == ["c1497", "c1498", "c1499", "c3", "c4", "c5"]


async def test_a_filter_that_cannot_be_read_is_refused(index: ChromaProbe) -> None:
    await index.check_filter("chance", {"language": "en"})
    for where in ({"language": {"$like": "e"}}, {"a": 1, "b": 2}):
        with pytest.raises(ContradictionError) as refused:
            await index.check_filter("chance", where)
        assert refused.value.code == "bad-filter"


async def test_an_unknown_collection_is_not_found(index: ChromaProbe) -> None:
    with pytest.raises(NotFoundError):
        await index.look_at("nowhere", ["c1"])


VALUES: list[Any] = [
    1,
    1.0,
    2,
    -1,
    0,
    1.5,
    "1",
    True,
    False,
    ["x", "y"],
    ["x"],
    [1, 2],
    [1.5],
    [1.0, 2.0],
    [True],
    "xy",
]
OPERANDS: list[Any] = [1, 1.0, 1.5, -1.5, "1", "x", True, False]


async def test_clauses_are_read_as_chroma_reads_them(chroma: Connection) -> None:
    index = ChromaProbe(chroma)
    await index.create("kinds", embedder=EmbedderIdentity("plane/2", 2), chunking="none")
    chunks = [IndexedChunk(f"c{i}", "text", {"a": value, "n": i}) for i, value in enumerate(VALUES)]
    chunks.append(IndexedChunk("without", "text", {"n": 99}))
    plane = np.ones((len(chunks), 2), dtype=np.float32)
    await index.write("kinds", chunks, plane)
    equal = [{"a": {operator: operand}} for operator, operand in product(("$eq", "$ne"), OPERANDS)]
    listed = [{"a": {operator: [operand]}} for operator, operand in product(("$in", "$nin"), OPERANDS)]
    held = [{"a": {op: operand}} for op, operand in product(("$contains", "$not_contains"), OPERANDS)]
    ordered = [{"a": {op: operand}} for op, operand in product(("$gt", "$gte", "$lt", "$lte"), (1, 1.5, -0.5))]
    joined: list[dict[str, Any]] = [{"$or": [{"a": 1}, {"n": 99}]}, {"$and": [{"a": {"$gt": 0}}, {"n": {"$lt": 3}}]}]
    for where in (*equal, *listed, *held, *ordered, *joined):
        (hits,) = await index.search("kinds", plane[:1], top_k=50, where=where)
        passing = [chunk.id for chunk in chunks if failing_clause(where, chunk.metadata) is None]
        assert sorted(hit.id for hit in hits) == sorted(passing), where  # Chroma's own search is the oracle
