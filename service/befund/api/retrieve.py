"""POST /retrieve-eval."""

from functools import partial
from typing import Any

import msgspec
from litestar import Controller, Request, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from befund.api.auth import needs
from befund.api.body import Encoded
from befund.api.exchange import Exchange
from befund.api.problems import problem_specs
from befund.api.workers import Workers
from befund.contract import RetrieveEvalRequest, RetrieveEvalResponse
from befund.telemetry import Telemetry
from befund.usecases.retrieve import evaluate_retrieval


class RetrieveController(Controller):
    """Retrieval evaluation."""

    @post(
        "/retrieve-eval",
        status_code=200,
        opt=needs("evaluate"),
        operation_id="retrieve_eval",
        summary="Measure rankings against gold",
        response_description="What was measured, and which questions could not be",
        responses=problem_specs(400, 404, 408, 413, 415, 422, 503),
    )
    async def retrieve_eval(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[Encoded[RetrieveEvalRequest]],
        workers: NamedDependency[Workers],
        telemetry: NamedDependency[Telemetry],
    ) -> Encoded[RetrieveEvalResponse]:
        """Score rankings question by question: metrics with intervals, exclusions, findings, access leaks."""
        work = partial(evaluate, data.json, exchange=Exchange.of(request.scope), telemetry=telemetry)
        return await workers.run(work, size=len(data.json), receive=request.receive)


def evaluate(body: bytes, *, exchange: Exchange, telemetry: Telemetry) -> Encoded[RetrieveEvalResponse]:
    """Evaluate, report and encode: everything that takes time, in one piece for one thread."""
    began = telemetry.clock()
    response = evaluate_retrieval(body, clock=telemetry.clock)
    latency_ms = (telemetry.clock() - began) * 1000
    telemetry.retrieval_evaluated(
        response, request={**exchange.log_fields(), "endpoint": "/retrieve-eval"}, latency_ms=latency_ms
    )
    return Encoded(msgspec.json.encode(response))
