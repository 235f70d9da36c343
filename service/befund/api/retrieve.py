"""POST /retrieve-eval."""

from functools import partial
from typing import Any

import msgspec
from litestar import Controller, Request, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec import Struct

from befund.api.auth import needs
from befund.api.body import Encoded
from befund.api.exchange import Exchange
from befund.api.problems import problem_specs
from befund.api.repetition import idempotency_key
from befund.api.workers import Workers, wait_on_loop
from befund.contract import Content, RetrieveEvalRequest, RetrieveEvalResponse
from befund.ports import Store
from befund.telemetry import Telemetry
from befund.usecases.recording import AlreadyAnswered, Caller, Recorder
from befund.usecases.retrieve import evaluate_retrieval


class RetrieveEvaluation(Struct, frozen=True):
    """A retrieval evaluation on its way: off the event loop, reported, and encoded."""

    workers: Workers
    telemetry: Telemetry
    store: Store
    content: Content

    async def of(self, body: bytes, request: Request[Any, Any, Any]) -> Encoded[RetrieveEvalResponse]:
        """Evaluate one request when there is a place for it."""
        exchange = Exchange.of(request.scope)
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        recorder = Recorder(self.store, self.content, wait_on_loop(), caller, self.telemetry.metrics.run_measured)
        work = partial(self._evaluate, body, exchange, recorder)
        return await self.workers.run(work, receive=request.receive)

    def _evaluate(self, body: bytes, exchange: Exchange, recorder: Recorder) -> Encoded[RetrieveEvalResponse]:
        """Do everything that takes time in one piece, for one thread."""
        clock = self.telemetry.clock
        began = clock()
        try:
            response = evaluate_retrieval(body, clock=clock, recorder=recorder)
        except AlreadyAnswered as earlier:
            exchange.replayed = True
            return Encoded(earlier.answer)
        latency_ms = (clock() - began) * 1000
        about = {**exchange.log_fields(), "endpoint": "/retrieve-eval"}
        self.telemetry.retrieval_evaluated(response, request=about, latency_ms=latency_ms)
        return Encoded(msgspec.json.encode(response))


class RetrieveController(Controller):
    """Retrieval evaluation."""

    @post(
        "/retrieve-eval",
        status_code=200,
        opt=needs("evaluate"),
        operation_id="retrieve_eval",
        summary="Measure rankings against gold",
        response_description="What was measured, and which questions could not be",
        responses=problem_specs(400, 404, 408, 409, 413, 415, 422, 503),
    )
    async def retrieve_eval(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[Encoded[RetrieveEvalRequest]],
        evaluation: NamedDependency[RetrieveEvaluation],
    ) -> Encoded[RetrieveEvalResponse]:
        """Score rankings question by question: metrics with intervals, exclusions, findings, access leaks.

        With `run`, every question's result is stored before the answer is sent. A repetition with the same
        `Idempotency-Key` within a day gets the same answer, with the header `Idempotency-Replayed: true`.
        """
        return await evaluation.of(data.json, request)
