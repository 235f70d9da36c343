"""POST /collections/{name}/documents and /collections/{name}/evidence-mapping: documents in, evidence found."""

from typing import Any

import structlog
from litestar import Controller, Request, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from befund.api.auth import needs, refuse_without_admin
from befund.api.body import MIB
from befund.api.exchange import Exchange
from befund.api.problems import problem_specs
from befund.contract import EvidenceMappingRequest, EvidenceMappingResponse, IngestRequest, IngestResponse
from befund.usecases.ingest import Ingestion
from befund.usecases.map_evidence import map_to_collection
from befund.usecases.search import SearchParts

DOCUMENTS_BODY_BYTES = 32 * MIB


class DocumentsController(Controller):
    """Documents of collections."""

    path = "/collections/{name:str}"

    @post(
        "/documents",
        status_code=200,
        opt=needs("evaluate"),
        operation_id="ingest",
        summary="Write documents into a collection",
        response_description="What was written, and what the collection holds now",
        responses=problem_specs(400, 408, 409, 413, 415, 422, 503),
    )
    async def ingest(
        self,
        request: Request[Any, Any, Any],
        name: FromPath[str],
        data: JSONBody[IngestRequest],
        ingestion: NamedDependency[Ingestion],
    ) -> IngestResponse:
        """Cut, embed and write the documents that changed; a collection that does not exist is made."""
        for option in ("replace", "prune"):
            if getattr(data, option):
                refuse_without_admin(Exchange.of(request.scope), option)
        answer = await ingestion.ingest(name, data)
        done = answer.documents
        structlog.get_logger().info(
            "ingested",
            **Exchange.of(request.scope).log_fields(),
            collection=name,
            added=done.added,
            changed=done.changed,
            unchanged=done.unchanged,
            removed=done.removed,
            skipped=len(done.skipped),
        )
        return answer

    @post(
        "/evidence-mapping",
        status_code=200,
        opt=needs("evaluate"),
        operation_id="map_evidence",
        summary="Find evidence in the chunks of a collection",
        response_description="The chunks that hold each quote, and what was not found",
        responses=problem_specs(400, 404, 408, 413, 415, 422, 503),
    )
    async def map_evidence(
        self, name: FromPath[str], data: JSONBody[EvidenceMappingRequest], parts: NamedDependency[SearchParts]
    ) -> EvidenceMappingResponse:
        """Map evidence to chunks by its quotes, whitespace folded, and say which chunks are not there."""
        return await map_to_collection(parts.index, name, data)
