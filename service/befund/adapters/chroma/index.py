"""The port `Index` over Chroma."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from befund.adapters.chroma import filters, record
from befund.adapters.chroma.connection import Connection
from befund.adapters.chroma.failures import (
    bad_filter,
    bad_name,
    damaged,
    filter_translated,
    translated,
    unknown_collection,
)
from befund.core.errors import ConflictError, ContradictionError, DependencyError
from befund.ports import Collection, EmbedderIdentity, Hit, IndexedChunk, Vectors

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,510}[A-Za-z0-9]")
"""What Chroma takes for the name of a collection."""
PAGE = 5_000
"""Ids a call: SQLite takes 32,766 variables in one statement, and a page must not hold the thread for long."""
QUERIES_AT_ONCE = 100
HITS_AT_ONCE = 20_000
"""What one call brings is taken apart on the event loop."""
_COLLECTIONS_A_PAGE = 100
_SAMPLES = 8


class ChromaIndex:
    """Collections in Chroma.

    A collection is looked at before its first use: vectors that are lost do not show in its count, and a search
    answers with the few that are left.

    Args:
        connection: The way to Chroma.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sound: set[str] = set()
        self._roles: dict[tuple[str, int], bool] = {}

    async def ready(self) -> None:
        """Return if the index can be asked."""
        await self._connection.ready()

    async def close(self) -> None:
        """End the connection."""
        await self._connection.close()

    async def collections(self) -> list[Collection]:
        """Every collection, by name."""
        found: list[Any] = []
        while True:
            offset = len(found)
            found += await self._ask(None, "list_collections", limit=_COLLECTIONS_A_PAGE, offset=offset)
            if len(found) < offset + _COLLECTIONS_A_PAGE:
                break
        return [await self._described(each) for each in sorted(found, key=lambda each: str(each.name))]

    async def collection(self, name: str) -> Collection:
        """One collection."""
        return await self._described(await self._get(name))

    async def search(
        self, name: str, vectors: Vectors, *, top_k: int, where: Mapping[str, Any] | None = None
    ) -> list[list[Hit]]:
        """The nearest chunks of each vector, nearest first."""
        refuse_pointless(vectors)
        too_much = filters.complaint(where)
        if too_much is not None:
            raise bad_filter(too_much)
        found = await self._sound_one(name)
        self._refuse_other_dimension(found, vectors.shape[1])
        count: int = await self._of(found, "count")
        most = max(1, min(top_k, count))
        at_once = max(1, min(QUERIES_AT_ONCE, HITS_AT_ONCE // most))
        hits: list[list[Hit]] = []
        for part in parts(vectors, at_once):
            answer = await self._query(found, part, most, dict(where) if where else None)
            for ids, distances in zip(answer["ids"], answer["distances"], strict=True):
                hits.append([Hit(*pair) for pair in zip(ids, distances, strict=True)])
        return hits

    async def held(self, name: str, ids: Sequence[str]) -> frozenset[str]:
        """Which of these chunks the collection holds."""
        found = await self._sound_one(name)
        held: set[str] = set()
        for part in parts(list(dict.fromkeys(ids)), PAGE):
            answer = await self._of(found, "get", ids=part, include=[])
            held.update(answer["ids"])
        return frozenset(held)

    async def chunks(self, name: str, ids: Sequence[str] | None = None, *, texts: bool = True) -> list[IndexedChunk]:
        """These chunks, those that exist, in the order asked for; all of them where `ids` is None."""
        found = await self._sound_one(name)
        if ids is None:
            return [chunk async for chunk in self._every_chunk(found, texts=texts)]
        chunks: dict[str, IndexedChunk] = {}
        for part in parts(list(dict.fromkeys(ids)), PAGE):
            answer = await self._of(found, "get", ids=part, include=_included(texts))
            chunks.update((chunk.id, chunk) for chunk in chunks_of(answer))
        return [chunks[id_] for id_ in ids if id_ in chunks]

    async def create(
        self, name: str, *, embedder: EmbedderIdentity, chunking: str, corpus: str | None = None
    ) -> Collection:
        """Make a collection, or give the one that exists."""
        if not NAME.fullmatch(name):
            raise bad_name(name)
        metadata = record.changed(
            None,
            **{
                record.EMBEDDER: embedder.name,
                record.DIMENSION: embedder.dimension,
                record.CHUNKING: chunking,
                record.CORPUS: corpus,
            },
        )
        found = await self._ask(
            name,
            "get_or_create_collection",
            metadata=metadata,
            configuration={"hnsw": {"space": "cosine"}},
            embedding_function=None,
        )
        described = await self._described(found)
        if described.damaged:
            raise damaged(name)
        if described.embedder is not None and described.embedder.name != embedder.name:
            raise ConflictError(
                "embedder-mismatch",
                f"Collection {name!r} was made with {described.embedder.name}, not with {embedder.name}. Use that "
                "embedder, another name, or delete the collection.",
            )
        self._refuse_other_dimension(found, embedder.dimension)
        return described

    async def write(self, name: str, chunks: Sequence[IndexedChunk], vectors: Vectors) -> None:
        """Add chunks, or replace those with the same ids."""
        refuse_pointless(vectors)
        if len(vectors) != len(chunks):
            raise ValueError(f"{len(vectors)} vectors for {len(chunks)} chunks")
        if len({chunk.id for chunk in chunks}) < len(chunks):
            raise ContradictionError("chunk-twice", f"A chunk id stands twice in what is to be written to {name!r}.")
        found = await self._sound_one(name)
        if not chunks:
            return
        self._refuse_other_dimension(found, vectors.shape[1])
        if any(record.ROLES in chunk.metadata for chunk in chunks) and not _record_of(found).uses_roles:
            await self._note(found, **{record.USES_ROLES: True})
        at_once = self._connection.written_at_once
        for part, of_part in zip(parts(chunks, at_once), parts(vectors, at_once), strict=True):
            await self._upsert(found, part, of_part)

    async def delete(self, name: str, ids: Sequence[str]) -> None:
        """Take chunks out."""
        found = await self._sound_one(name)
        for part in parts(list(dict.fromkeys(ids)), PAGE):
            await self._of(found, "delete", ids=part)

    async def describe(self, name: str, *, chunking: str, corpus: str | None) -> None:
        """Record how the collection was made."""
        await self._note(await self._get(name), **{record.CHUNKING: chunking, record.CORPUS: corpus or ""})

    async def drop(self, name: str) -> None:
        """Delete the collection, a damaged one too."""
        if not NAME.fullmatch(name):
            raise unknown_collection(name)
        await self._ask(name, "delete_collection")
        with translated(name):
            await self._connection.remove_deleted()

    async def _ask(self, name: str | None, method: str, **arguments: Any) -> Any:
        """Call a method of the client, about one collection or none."""
        given = arguments if name is None else {"name": name, **arguments}
        with translated(name):
            return await self._connection.call(lambda client: getattr(client, method)(**given))

    async def _of(self, found: Any, method: str, **arguments: Any) -> Any:
        """Call a method of a collection; one in which Chroma fails is looked at anew before its next use."""
        try:
            with translated(found.name):
                return await self._connection.call(lambda _: getattr(found, method)(**arguments))
        except DependencyError:
            self._sound.discard(str(found.id))
            raise

    async def _get(self, name: str) -> Any:
        if not NAME.fullmatch(name):  # a server would be asked for another path
            raise unknown_collection(name)
        return await self._ask(name, "get_collection", embedding_function=None)

    async def _sound_one(self, name: str) -> Any:
        """The collection, which is not damaged."""
        found = await self._get(name)
        if not await self._is_sound(found):
            raise damaged(name)
        return found

    async def _described(self, found: Any) -> Collection:
        noted = _record_of(found)
        is_sound = await self._is_sound(found)
        count = await self._of(found, "count") if is_sound else 0
        uses_roles = noted.uses_roles
        if uses_roles is None:
            uses_roles = is_sound and await self._any_roles(found, count)
        return Collection(
            name=found.name,
            count=count,
            embedder=noted.embedder,
            dimension=found.get_model().dimension,
            chunking=noted.chunking,
            corpus=noted.corpus,
            uses_roles=uses_roles,
            space=record.space_of(found.configuration_json),
            damaged=not is_sound,
        )

    async def _is_sound(self, found: Any) -> bool:
        """Whether vectors from all over the collection can be read; once they can, not looked at until Chroma fails."""
        key = str(found.id)
        if key not in self._sound:
            with translated(found.name):
                whole = await self._connection.has_whole_vectors(key)
            if not (whole and await self._samples_read(found)):
                return False
            self._sound.add(key)
        return True

    async def _samples_read(self, found: Any) -> bool:
        from chromadb.errors import InternalError

        try:
            count = await self._of(found, "count")
            for offset in sorted({count * sample // _SAMPLES for sample in range(_SAMPLES)} if count else ()):
                await self._of(found, "get", limit=1, offset=offset, include=["embeddings"])
        except DependencyError as error:
            if isinstance(error.__cause__, InternalError):
                return False
            raise
        return True

    async def _any_roles(self, found: Any, count: int) -> bool:
        """Whether any chunk of a collection that others wrote names roles: all of them are read, once a count."""
        key = (str(found.id), count)
        if key not in self._roles:
            self._roles[key] = await self._read_for_roles(found)
        return self._roles[key]

    async def _read_for_roles(self, found: Any) -> bool:
        async for chunk in self._every_chunk(found, texts=False):
            if record.ROLES in chunk.metadata:
                return True
        return False

    async def _every_chunk(self, found: Any, *, texts: bool = True) -> AsyncIterator[IndexedChunk]:
        include = _included(texts)
        offset = 0
        while True:
            answer = await self._of(found, "get", limit=PAGE, offset=offset, include=include)
            for chunk in chunks_of(answer):
                yield chunk
            offset += PAGE
            if len(answer["ids"]) < PAGE:
                return

    async def _query(self, found: Any, vectors: Vectors, top_k: int, where: dict[str, Any] | None) -> Any:
        with filter_translated(where):
            return await self._of(
                found, "query", query_embeddings=vectors, n_results=top_k, where=where, include=["distances"]
            )

    async def _upsert(self, found: Any, chunks: Sequence[IndexedChunk], vectors: Vectors) -> None:
        ids = [chunk.id for chunk in chunks]
        held = await self._of(found, "get", ids=ids, include=["metadatas"])
        before = dict(zip(held["ids"], held["metadatas"], strict=True))
        await self._of(
            found,
            "upsert",
            ids=ids,
            embeddings=vectors,
            documents=[chunk.text or "" for chunk in chunks],
            metadatas=[record.written_metadata(chunk.metadata, before.get(chunk.id)) for chunk in chunks],
        )

    async def _note(self, found: Any, **values: Any) -> None:
        await self._of(found, "modify", metadata=record.changed(found.metadata, **values))

    def _refuse_other_dimension(self, found: Any, dimension: int) -> None:
        noted = _record_of(found).embedder
        there = found.get_model().dimension or (noted.dimension if noted else None)
        if there is not None and there != dimension:
            raise ConflictError(
                "dimension-mismatch",
                f"Collection {found.name!r} holds vectors of {there} numbers; those given have {dimension}. Use the "
                "embedder it was made with.",
            )


def refuse_pointless(vectors: Vectors) -> None:
    """Refuse vectors without a direction, which Chroma would rank by chance."""
    if vectors.size and not (np.isfinite(vectors).all() and np.any(vectors, axis=1).all()):
        raise ContradictionError("bad-vector", "A vector is zero or has a number that is not finite.")


def _included(texts: bool) -> list[str]:
    return ["documents", "metadatas"] if texts else ["metadatas"]


def _record_of(found: Any) -> record.Record:
    return record.read_record(found.metadata)


def chunks_of(answer: Any) -> Iterator[IndexedChunk]:
    """The chunks of an answer that includes their metadata."""
    texts = answer["documents"] or [None] * len(answer["ids"])
    for id_, text, metadata in zip(answer["ids"], texts, answer["metadatas"], strict=True):
        yield IndexedChunk(id_, text or None, metadata or {})


def parts(whole: Any, size: int) -> Iterator[Any]:
    """Cut a list or an array into parts of at most this size."""
    for start in range(0, len(whole), size):
        yield whole[start : start + size]
