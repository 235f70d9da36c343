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
from befund.api.workers import Workers, unless_caller_goes
from befund.contract import RetrieveEvalRequest, RetrieveEvalResponse
from befund.telemetry import Telemetry
from befund.usecases.retrieve import evaluate_retrieval, search_wanted
from befund.usecases.search import Found, Searched, SearchParts, WantedSearch, as_sent, search


class RetrieveEvaluation(Struct, frozen=True):
    """A retrieval evaluation on its way: off the event loop, reported, and encoded."""

    workers: Workers
    telemetry: Telemetry
    parts: SearchParts
    searches: asyncio.Semaphore

    async def of(self, body: bytes, request: Request[Any, Any, Any]) -> Encoded[RetrieveEvalResponse]:
        """Evaluate one request when there is a place for it; search in between where it asks for a live search."""
        began = self.telemetry.clock()
        exchange = Exchange.of(request.scope)
        run = partial(self.workers.run, receive=request.receive)
        first = await run(partial(self._begin, body, exchange, began))
        if not isinstance(first, WantedSearch):
            return first
        found = await unless_caller_goes(self._search(first), request.receive)
        return await run(partial(self._finish, body, exchange, began, first, found))

    async def _search(self, wanted: WantedSearch) -> Found:
        async with self.searches:
            return await search(wanted, self.parts, clock=self.telemetry.clock)

    def _begin(self, body: bytes, exchange: Exchange, began: float) -> Encoded[RetrieveEvalResponse] | WantedSearch:
        """Evaluate rankings in one piece, for one thread, or read what has to be searched for."""
        return search_wanted(body) or self._evaluate(body, exchange, began)

    def _finish(
        self, body: bytes, exchange: Exchange, began: float, wanted: WantedSearch, found: Found
    ) -> Encoded[RetrieveEvalResponse]:
        return self._evaluate(body, exchange, began, as_sent(wanted, found))

    def _evaluate(
        self, body: bytes, exchange: Exchange, began: float, searched: Searched | None = None
    ) -> Encoded[RetrieveEvalResponse]:
        clock = self.telemetry.clock
        response = evaluate_retrieval(body, clock=clock, searched=searched)
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
        """Score rankings question by question: metrics with intervals, exclusions, findings, access leaks."""
        return await evaluation.of(data.json, request)
