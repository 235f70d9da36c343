"""Documents into a collection: what changed is cut, embedded and written, what did not is left alone."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from befund.contract import IngestCounts, IngestDocument, IngestRequest, IngestResponse, SkippedDocument
from befund.core.access import ROLES
from befund.core.corpus import (
    Chunk,
    Chunking,
    Document,
    MetadataError,
    Value,
    corpus_hash,
    flat_metadata,
    plain_newlines,
)
from befund.core.errors import ConflictError, ContradictionError, DependencyError, NotFoundError
from befund.ports import Collection, Embedder, EmbedderIdentity, Index, IndexedChunk, Vectors

DOCUMENTS_AT_ONCE = 64
CHARACTERS_AT_ONCE = 1_000_000
LONGEST_ID = 512
MOST_WAITING = 8
NO_TEXT = "it has no text"

FrontMatter = Callable[[str], Mapping[Any, Any]]
"""What a document says of itself at its head; raises MetadataError."""
Progress = Callable[[int], None]
"""Told how many more documents are done."""


class Split(Protocol):
    """Cuts the text of a document, without its front matter, into chunks in reading order."""

    def __call__(self, text: str, *, document_id: str, max_characters: int, overlap: int) -> list[Chunk]:
        """The chunks."""
        ...


class Ingestion:
    """Writes documents into collections, one request after another.

    Interrupted at any moment, it is completed by the same request sent again: a document whose chunks are not all there
    as they should be counts as changed, and no corpus is recorded before everything is written.

    Args:
        index: Where the collections are.
        embedder: What makes the vectors.
        split: What cuts documents.
        front_matter: What reads their front matter.
        keep_texts: Whether the index gets the texts of the chunks beside their vectors.
    """

    def __init__(
        self, index: Index, embedder: Embedder, *, split: Split, front_matter: FrontMatter, keep_texts: bool = True
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._split = split
        self._front_matter = front_matter
        self._keep_texts = keep_texts
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def ingest(
        self, name: str, request: IngestRequest, *, progress: Progress = lambda done: None
    ) -> IngestResponse:
        """Bring a collection to hold these documents.

        Args:
            name: The collection; made if it does not exist.
            request: The documents and how to go about it.
            progress: Told about documents that are done.

        Raises:
            ConflictError: The collection was made with another embedder (`embedder-mismatch`) or cut otherwise
                (`chunking-mismatch`), or somebody deletes it meanwhile (`collection-deleted`).
            ContradictionError: A document stands twice, there is nothing to do, or name or chunking cannot be.
            DependencyError: The index or the embedder is down, damaged or unusable.
        """
        _refuse_contradictions(request)
        if self._waiting == MOST_WAITING:
            raise DependencyError("ingestion-busy", "Other documents are being ingested. Try again.", retry_after=5)
        self._waiting += 1
        try:
            async with self._turn:
                return await self._ingest(name, request, progress)
        finally:
            self._waiting -= 1

    async def _ingest(self, name: str, request: IngestRequest, progress: Progress) -> IngestResponse:
        target = await self._target(name, request)
        try:
            return await self._fill(target, request, progress)
        except NotFoundError as error:
            raise ConflictError(
                "collection-deleted",
                f"Collection {name!r} was deleted while documents were written to it. Send them again.",
            ) from error

    async def _fill(self, target: "_Target", request: IngestRequest, progress: Progress) -> IngestResponse:
        name = target.name
        work = _Work(target, _held(await self._index.chunks(name, texts=False)))
        for documents in _slices(request.documents):
            await self._bring(documents, work)
            progress(len(documents))
        if (request.prune or request.replace) and not request.more:
            named = {document.id for document in request.documents}.union(request.keep)
            await self._remove([document for document in work.held if document not in named], work)
        corpus = None if request.more else work.corpus()
        if work.counts.begun or (corpus != target.collection.corpus and not request.more):
            await self._index.describe(name, chunking=target.chunking.name, corpus=corpus)
        return IngestResponse(
            collection=name,
            documents=work.counts.response(),
            chunks=(await self._index.collection(name)).count,
            embedder=target.embedder.name,
            chunking=target.chunking.name,
            corpus=corpus,
            notes=[] if request.more else list(work.notes()),
        )

    async def _target(self, name: str, request: IngestRequest) -> "_Target":
        """The collection to write to; made where it does not exist, anew where that is asked for or costs nothing."""
        embedder = await self._embedder.identity()
        try:
            collection: Collection | None = await self._index.collection(name)
        except NotFoundError:
            collection = None
        chunking = _chunking(request, collection)
        if collection is not None and not _fits(collection, embedder, chunking):
            if request.replace or _is_ours_and_empty(collection):
                await self._index.drop(name)
                collection = None
            else:
                _refuse_other(collection, embedder, chunking)
        if collection is None:
            collection = await self._index.create(name, embedder=embedder, chunking=chunking.name)
        return _Target(collection, embedder, chunking)

    async def _bring(self, documents: Sequence[IngestDocument], work: "_Work") -> None:
        """Write those of some documents that the collection does not hold as they are."""
        cut: list[_Cut] = []
        for outcome in await asyncio.to_thread(lambda: [self._read(document, work) for document in documents]):
            match outcome:
                case _Cut():
                    cut.append(outcome)
                case SkippedDocument():
                    await self._skip(outcome, work)
                case None:
                    work.counts.unchanged += 1
        if not cut:
            return
        await self._begin(work)
        chunks = [(i, chunk) for i, each in enumerate(cut) for chunk in each.chunks]
        kept, vectors = await self._embed([chunk.text for _, chunk in chunks], work)
        of_document: list[list[Chunk]] = [[] for _ in cut]
        for position in kept:
            i, chunk = chunks[position]
            of_document[i].append(chunk)
        records = [
            _record(each, chunk, of=len(written), keep_text=self._keep_texts)
            for each, written in zip(cut, of_document, strict=True)
            for chunk in written
        ]
        await self._index.write(work.target.name, records, vectors)
        for each, written in zip(cut, of_document, strict=True):
            if not written:
                await self._skip(SkippedDocument(id=each.document.id, reason=NO_TEXT), work)
                continue
            surplus = work.wrote(each, [chunk.id for chunk in written])
            if surplus:
                await self._index.delete(work.target.name, surplus)

    def _read(self, given: IngestDocument, work: "_Work") -> "_Cut | SkippedDocument | None":
        """Read and cut a document; None where the collection holds it as it is."""
        text = plain_newlines(given.text)
        try:
            said = {name: value for name, value in self._front_matter(text).items() if name != "id"}
            document = Document(id=given.id, text=text, metadata=flat_metadata(said | given.metadata))
        except MetadataError as error:
            return SkippedDocument(id=given.id, reason=str(error))
        content = document.content
        held = work.held.get(given.id)
        if held is not None and held.content == content:
            return None
        chunking = work.target.chunking
        pieces = self._split(
            text, document_id=given.id, max_characters=chunking.max_characters, overlap=chunking.overlap
        )
        chunks = [chunk for chunk in pieces if chunk.text.strip()]
        if not chunks:
            return SkippedDocument(id=given.id, reason=NO_TEXT)
        if len(chunks[-1].id) > LONGEST_ID:
            return SkippedDocument(id=given.id, reason=f"its chunks would have ids of over {LONGEST_ID} characters")
        return _Cut(document, content, chunks)

    async def _embed(self, texts: Sequence[str], work: "_Work") -> tuple[list[int], Vectors]:
        """Positions and vectors of the texts that can be embedded; one that cannot spoils only itself."""
        try:
            return list(range(len(texts))), await self._embedder.embed(texts)
        except ContradictionError:
            if len(texts) == 1:
                return [], np.empty((0, work.target.embedder.dimension), dtype=np.float32)
        middle = len(texts) // 2
        kept, vectors = await self._embed(texts[:middle], work)
        kept_after, vectors_after = await self._embed(texts[middle:], work)
        return kept + [middle + position for position in kept_after], np.concatenate([vectors, vectors_after])

    async def _skip(self, skipped: SkippedDocument, work: "_Work") -> None:
        """Leave a document out; what it was before goes where nothing is left of it, and stays where it is broken."""
        work.counts.skipped.append(skipped)
        if skipped.reason == NO_TEXT and skipped.id in work.held:
            await self._remove([skipped.id], work)

    async def _remove(self, documents: Sequence[str], work: "_Work") -> None:
        if documents:
            await self._begin(work)
            ids = [chunk for document in documents for chunk in work.held.pop(document).chunks]
            await self._index.delete(work.target.name, ids)
            work.counts.removed += len(documents)

    async def _begin(self, work: "_Work") -> None:
        """Before the first change: the collection is not any more what was recorded."""
        if not work.counts.begun:
            await self._index.describe(work.target.name, chunking=work.target.chunking.name, corpus=None)
            work.counts.begun = True


class _Target(Struct, frozen=True):
    """What is written to, and with what."""

    collection: Collection
    embedder: EmbedderIdentity
    chunking: Chunking

    @property
    def name(self) -> str:
        return self.collection.name


class _Cut(Struct, frozen=True):
    """A document that is to be written, its content hash, and its chunks."""

    document: Document
    content: str
    chunks: list[Chunk]


class _Held(Struct):
    """A document as the collection holds it: its chunks, what these say they are cut from, and if it names roles."""

    chunks: list[str] = []
    versions: set[tuple[object, object]] = set()
    names_roles: bool = False

    @property
    def content(self) -> str | None:
        """The content hash of the document, None where its chunks are not those of one version or not all there."""
        if len(self.versions) != 1:
            return None
        ((content, chunks),) = self.versions
        return str(content) if content is not None and chunks == len(self.chunks) else None


class _Counts(Struct):
    """What became of the documents so far."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: list[SkippedDocument] = []
    begun: bool = False

    def response(self) -> IngestCounts:
        return IngestCounts(
            added=self.added,
            changed=self.changed,
            unchanged=self.unchanged,
            removed=self.removed,
            skipped=self.skipped,
        )


class _Work:
    """One request on its way."""

    def __init__(self, target: _Target, held: dict[str, _Held]) -> None:
        self.target = target
        self.held = held
        self.counts = _Counts()

    def wrote(self, cut: _Cut, chunks: list[str]) -> list[str]:
        """Note a document that was written; gives the chunks of its version before that it has no more."""
        before = self.held.get(cut.document.id)
        self.held[cut.document.id] = _Held(
            chunks, {(cut.content, len(chunks))}, names_roles=ROLES in cut.document.metadata
        )
        if before is None:
            self.counts.added += 1
            return []
        self.counts.changed += 1
        return list(set(before.chunks).difference(chunks))

    def notes(self) -> Iterator[str]:
        """What to know of the documents the collection holds now."""
        silent = sum(not held.names_roles for held in self.held.values())
        if 0 < silent < len(self.held):
            name = "names" if silent == 1 else "name"
            yield f"{silent} of {len(self.held)} documents {name} no role: denied to every role"

    def corpus(self) -> str | None:
        """Hash over all documents; None where one is not whole."""
        contents = {document: held.content for document, held in self.held.items()}
        whole = {document: content for document, content in contents.items() if content is not None}
        return corpus_hash(whole) if len(whole) == len(contents) else None


def _held(chunks: Sequence[IndexedChunk]) -> dict[str, _Held]:
    held: dict[str, _Held] = {}
    for chunk in chunks:
        document = held.setdefault(str(chunk.metadata.get("document", chunk.id)), _Held())
        document.chunks.append(chunk.id)
        document.versions.add((chunk.metadata.get("content"), chunk.metadata.get("chunks")))
        document.names_roles |= ROLES in chunk.metadata
    return held


def _record(cut: _Cut, chunk: Chunk, *, of: int, keep_text: bool) -> IndexedChunk:
    metadata: dict[str, Value] = {
        **cut.document.metadata,
        "document": cut.document.id,
        "number": int(chunk.id.rpartition("-")[2]),
        "chunks": of,
        "start": chunk.start,
        "end": chunk.end,
        "content": cut.content,
    }
    return IndexedChunk(chunk.id, chunk.text if keep_text else None, metadata)


def _slices(documents: Sequence[IngestDocument]) -> Iterator[Sequence[IngestDocument]]:
    """The documents, as many at a time as shall be in memory cut and embedded."""
    begin, characters = 0, 0
    for i, document in enumerate(documents):
        if i > begin and (i - begin == DOCUMENTS_AT_ONCE or characters + len(document.text) > CHARACTERS_AT_ONCE):
            yield documents[begin:i]
            begin, characters = i, 0
        characters += len(document.text)
    if documents:
        yield documents[begin:]


def _refuse_contradictions(request: IngestRequest) -> None:
    seen: set[str] = set()
    for i, document in enumerate(request.documents):
        if document.id in seen:
            detail = f"Document {document.id!r} is given twice. Keep one."
            raise ContradictionError.at(f"/documents/{i}/id", "document-twice", detail)
        seen.add(document.id)
    if not seen and not (request.prune or request.replace):
        raise ContradictionError.at("/documents", "no-documents", "There are no documents. Send some.")


def _chunking(request: IngestRequest, collection: Collection | None) -> Chunking:
    """The chunking asked for, else the collection's own."""
    if request.chunking is None:
        return (collection and Chunking.named(collection.chunking)) or Chunking()
    chunking = Chunking(max_characters=request.chunking.max_characters, overlap=request.chunking.overlap)
    chunking.check()
    return chunking


def _fits(collection: Collection, embedder: EmbedderIdentity, chunking: Chunking) -> bool:
    return collection.embedder == embedder and collection.chunking == chunking.name and not collection.damaged


def _is_ours_and_empty(collection: Collection) -> bool:
    return collection.embedder is not None and not collection.count and not collection.damaged


def _refuse_other(collection: Collection, embedder: EmbedderIdentity, chunking: Chunking) -> None:
    """Say why documents cannot be added to a collection as it is. One that is damaged says so when it is read."""
    advice = "Ingest into another collection, or with replace (--replace) to make this one anew."
    if collection.embedder != embedder and not collection.damaged:
        made = collection.embedder.name if collection.embedder else "an embedder that nobody recorded"
        raise ConflictError(
            "embedder-mismatch",
            f"Collection {collection.name!r} was made with {made}; here it would be {embedder.name}. {advice}",
        )
    if collection.chunking != chunking.name and not collection.damaged:
        raise ConflictError(
            "chunking-mismatch",
            f"The documents in collection {collection.name!r} are cut as {collection.chunking or 'nobody recorded'}; "
            f"these would be as {chunking.name}. {advice}",
        )
