"""POST /retrieve-eval."""

import asyncio
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
from befund.api.workers import Workers, unless_caller_goes, wait_on_loop
from befund.contract import Content, RetrieveEvalRequest, RetrieveEvalResponse
from befund.ports import Store
from befund.telemetry import Telemetry
from befund.usecases.recording import Recorder
from befund.usecases.repetition import AlreadyAnswered, Caller
from befund.usecases.retrieve import Begun, begin, evaluate
from befund.usecases.search import Found, SearchParts, WantedSearch, as_sent, search, wanted_search


class RetrieveEvaluation(Struct, frozen=True):
    """A retrieval evaluation on its way: off the event loop, reported, and encoded."""

    workers: Workers
    telemetry: Telemetry
    store: Store
    content: Content
    parts: SearchParts
    searches: asyncio.Semaphore

    async def of(self, body: bytes, request: Request[Any, Any, Any]) -> Encoded[RetrieveEvalResponse]:
        """Evaluate one request when there is a place for it; search in between where it asks for a live search."""
        exchange = Exchange.of(request.scope)
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        recorder = Recorder(self.store, self.content, wait_on_loop(), caller, self.telemetry.metrics.run_measured)
        run = partial(self.workers.run, receive=request.receive)
        began = self.telemetry.clock()
        try:
            first = await run(partial(self._begin, body, exchange, recorder, began))
            if isinstance(first, Encoded):
                return first
            begun, wanted = first
            found = await unless_caller_goes(self._search(wanted), request.receive)
            return await run(partial(self._finish, begun, wanted, found, exchange, began))
        except AlreadyAnswered as earlier:
            exchange.replayed = True
            return Encoded(earlier.answer)

    async def _search(self, wanted: WantedSearch) -> Found:
        async with self.searches:
            return await search(wanted, self.parts, clock=self.telemetry.clock)

    def _begin(
        self, body: bytes, exchange: Exchange, recorder: Recorder, began: float
    ) -> Encoded[RetrieveEvalResponse] | tuple[Begun, WantedSearch]:
        """Evaluate rankings in one piece, for one thread, or read what has to be searched for."""
        started = self.telemetry.clock()
        begun = begin(body, recorder=recorder)
        wanted = wanted_search(begun.request, begun.dataset)
        if wanted is not None:
            return begun, wanted
        return self._encoded(evaluate(begun, clock=self.telemetry.clock, started=started), exchange, began)

    def _finish(
        self, begun: Begun, wanted: WantedSearch, found: Found, exchange: Exchange, began: float
    ) -> Encoded[RetrieveEvalResponse]:
        clock = self.telemetry.clock
        response = evaluate(begun, clock=clock, started=clock(), searched=as_sent(wanted, found))
        return self._encoded(response, exchange, began)

    def _encoded(
        self, response: RetrieveEvalResponse, exchange: Exchange, began: float
    ) -> Encoded[RetrieveEvalResponse]:
        """Report what was measured, and encode it."""
        latency_ms = (self.telemetry.clock() - began) * 1000
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
        summary="Measure rankings, or a live search, against gold",
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
