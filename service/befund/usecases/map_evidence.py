"""Evidence found in a collection, and whether the collection holds what a data set counts on."""

import asyncio
from collections.abc import Iterator, Sequence

from befund.contract import EvidenceMappingRequest, EvidenceMappingResponse, QuotedEvidence
from befund.core.corpus import Chunk
from befund.core.errors import ContradictionError
from befund.core.evidence_mapping import Quoted, map_evidence
from befund.ports import Index, IndexedChunk


async def map_to_collection(index: Index, name: str, request: EvidenceMappingRequest) -> EvidenceMappingResponse:
    """Find quotes in the chunks of a collection.

    Raises:
        NotFoundError: There is no such collection.
        ContradictionError: Its chunks have no texts to look into, or an evidence id stands for two quotes.
        DependencyError: The index is down or damaged.
    """
    _refuse_contradictions(request)
    held = await index.held(name, request.chunks)
    indexed = await index.chunks(name) if request.evidence else []
    if indexed and all(chunk.text is None for chunk in indexed):
        raise ContradictionError(
            "no-texts",
            f"Collection {name!r} holds no texts to find quotes in (BEFUND_STORE_CONTENT=ids keeps none). "
            "Map them from the documents.",
        )
    quoted = [Quoted(id=each.id, quote=each.quote, document=each.document) for each in request.evidence]
    found = await asyncio.to_thread(lambda: map_evidence(quoted, placed(indexed)))
    return EvidenceMappingResponse(
        evidence_mapping=found.chunks,
        cut=found.cut,
        missing=found.missing,
        other_document=found.other_document,
        missing_chunks=[chunk for chunk in dict.fromkeys(request.chunks) if chunk not in held],
    )


def _refuse_contradictions(request: EvidenceMappingRequest) -> None:
    seen: dict[str, QuotedEvidence] = {}
    for i, each in enumerate(request.evidence):
        if seen.setdefault(each.id, each) != each:
            detail = f"Evidence {each.id!r} is given twice with different quotes. Keep one, or give it another id."
            raise ContradictionError.at(f"/evidence/{i}/id", "evidence-twice", detail)


def placed(chunks: Sequence[IndexedChunk]) -> Iterator[Chunk]:
    """Chunks with their place in the document; those that do not know it follow each other as they come."""
    ends: dict[str, int] = {}
    for chunk in chunks:
        if chunk.text is None:
            continue
        document = str(chunk.metadata.get("document", chunk.id))
        start, end = chunk.metadata.get("start"), chunk.metadata.get("end")
        if not isinstance(start, int) or not isinstance(end, int):
            start = ends.get(document, -1) + 1
            end = start + len(chunk.text)
        ends[document] = end
        yield Chunk(id=chunk.id, document=document, text=chunk.text, start=start, end=end)
