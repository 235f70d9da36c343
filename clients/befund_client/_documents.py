"""Documents on their way into a collection: in requests of a bounded size, answered as if they were one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from befund.contract import (
    ChunkingOptions,
    Dataset,
    EvidenceMappingRequest,
    EvidenceMappingResponse,
    IngestCounts,
    IngestDocument,
    IngestResponse,
    QuotedEvidence,
)
from befund_client._exchange import Call
from befund_client._files.source import Loaded

EvidenceLike = Iterable[QuotedEvidence] | Dataset | Loaded[Dataset]
DocumentLike = IngestDocument | Mapping[str, Any]
Progress = Callable[[int], object]
"""Told how many more documents are done."""

BYTES_A_REQUEST = 4 * 1024 * 1024
DOCUMENTS_A_REQUEST = 1_000


class IngestCall(msgspec.Struct, frozen=True):
    """One request of an ingestion and how many documents it brings."""

    call: Call[IngestResponse]
    documents: int


def ingest_calls(
    collection: str,
    documents: Iterable[DocumentLike],
    *,
    chunking: ChunkingOptions | None,
    replace: bool,
    prune: bool,
) -> Iterator[IngestCall]:
    """The requests that bring all documents, in order; the last says which documents came before it.

    Raises:
        TypeError: A document is none.
        ValueError: Two documents have one id.
    """
    before: list[str] = []
    for ids, encoded, is_last in _batches(documents):
        body: dict[str, Any] = {"documents": encoded}
        if chunking is not None:
            body["chunking"] = chunking
        if replace and not before:
            body["replace"] = True
        if not is_last:
            body["more"] = True
        elif replace or prune:
            body |= {"prune": True, "keep": before}
        call = Call(
            method="POST",
            path=f"/collections/{quote(collection, safe='')}/documents",
            content=msgspec.json.encode(body),
            read=msgspec.json.Decoder(IngestResponse).decode,
        )
        yield IngestCall(call, len(ids))
        before += ids


def together(answers: Sequence[IngestResponse]) -> IngestResponse:
    """The answers of one ingestion as one: what was done adds up, what the collection is the last one says."""
    counts = [answer.documents for answer in answers]
    return msgspec.structs.replace(
        answers[-1],
        documents=IngestCounts(
            added=sum(each.added for each in counts),
            changed=sum(each.changed for each in counts),
            unchanged=sum(each.unchanged for each in counts),
            removed=sum(each.removed for each in counts),
            skipped=[skipped for each in counts for skipped in each.skipped],
        ),
        notes=list(dict.fromkeys(note for answer in answers for note in answer.notes)),
    )


def map_evidence_call(collection: str, evidence: EvidenceLike, chunks: Iterable[str]) -> Call[EvidenceMappingResponse]:
    """POST /collections/{name}/evidence-mapping.

    Raises:
        TypeError: The evidence is neither a data set nor a list of `QuotedEvidence`.
    """
    return Call(
        method="POST",
        path=f"/collections/{quote(collection, safe='')}/evidence-mapping",
        content=msgspec.json.encode(EvidenceMappingRequest(evidence=_quoted(evidence), chunks=list(chunks))),
        read=msgspec.json.Decoder(EvidenceMappingResponse).decode,
    )


def _quoted(given: EvidenceLike) -> list[QuotedEvidence]:
    """Evidence with its quote; of a data set all that has one, each id once."""
    dataset = given.value if isinstance(given, Loaded) else given
    if isinstance(dataset, Dataset):
        of_dataset = {each.id: each for question in dataset.questions for each in question.evidence}
        return [
            QuotedEvidence(id=each.id, quote=each.quote, document=each.document)
            for each in of_dataset.values()
            if each.quote and each.quote.strip()
        ]
    listed = list(dataset) if isinstance(dataset, Iterable) else [dataset]
    for each in listed:
        if not isinstance(each, QuotedEvidence):
            raise TypeError(f"evidence is a data set or a list of QuotedEvidence, not {type(each).__name__}")
    return listed


def _document(given: DocumentLike) -> IngestDocument:
    if isinstance(given, IngestDocument):
        return given
    try:
        return msgspec.convert(dict(given), IngestDocument)
    except (msgspec.ValidationError, ValueError) as error:
        raise TypeError(f"not a document: {error}") from error


def _batches(documents: Iterable[DocumentLike]) -> Iterator[tuple[list[str], list[msgspec.Raw], bool]]:
    """Ids and documents as JSON, as many a request as fit, and whether they are the last; at least one batch."""
    seen: set[str] = set()
    ids: list[str] = []
    batch: list[msgspec.Raw] = []
    size = 0
    for given in documents:
        document = _document(given)
        if document.id in seen:
            raise ValueError(f"document {document.id!r} is given twice; keep one")
        seen.add(document.id)
        encoded = msgspec.json.encode(document)
        if batch and (len(batch) == DOCUMENTS_A_REQUEST or size + len(encoded) > BYTES_A_REQUEST):
            yield ids, batch, False
            ids, batch, size = [], [], 0
        ids.append(document.id)
        batch.append(msgspec.Raw(encoded))
        size += len(encoded)
    yield ids, batch, True
