"""An index and an embedder that live in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from befund.core.errors import ContradictionError, DependencyError, NotFoundError
from befund.ports import Collection, EmbedderIdentity, Hit, IndexedChunk, Vectors


class MemoryIndex:
    """Keeps chunks in dicts, and breaks off where a test says so."""

    def __init__(self) -> None:
        self.described: dict[str, Collection] = {}
        self.held_chunks: dict[str, dict[str, IndexedChunk]] = {}
        self.calls_left: int | None = None

    def _changing(self) -> None:
        if self.calls_left is not None:
            if not self.calls_left:
                raise DependencyError("index-down", "The index is gone.")
            self.calls_left -= 1

    async def collections(self) -> list[Collection]:
        return [await self.collection(name) for name in sorted(self.described)]

    async def collection(self, name: str) -> Collection:
        if name not in self.described:
            raise NotFoundError("unknown-collection", f"There is no collection {name!r}.")
        return msgspec.structs.replace(self.described[name], count=len(self.held_chunks[name]))

    async def search(
        self, name: str, vectors: Vectors, *, top_k: int, where: Mapping[str, Any] | None = None
    ) -> list[list[Hit]]:
        first = [Hit(chunk.id, 0.0, chunk.metadata) for chunk in self.held_chunks[name].values()][:top_k]
        return [first for _ in vectors]

    async def held(self, name: str, ids: Sequence[str]) -> frozenset[str]:
        await self.collection(name)
        return frozenset(ids).intersection(self.held_chunks[name])

    async def chunks(self, name: str, ids: Sequence[str] | None = None, *, texts: bool = True) -> list[IndexedChunk]:
        await self.collection(name)
        return [chunk for chunk in self.held_chunks[name].values() if ids is None or chunk.id in ids]

    async def create(
        self, name: str, *, embedder: EmbedderIdentity, chunking: str, corpus: str | None = None
    ) -> Collection:
        self._changing()
        self.described[name] = Collection(name, 0, embedder, embedder.dimension, chunking, corpus, uses_roles=False)
        self.held_chunks[name] = {}
        return await self.collection(name)

    async def write(self, name: str, chunks: Sequence[IndexedChunk], vectors: Vectors) -> None:
        assert len(chunks) == len(vectors)
        for chunk in chunks:  # one by one, so that a test can break off between two
            self._changing()
            self.held_chunks[name][chunk.id] = chunk

    async def delete(self, name: str, ids: Sequence[str]) -> None:
        for chunk in ids:
            self._changing()
            self.held_chunks[name].pop(chunk, None)

    async def describe(self, name: str, *, chunking: str, corpus: str | None) -> None:
        self._changing()
        self.described[name] = msgspec.structs.replace(self.described[name], chunking=chunking, corpus=corpus)

    async def drop(self, name: str) -> None:
        self._changing()
        del self.described[name], self.held_chunks[name]

    async def ready(self) -> None:
        pass


class CountingEmbedder:
    """Gives every text the same vector, and remembers what it was given; "?!" means nothing to it."""

    def __init__(self, name: str = "counting/2") -> None:
        self.name = name
        self.embedded: list[str] = []

    async def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity(self.name, 2)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if any(text.strip() in {"", "?!"} for text in texts):
            raise ContradictionError("blank-text", "A text has nothing to embed.")
        self.embedded += texts
        return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(texts), 1))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def index() -> MemoryIndex:
    return MemoryIndex()


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()
