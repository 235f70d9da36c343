"""POST /judge and /judge/batch."""

from typing import Any

import msgspec
from litestar import Controller, Request, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec import Struct

from befund.api.auth import needs
from befund.api.body import ALSO_READS, Encoded
from befund.api.exchange import Exchange
from befund.api.problems import problem_of, problem_specs
from befund.api.repetition import idempotency_key
from befund.api.workers import unless_caller_goes
from befund.contract import (
    JudgeBatchRequest,
    JudgeBatchResponse,
    JudgeBatchResult,
    JudgeRequest,
    Judgment,
)
from befund.core.errors import BefundError
from befund.core.judge_batch import Batch, read_batch, read_lines
from befund.core.judge_tasks import Outcome
from befund.telemetry import Telemetry
from befund.usecases.judge import Judged, Judging
from befund.usecases.repetition import AlreadyAnswered, Caller

NDJSON = "application/x-ndjson"


class JudgeEvaluation(Struct, frozen=True):
    """Judges what a request sends, and reports it."""

    judging: Judging
    telemetry: Telemetry

    async def of(self, data: JudgeRequest, request: Request[Any, Any, Any]) -> Encoded[Judgment]:
        """Judge one answer; who goes away ends it."""
        exchange = Exchange.of(request.scope)
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        try:
            outcome = await unless_caller_goes(self.judging.one(data, caller), request.receive)
        except AlreadyAnswered as earlier:
            exchange.replayed = True
            return Encoded(earlier.answer)
        except BefundError as error:
            self._report([Outcome(None, error=error)], data.judge, data.run, exchange, "/judge")
            raise
        self._report([outcome], data.judge, data.run, exchange, "/judge")
        return Encoded(msgspec.json.encode(outcome.judgment))

    async def of_batch(self, batch: Batch, request: Request[Any, Any, Any]) -> Encoded[JudgeBatchResponse]:
        """Judge many answers; who goes away ends all of it."""
        exchange = Exchange.of(request.scope)
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        encoded = b""

        def encode(judged: Judged) -> bytes:
            nonlocal encoded
            results = [_result(place, outcome, request) for place, outcome in enumerate(judged.outcomes)]
            encoded = msgspec.json.encode(JudgeBatchResponse(results=results, summary=judged.summary))
            return encoded

        try:
            work = self.judging.many(batch.items, batch.options, caller, encode=encode)
            judged = await unless_caller_goes(work, request.receive)
        except AlreadyAnswered as earlier:
            exchange.replayed = True
            return Encoded(earlier.answer)
        self._report(judged.outcomes, batch.options.judge, batch.options.run, exchange, "/judge/batch")
        return Encoded(encoded)

    def _report(self, outcomes: list[Outcome], judge: str, run: str | None, exchange: Exchange, endpoint: str) -> None:
        about = {**exchange.log_fields(), "endpoint": endpoint}
        self.telemetry.judged(
            outcomes, judge=self.judging.judges.label(judge), run=run, caller=exchange.caller, request=about
        )


class JudgeController(Controller):
    """Judgments of single answers."""

    @post(
        "/judge",
        status_code=200,
        opt=needs("evaluate"),
        operation_id="judge",
        summary="Is an answer correct, faithful to its context, and the expected behaviour?",
        response_description="The verdicts, and the facts and claims they follow from",
        responses=problem_specs(400, 404, 408, 409, 413, 415, 422, 502, 503, 504),
    )
    async def judge(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[JudgeRequest],
        judgment: NamedDependency[JudgeEvaluation],
    ) -> Encoded[Judgment]:
        """Judge one answer. A judge that fails is an error, never a verdict.

        With `run`, the judgment is stored before the answer is sent. A repetition with the same `Idempotency-Key`
        within a day gets the same answer, with the header `Idempotency-Replayed: true`.
        """
        return await judgment.of(data, request)


class JudgeBatchController(Controller):
    """Judgments of many answers."""

    @post(
        "/judge/batch",
        status_code=200,
        opt=needs("evaluate") | {ALSO_READS: NDJSON},
        operation_id="judge_batch",
        summary="Judge many answers at once",
        response_description="What came of each answer, in request order, and the figures over all",
        responses=problem_specs(400, 404, 408, 409, 413, 415, 422, 503),
    )
    async def judge_batch(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[Encoded[JudgeBatchRequest]],
        judgment: NamedDependency[JudgeEvaluation],
    ) -> Encoded[JudgeBatchResponse]:
        """Judge up to 200 answers. One that cannot be read or judged fails alone, with its own problem.

        As `application/x-ndjson` the body is an answer a line, and what else can be said stands in the query, as
        `?judge=rules&dataset=teralune&run=main`. With `run`, all judgments are stored before the answer is sent.
        """
        return await judgment.of_batch(_batch(data.json, request), request)


def _batch(body: bytes, request: Request[Any, Any, Any]) -> Batch:
    if request.content_type[0].lower() != NDJSON:
        return read_batch(body)
    return read_lines(body, dict(request.query_params.items()))


def _result(place: int, outcome: Outcome, request: Request[Any, Any, Any]) -> JudgeBatchResult:
    problem = problem_of(request, outcome.error) if outcome.error is not None else None
    return JudgeBatchResult(index=place, judgment=outcome.judgment, problem=problem)
