"""A retrieval pipeline over the bundled corpus, small enough to break it on purpose."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from befund.adapters.chroma import ChromaProbe, EmbeddedChroma
from befund.adapters.embedding import StaticEmbedder
from befund.adapters.folder import read_folder
from befund.app import CORPUS, CORPUS_COLLECTION, ingestion_into
from befund.bundled import bundled
from befund.contract import IngestRequest
from befund.ports import IndexedChunk, ProbedChunk
from befund.usecases.search import SearchParts

Chunks = list[ProbedChunk]
Context = list[dict[str, Any]]


class Fault(Struct, frozen=True, kw_only=True):
    """A fault that is made on purpose, and what a diagnosis should say of it.

    Attributes:
        kind: What is broken, for a reader.
        question: The question of the bundled data set, or one that is not in it.
        diagnosis: The class that should come out.
        cause: The cause that should come out.
        answer: What the generator says.
        index: Breaks the index, before anything is retrieved.
        where: The filter of the search.
        k: How many chunks retrieval gives.
        context: Breaks the context, after retrieval.
        sent: What is sent to POST /diagnose beside or in place of what the pipeline knows.
    """

    kind: str
    question: str
    diagnosis: str
    cause: str
    answer: str = "The documents I was given do not say."
    index: "Callable[[Chunks, Pipeline], Chunks] | None" = None
    where: dict[str, Any] | None = None
    k: int = 5
    context: "Callable[[Context, Pipeline], Context] | None" = None
    sent: dict[str, Any] = {}


class Pipeline:
    """The corpus in an index of its own folder, searched with the vectors that come with Befund.

    Args:
        folder: Where the index is; it is free for a service once the pipeline is closed.
    """

    def __init__(self, folder: Path) -> None:
        self._chroma = EmbeddedChroma(folder / "chroma")
        self._embedder = StaticEmbedder()
        self._chunks: dict[str, ProbedChunk] = {}

    async def open(self) -> None:
        """Ingest the corpus."""
        self._chroma.open()
        self._index = ChromaProbe(self._chroma)
        parts = SearchParts(index=self._index, embedder=self._embedder, tokenizer=self._embedder)
        files = read_folder(bundled(CORPUS) / CORPUS).files
        request = IngestRequest(documents=[file.document() for file in files])
        await ingestion_into(parts, "full").ingest(CORPUS_COLLECTION, request)
        ids = [chunk.id for chunk in await self._index.chunks(CORPUS_COLLECTION, texts=False)]
        self._chunks = await self._index.look_at(CORPUS_COLLECTION, ids)

    async def close(self) -> None:
        """Let go of the folder."""
        await self._index.close()
        await self._embedder.close()

    async def item(self, number: int, fault: Fault, question: dict[str, Any]) -> dict[str, Any]:
        """Break the pipeline, ask it, and give what a caller would send to be diagnosed."""
        collection = await self._broken(f"fault-{number}", fault) if fault.index else CORPUS_COLLECTION
        vector = await self._embedder.embed([question["question"]])
        (hits,) = await self._index.search(collection, vector, top_k=fault.k, where=fault.where)
        retrieved = [hit.id for hit in hits]
        texts = {chunk.id: chunk.text for chunk in await self._index.chunks(collection, retrieved)}
        context: Context = [{"id": id_, "text": texts[id_]} for id_ in retrieved]
        context = fault.context(context, self) if fault.context else context
        known = {"question_id": question["id"], "collection": collection, "where": fault.where, "top_k": fault.k}
        item = {**known, "retrieved": retrieved, "context": context, "answer": fault.answer, **fault.sent}
        return {name: value for name, value in item.items() if value is not None}

    async def _broken(self, name: str, fault: Fault) -> str:
        chunks = list(self._chunks.values())
        chunks = fault.index(chunks, self) if fault.index else chunks
        identity = await self._embedder.identity()
        await self._index.create(name, embedder=identity, chunking="markdown/700/0")
        await self._index.write(name, [each.chunk for each in chunks], np.stack([each.vector for each in chunks]))
        return name

    def text(self, chunk: str) -> str:
        """A chunk's text as it should be."""
        return self._chunks[chunk].chunk.text or ""

    def chunk(self, chunk: str) -> dict[str, Any]:
        """A chunk as it should stand in a context."""
        return {"id": chunk, "text": self.text(chunk)}

    def vector(self, chunk: str) -> Any:
        """A chunk's vector as it should be."""
        return self._chunks[chunk].vector


def without_document(document: str) -> Callable[[Chunks, Pipeline], Chunks]:
    """The document was never ingested."""
    return lambda chunks, _: [each for each in chunks if each.chunk.metadata["document"] != document]


def without_chunk(chunk: str) -> Callable[[Chunks, Pipeline], Chunks]:
    """One chunk of it is gone."""
    return lambda chunks, _: [each for each in chunks if each.chunk.id != chunk]


def truncated(chunk: str, before: str) -> Callable[[Chunks, Pipeline], Chunks]:
    """The chunk's text ends before these words."""
    return _changed(chunk, lambda each: [_with_text(each, _until(each.chunk.text or "", before))])


def split(chunk: str, before: str) -> Callable[[Chunks, Pipeline], Chunks]:
    """The chunk is cut in two before these words, and the second half lies elsewhere."""

    def cut(each: ProbedChunk) -> Chunks:
        text, metadata = each.chunk.text or "", each.chunk.metadata
        at = len(_until(text, before))
        place = int(str(metadata["start"])) + at
        begin = replace(each.chunk, text=text[:at], metadata={**metadata, "end": place})
        rest = IndexedChunk(f"{chunk}b", text[at:], {**metadata, "start": place})
        return [replace(each, chunk=begin), ProbedChunk(rest, -each.vector)]

    return _changed(chunk, cut)


def with_random_vector(chunk: str) -> Callable[[Chunks, Pipeline], Chunks]:
    """The chunk's vector is noise."""
    chance = random.Random(7)  # noqa: S311 - the same noise every time
    return _changed(
        chunk,
        lambda each: [replace(each, vector=np.array([chance.gauss(0, 1) for _ in each.vector], dtype=np.float32))],
    )


def with_vector_of(chunk: str, other: str) -> Callable[[Chunks, Pipeline], Chunks]:
    """The chunk has got another one's vector."""
    return lambda chunks, pipeline: _changed(chunk, lambda each: [replace(each, vector=pipeline.vector(other))])(
        chunks, pipeline
    )


def cut_in_context(chunk: str, before: str) -> Callable[[Context, Pipeline], Context]:
    """The context ends before these words."""

    def cut(context: Context, pipeline: Pipeline) -> Context:
        return [
            {"id": chunk, "text": _until(each["text"], before)} if each["id"] == chunk else each for each in context
        ]

    return cut


def only(*chunks: str) -> Callable[[Context, Pipeline], Context]:
    """These chunks and no others reach the generator."""
    return lambda _, pipeline: [pipeline.chunk(chunk) for chunk in chunks]


def beside(chunk: str, text: str) -> Callable[[Context, Pipeline], Context]:
    """This chunk, and a text from elsewhere."""
    return lambda _, pipeline: [pipeline.chunk(chunk), {"id": "elsewhere", "text": text}]


def first(most: int) -> Callable[[Context, Pipeline], Context]:
    """The context has room for so many chunks."""
    return lambda context, _: context[:most]


def without(*chunks: str) -> Callable[[Context, Pipeline], Context]:
    """A reranker throws these out."""
    return lambda context, _: [each for each in context if each["id"] not in chunks]


def _changed(chunk: str, change: Callable[[ProbedChunk], Chunks]) -> Callable[[Chunks, Pipeline], Chunks]:
    return lambda chunks, _: [new for each in chunks for new in (change(each) if each.chunk.id == chunk else [each])]


def _with_text(looked: ProbedChunk, text: str) -> ProbedChunk:
    return replace(looked, chunk=replace(looked.chunk, text=text))


def _until(text: str, before: str) -> str:
    return text[: text.index(before)]
