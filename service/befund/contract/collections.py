"""Collections, ingestion and mapping of evidence."""

from typing import Annotated, Any

from msgspec import Meta

from befund.contract.base import Id, Request, Response


class CollectionInfo(Response, frozen=True, kw_only=True):
    """A collection of the index.

    Attributes:
        name: Its name.
        chunks: How many chunks it holds; 0 where it is damaged.
        embedder: What made its vectors; null where nobody recorded it.
        dimension: Length of its vectors; null while it is empty.
        space: How distances are measured.
        chunking: How its documents were cut; null where nobody recorded it.
        corpus: Hash over its documents; null where nobody recorded it.
        uses_roles: Whether chunks say who may read them; one that does not is then denied to every role.
        damaged: Whether vectors are lost or cannot be read: ingest its documents anew.
    """

    name: str
    chunks: int
    embedder: str | None
    dimension: int | None
    space: str
    chunking: str | None
    corpus: str | None
    uses_roles: bool
    damaged: bool = False


class CollectionList(Response, frozen=True, kw_only=True):
    """Every collection of the index, by name."""

    collections: list[CollectionInfo]


class IngestDocument(Request, frozen=True, kw_only=True):
    """A Markdown document; what its front matter says is metadata too, unless `metadata` says otherwise."""

    id: Id
    text: str
    metadata: dict[str, Any] = {}


class ChunkingOptions(Request, frozen=True, kw_only=True):
    """How documents are cut: characters a chunk at most, and how many of them the next one repeats at most."""

    max_characters: Annotated[int, Meta(ge=1, le=100_000)] = 700
    overlap: Annotated[int, Meta(ge=0, le=100_000)] = 0


class IngestRequest(Request, frozen=True, kw_only=True):
    """Documents to be cut, embedded and written into a collection, which is made if it does not exist.

    Attributes:
        documents: The documents, each id once.
        chunking: How to cut them; null means as the collection was cut, else 700 characters without overlap.
        replace: Make the collection anew where it was made with another embedder or chunking; implies `prune`.
        prune: Remove the documents that this request does not name.
        keep: Ids of documents that `prune` and `replace` leave alone though they are not sent.
        more: More documents follow in another request: nothing is removed yet, and no hash of the corpus is recorded.
    """

    documents: list[IngestDocument]
    chunking: ChunkingOptions | None = None
    replace: bool = False
    prune: bool = False
    keep: list[Id] = []
    more: bool = False


class SkippedDocument(Response, frozen=True, kw_only=True):
    """A document that was not written, and why."""

    id: str
    reason: str


class IngestCounts(Response, frozen=True, kw_only=True):
    """How many documents were written for the first time, written anew, left as they were, and removed."""

    added: int
    changed: int
    unchanged: int
    removed: int
    skipped: list[SkippedDocument]


class IngestResponse(Response, frozen=True, kw_only=True):
    """What was done, and what the collection is now.

    Attributes:
        collection: Its name.
        documents: What became of the documents.
        chunks: How many chunks the collection holds.
        embedder: What made its vectors.
        chunking: How its documents were cut.
        corpus: Hash over all documents in it; null while they are not complete.
        notes: What to know of the collection, as that some of its documents name no role and others do.
    """

    collection: str
    documents: IngestCounts
    chunks: int
    embedder: str
    chunking: str
    corpus: str | None
    notes: list[str] = []


class QuotedEvidence(Request, frozen=True, kw_only=True):
    """Evidence with its quote; sought in one document, or everywhere where none is named."""

    id: Id
    quote: str
    document: Id | None = None


class EvidenceMappingRequest(Request, frozen=True, kw_only=True):
    """Evidence to be found in the chunks of a collection, and chunk ids to be looked up in it."""

    evidence: list[QuotedEvidence] = []
    chunks: list[Id] = []


class EvidenceMappingResponse(Response, frozen=True, kw_only=True):
    """Where evidence was found.

    Attributes:
        evidence_mapping: By evidence id the chunks that hold its quote, in reading order.
        cut: Evidence whose quote no chunk holds whole; it maps to all chunks it was cut into.
        missing: Evidence whose quote is in no chunk.
        other_document: Of these, where the quote stands in another document than the one named.
        missing_chunks: The chunks asked for that the collection does not hold.
    """

    evidence_mapping: dict[str, list[str]]
    cut: list[str]
    missing: list[str]
    other_document: dict[str, str]
    missing_chunks: list[str]
