"""The port `IndexProbe` over Chroma."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.adapters.chroma import filters, record
from befund.adapters.chroma.failures import bad_filter, filter_translated
from befund.adapters.chroma.index import PAGE, ChromaIndex, chunks_of, parts, refuse_pointless
from befund.adapters.chroma.nearness import Field, count_nearer
from befund.ports import Contest, IndexedChunk, ProbedChunk, Standing, Vectors

DOCUMENT = "document"
LOOKED_AT_ONCE = 1_000
DOCUMENTS_AT_ONCE = 100
FILTERS_AT_ONCE = 8
"""Of each the ids that pass are held while all vectors are read."""

Places = list[int]


class _Filtered(Struct, frozen=True):
    """The contests that share a filter, by their places."""

    where: Mapping[str, Any] | None
    places: Places


class ChromaProbe(ChromaIndex):
    """An index that can also be looked into.

    Ranks are counted in one pass over all vectors, however few they are: a search that should give 1,000 chunks misses
    some of those that are nearer, so that the same chunk would stand higher alone than among others.
    """

    async def look_at(self, name: str, ids: Sequence[str]) -> dict[str, ProbedChunk]:
        """These chunks, those that exist, with texts, metadata and vectors."""
        found = await self._sound_one(name)
        looked: dict[str, ProbedChunk] = {}
        for part in parts(list(dict.fromkeys(ids)), LOOKED_AT_ONCE):
            answer = await self._of(found, "get", ids=part, include=["documents", "metadatas", "embeddings"])
            vectors = _vectors(answer)
            looked.update((chunk.id, ProbedChunk(chunk, vectors[i])) for i, chunk in enumerate(chunks_of(answer)))
        return looked

    async def of_documents(self, name: str, documents: Sequence[str]) -> list[IndexedChunk]:
        """Every chunk of these documents."""
        found = await self._sound_one(name)
        chunks: list[IndexedChunk] = []
        for part in parts(list(dict.fromkeys(documents)), DOCUMENTS_AT_ONCE):
            where = {DOCUMENT: {"$in": part}}
            chunks += chunks_of(await self._of(found, "get", where=where, include=["documents", "metadatas"]))
        return chunks

    async def check_filter(self, name: str, where: Mapping[str, Any]) -> None:
        """Carry it out for one chunk."""
        too_much = filters.complaint(where)
        if too_much is not None:
            raise bad_filter(too_much)
        await self._passing(await self._sound_one(name), where, limit=1)

    async def ranks(self, name: str, contests: Sequence[Contest], *, deepest: int) -> list[Standing]:
        """For each contest where its chunk stands among those that pass the filter, the nearest first."""
        if not contests:
            return []
        found = await self._sound_one(name)
        questions = np.stack([contest.question for contest in contests])
        refuse_pointless(questions)
        self._refuse_other_dimension(found, questions.shape[1])
        field = Field(record.space_of(found.configuration_json), questions, np.stack([each.chunk for each in contests]))
        tallies = np.zeros((len(contests), 2), dtype=np.int64)
        for some in parts(_by_filter(contests), FILTERS_AT_ONCE):
            await self._read(found, field, some, tallies, deepest)
        return [_standing(int(nearer), int(as_near), deepest) for nearer, as_near in tallies]

    async def _read(
        self, found: Any, field: Field, groups: Sequence[_Filtered], tallies: NDArray[np.int64], deepest: int
    ) -> None:
        """Count in one pass over all vectors; a chunk that is known to lie too deep is not followed further."""
        passing = {
            at: frozenset(await self._passing(found, group.where)) for at, group in enumerate(groups) if group.where
        }
        followed = {at: list(group.places) for at, group in enumerate(groups)}
        async with aclosing(self._every_vector(found)) as pages:
            async for ids, vectors in pages:
                for at, places in followed.items():
                    kept = vectors[[id_ in passing[at] for id_ in ids]] if at in passing else vectors
                    tallies[places] += await asyncio.to_thread(count_nearer, field, places, kept)
                    followed[at] = [place for place in places if tallies[place, 0] <= deepest]
                if not any(followed.values()):
                    return

    async def _every_vector(self, found: Any) -> AsyncGenerator[tuple[list[str], Vectors], None]:
        """All vectors by page; the next page is read while one is looked at."""
        offset = 0
        page = asyncio.create_task(self._page(found, offset))
        try:
            while True:
                answer = await page
                offset += PAGE
                is_last = len(answer["ids"]) < PAGE
                if not is_last:
                    page = asyncio.create_task(self._page(found, offset))
                if answer["ids"]:
                    yield answer["ids"], _vectors(answer)
                if is_last:
                    return
        finally:
            page.cancel()

    async def _page(self, found: Any, offset: int) -> Any:
        return await self._of(found, "get", limit=PAGE, offset=offset, include=["embeddings"])

    async def _passing(self, found: Any, where: Mapping[str, Any], *, limit: int | None = None) -> list[str]:
        """The ids of the chunks that pass a filter."""
        with filter_translated(where):
            answer = await self._of(found, "get", where=dict(where), limit=limit, include=[])
        ids: list[str] = answer["ids"]
        return ids


def _standing(nearer: int, as_near: int, deepest: int) -> Standing:
    """The chunk looked for is one of those as near as itself, unless it was deleted meanwhile."""
    return Standing(min(nearer + 1, deepest + 1), min(nearer + max(as_near, 1), deepest + 1))


def _by_filter(contests: Iterable[Contest]) -> list[_Filtered]:
    groups: dict[bytes, _Filtered] = {}
    for place, contest in enumerate(contests):
        where = contest.where or None
        groups.setdefault(msgspec.json.encode(where), _Filtered(where, [])).places.append(place)
    return list(groups.values())


def _vectors(answer: Any) -> Vectors:
    return np.asarray(answer["embeddings"], dtype=np.float32)
