"""Looks into a collection for where the gold of many questions was lost."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from befund.core.diagnosis.gold import Wanted
from befund.core.diagnosis.locating import document_of, documents_to_read, located
from befund.core.diagnosis.trace import BEYOND, MOST_RANK, Place, Trace
from befund.core.errors import ContradictionError
from befund.core.evidence_mapping import fold
from befund.core.where import failing_clause
from befund.ports import Collection, Contest, Embedder, Index, IndexedChunk, IndexProbe, Metadata, ProbedChunk
from befund.usecases.map_evidence import placed
from befund.usecases.search import DEFAULT_EMBEDDER, embedder_for

DOCUMENTS_AT_ONCE = 50
"""Documents that are read whole at a time, for quotes that do not stand where they should."""
OWN_RESULTS = 10
"""Among so many chunks nearest to its own vector a chunk should be."""

Vector = NDArray[np.float32]


class Probe(Struct, frozen=True, kw_only=True):
    """What one question wants of a collection.

    Attributes:
        question: Its text.
        wanted: Its gold.
        k: How many chunks retrieval gives.
        where: The filter of its search.
        there: Chunks that are known to have been retrieved.
        context: Chunks the generator received.
    """

    question: str
    wanted: Sequence[Wanted]
    k: int
    where: Mapping[str, Any] | None
    there: frozenset[str]
    context: Sequence[str] = ()


class IndexParts(Struct, frozen=True):
    """What probing needs from outside."""

    index: Index
    probe: IndexProbe
    embedder: Embedder


class Probed(Struct, frozen=True):
    """For each question its gold in the collection, by the gold's ids; and the metadata of all chunks concerned."""

    traces: list[dict[str, Trace]]
    metadata: Mapping[str, Metadata]


async def probe_collection(
    parts: IndexParts, name: str, probes: Sequence[Probe], *, embedder: str | None = None
) -> Probed:
    """Look for the gold of many questions, in as few calls as there can be.

    Raises:
        NotFoundError: There is no such collection.
        ConflictError: It was made by another embedder.
        ContradictionError: A filter cannot be read.
        DependencyError: Index or embedder are down, damaged or unusable.
    """
    collection = await parts.index.collection(name)
    await embedder_for(collection, parts.embedder, asked=embedder or DEFAULT_EMBEDDER, at="/embedder")
    for where in _filters(probes):
        await parts.probe.check_filter(name, where)
    return await _Probing(parts, collection, probes).run()


class _Pair(Struct, frozen=True):
    """A chunk and the question that wants it."""

    probe: int
    chunk: str


class _Probing:
    """One look into one collection."""

    def __init__(self, parts: IndexParts, collection: Collection, probes: Sequence[Probe]) -> None:
        self._parts = parts
        self._collection = collection
        self._probes = probes
        self._looked: dict[str, ProbedChunk] = {}
        self._folded: dict[str, str | None] = {}
        self._questions: dict[str, Vector] = {}
        self._places: dict[tuple[int, str], Place] = {}

    async def run(self) -> Probed:
        await self._look_at(chunk for probe in self._probes for wanted in probe.wanted for chunk in wanted.chunks)
        traces = await self._located()
        await self._look_at(place.chunk for each in traces for trace in each.values() for place in trace.places)
        pairs = list(
            dict.fromkeys(
                _Pair(at, place.chunk)
                for at, each in enumerate(traces)
                for trace in each.values()
                for place in trace.places
            )
        )
        self._places = {(pair.probe, pair.chunk): self._place(pair) for pair in pairs}
        ranked = [pair for pair in pairs if self._is_in_contest(pair)]
        await self._embed({self._probes[pair.probe].question for pair in ranked})
        ranked = [pair for pair in ranked if self._probes[pair.probe].question in self._questions]
        await self._rank(ranked)
        await self._see_what_returns([pair for pair in ranked if self._should_return(pair)])
        await self._compare_vectors([pair for pair in ranked if self._is_below(pair)])
        finished = [
            {
                id_: replace(trace, places=[self._places[at, place.chunk] for place in trace.places])
                for id_, trace in each.items()
            }
            for at, each in enumerate(traces)
        ]
        return Probed(finished, await self._every_metadata())

    async def _every_metadata(self) -> dict[str, Metadata]:
        """What the chunks that were looked at, and those of the contexts, say of themselves."""
        known = {id_: looked.chunk.metadata for id_, looked in self._looked.items()}
        others = [chunk for probe in self._probes for chunk in probe.context if chunk not in known]
        found = await self._parts.index.chunks(self._collection.name, list(dict.fromkeys(others)), texts=False)
        return known | {chunk.id: chunk.metadata for chunk in found}

    async def _look_at(self, chunks: Iterable[str]) -> None:
        asked = [chunk for chunk in dict.fromkeys(chunks) if chunk not in self._folded]
        found = await self._parts.probe.look_at(self._collection.name, asked)
        self._looked.update(found)
        for chunk in asked:
            text = found[chunk].chunk.text if chunk in found else None
            self._folded[chunk] = None if text is None else fold(text)

    async def _located(self) -> list[dict[str, Trace]]:
        """Where each piece of gold is now; documents are read for those that are not where they should be."""
        documents: dict[str, list[Wanted]] = {}
        for probe in self._probes:
            for wanted in documents_to_read(probe.wanted, self._folded, self._looked.keys()):
                document = document_of(wanted, self._metadata(wanted))
                if document is not None:
                    documents.setdefault(document, []).append(wanted)
        found: dict[str, Trace] = {}
        names = list(documents)
        for start in range(0, len(names), DOCUMENTS_AT_ONCE):
            part = names[start : start + DOCUMENTS_AT_ONCE]
            chunks: dict[str, list[IndexedChunk]] = {name: [] for name in part}
            for chunk in await self._parts.probe.of_documents(self._collection.name, part):
                chunks[str(chunk.metadata["document"])].append(chunk)
            for document, every in chunks.items():
                ids, texts = {chunk.id for chunk in every}, list(placed(every))
                for wanted in documents[document]:
                    held = self._looked.keys()
                    found[_key(wanted)] = located(wanted, document, ids=ids, chunks=texts, held=held)
        return [
            {wanted.id: found.get(_key(wanted)) or self._where_it_should_be(wanted) for wanted in probe.wanted}
            for probe in self._probes
        ]

    def _where_it_should_be(self, wanted: Wanted) -> Trace:
        read = wanted.quote is not None and any(self._folded.get(chunk) is not None for chunk in wanted.chunks)
        places = [Place(chunk=chunk, held=chunk in self._looked) for chunk in wanted.chunks]
        document = document_of(wanted, self._metadata(wanted))
        return Trace(wanted=wanted, places=places, text="whole" if read else "unread", document=document)

    def _metadata(self, wanted: Wanted) -> Metadata:
        held = next((chunk for chunk in wanted.chunks if chunk in self._looked), None)
        return {} if held is None else self._looked[held].chunk.metadata

    def _place(self, pair: _Pair) -> Place:
        looked, where = self._looked.get(pair.chunk), self._probes[pair.probe].where
        if looked is None:
            return Place(chunk=pair.chunk, held=False)
        metadata = looked.chunk.metadata
        clause = failing_clause(where, metadata) if where else None
        value = metadata.get(next(iter(clause))) if clause else None
        return Place(chunk=pair.chunk, text=self._folded[pair.chunk], clause=clause, value=value)

    def _is_in_contest(self, pair: _Pair) -> bool:
        place = self._places[pair.probe, pair.chunk]
        return place.held and place.clause is None

    async def _embed(self, questions: set[str]) -> None:
        """Embed each question once; one in which the embedder finds nothing to embed has no rank."""
        texts = [question for question in questions if question.strip()]
        try:
            vectors: Iterable[Vector] = await self._parts.embedder.embed(texts) if texts else []
            self._questions.update(zip(texts, vectors, strict=True))
        except ContradictionError:
            if len(texts) > 1:
                for text in texts:
                    await self._embed({text})

    async def _rank(self, pairs: Sequence[_Pair]) -> None:
        contests = [
            Contest(
                question=self._questions[self._probes[pair.probe].question],
                chunk=self._looked[pair.chunk].vector,
                where=self._probes[pair.probe].where,
            )
            for pair in pairs
        ]
        standings = await self._parts.probe.ranks(self._collection.name, contests, deepest=MOST_RANK)
        for pair, standing in zip(pairs, standings, strict=True):
            self._know(pair, rank=standing.rank, last=standing.last)

    def _should_return(self, pair: _Pair) -> bool:
        """Whether a search should return it, and nothing says that the answer's own search did."""
        probe, place = self._probes[pair.probe], self._places[pair.probe, pair.chunk]
        return place.rank is not None and place.rank <= probe.k and pair.chunk not in probe.there

    def _is_below(self, pair: _Pair) -> bool:
        rank = self._places[pair.probe, pair.chunk].rank
        return rank is not None and rank > self._probes[pair.probe].k

    async def _see_what_returns(self, pairs: Sequence[_Pair]) -> None:
        groups: dict[bytes, list[_Pair]] = {}
        for pair in pairs:
            probe = self._probes[pair.probe]
            groups.setdefault(msgspec.json.encode([probe.k, probe.where]), []).append(pair)
        lost: list[_Pair] = []
        for group in groups.values():
            probe = self._probes[group[0].probe]
            vectors = np.stack([self._questions[self._probes[pair.probe].question] for pair in group])
            hits = await self._parts.index.search(
                self._collection.name, vectors, top_k=probe.k, where=probe.where or None
            )
            for pair, of_pair in zip(group, hits, strict=True):
                returned = any(hit.id == pair.chunk for hit in of_pair)
                tied = (self._places[pair.probe, pair.chunk].last or BEYOND) > probe.k
                if not returned and tied:  # as near as those that were returned, which came first by chance
                    self._know(pair, rank=self._places[pair.probe, pair.chunk].last)
                    continue
                self._know(pair, returned=returned)
                lost += [] if returned else [pair]
        await self._reach(lost)

    async def _reach(self, pairs: Sequence[_Pair]) -> None:
        if not pairs:
            return
        vectors = np.stack([self._looked[pair.chunk].vector for pair in pairs])
        hits = await self._parts.index.search(self._collection.name, vectors, top_k=OWN_RESULTS)
        for pair, of_pair in zip(pairs, hits, strict=True):
            self._know(pair, reachable=any(hit.id == pair.chunk for hit in of_pair))

    async def _compare_vectors(self, pairs: Sequence[_Pair]) -> None:
        """Compare the vectors of chunks that rank too low with those of their texts, where one embedder made both."""
        if self._collection.embedder is None:
            return
        chunks = [chunk for chunk in dict.fromkeys(pair.chunk for pair in pairs) if self._folded[chunk]]
        texts = [self._looked[chunk].chunk.text or "" for chunk in chunks]
        try:
            vectors: Iterable[Vector] = await self._parts.embedder.embed(texts) if texts else []
        except ContradictionError:
            return
        likeness = {chunk: _cosine(self._looked[chunk].vector, own) for chunk, own in zip(chunks, vectors, strict=True)}
        for pair in pairs:
            self._know(pair, likeness=likeness.get(pair.chunk))

    def _know(self, pair: _Pair, **found: Any) -> None:
        key = (pair.probe, pair.chunk)
        self._places[key] = replace(self._places[key], **found)


def _filters(probes: Iterable[Probe]) -> list[Mapping[str, Any]]:
    return list({msgspec.json.encode(probe.where): probe.where for probe in probes if probe.where}.values())


def _key(wanted: Wanted) -> str:
    return msgspec.json.encode(wanted).decode()


def _cosine(one: Vector, other: Vector) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0
