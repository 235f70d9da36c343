"""POST /diagnose and /diagnose/batch."""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Controller, Request, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec import Struct

from befund.api.auth import needs
from befund.api.body import Encoded
from befund.api.exchange import Exchange
from befund.api.problems import problem_of, problem_specs
from befund.api.repetition import idempotency_key
from befund.api.workers import unless_caller_goes
from befund.contract import (
    DiagnoseBatchRequest,
    DiagnoseBatchResponse,
    DiagnoseBatchResult,
    DiagnoseRequest,
    Diagnosis,
)
from befund.core.diagnosis.batch import DiagnoseBatch, read_diagnose_batch
from befund.core.diagnosis.cases import Diagnosed
from befund.core.errors import BefundError
from befund.telemetry import Telemetry
from befund.usecases.diagnose import DiagnosedTogether, Diagnosing
from befund.usecases.repetition import AlreadyAnswered, Caller

ONE, BATCH = "/diagnose", "/diagnose/batch"


class DiagnoseEvaluation(Struct, frozen=True):
    """Diagnoses what a request sends, and reports it."""

    diagnosing: Diagnosing
    telemetry: Telemetry

    async def of(self, data: DiagnoseRequest, request: Request[Any, Any, Any]) -> Encoded[Diagnosis]:
        """Diagnose one answer; who goes away ends it."""
        exchange, began = Exchange.of(request.scope), self.telemetry.clock()
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        judge = data.judge or "default"
        try:
            found = await unless_caller_goes(self.diagnosing.one(data, caller), request.receive)
        except AlreadyAnswered as earlier:
            exchange.replayed = True
            return Encoded(earlier.answer)
        except BefundError as error:
            self._report([Diagnosed(sent=data, error=error)], judge, data.run, exchange, ONE, began)
            raise
        self._report([found], judge, data.run, exchange, ONE, began)
        return Encoded(msgspec.json.encode(found.diagnosis))

    async def of_batch(self, batch: DiagnoseBatch, request: Request[Any, Any, Any]) -> Encoded[DiagnoseBatchResponse]:
        """Diagnose many answers; who goes away ends all of it."""
        exchange, began = Exchange.of(request.scope), self.telemetry.clock()
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        encoded = b""

        def encode(together: DiagnosedTogether) -> bytes:
            nonlocal encoded
            results = [_result(place, each, exchange.request_id) for place, each in enumerate(together.found)]
            encoded = msgspec.json.encode(DiagnoseBatchResponse(results=results, summary=together.summary))
            return encoded

        try:
            work = self.diagnosing.many(batch.items, batch.options, caller, encode=encode)
            found = await unless_caller_goes(work, request.receive)
        except AlreadyAnswered as earlier:
            exchange.replayed = True
            return Encoded(earlier.answer)
        self._report(found.found, batch.options.judge, batch.options.run, exchange, BATCH, began)
        return Encoded(encoded)

    def _report(
        self,
        found: Sequence[Diagnosed],
        judge: str,
        run: str | None,
        exchange: Exchange,
        endpoint: str,
        began: float,
    ) -> None:
        self.telemetry.diagnosed(
            found,
            judge=self.diagnosing.judging.judges.label(judge),
            run=run,
            caller=exchange.caller,
            request={**exchange.log_fields(), "endpoint": endpoint},
            latency_ms=(self.telemetry.clock() - began) * 1000,
        )


class DiagnoseController(Controller):
    """Diagnoses of single answers."""

    @post(
        ONE,
        status_code=200,
        opt=needs("evaluate"),
        operation_id="diagnose",
        summary="Where did an answer go wrong?",
        response_description="Class, cause, the stages from question to answer, and what to do first",
        responses=problem_specs(400, 404, 408, 409, 413, 415, 422, 502, 503, 504),
    )
    async def diagnose(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[DiagnoseRequest],
        diagnosis: NamedDependency[DiagnoseEvaluation],
    ) -> Encoded[Diagnosis]:
        """Diagnose one answer from its context; with `collection`, look into the index for where its evidence was lost.

        A `judgment` that is sent is taken as it is, otherwise the judge is asked. With `run`, diagnosis and judgment
        are stored before the answer is sent, and its ranking and its judgment of the very same answer are used where
        nothing else is sent.
        """
        return await diagnosis.of(data, request)


class DiagnoseBatchController(Controller):
    """Diagnoses of many answers."""

    @post(
        BATCH,
        status_code=200,
        opt=needs("evaluate"),
        operation_id="diagnose_batch",
        summary="Diagnose many answers at once",
        response_description="What came of each answer, and what to do first over all",
        responses=problem_specs(400, 404, 408, 409, 413, 415, 422, 503),
    )
    async def diagnose_batch(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[Encoded[DiagnoseBatchRequest]],
        diagnosis: NamedDependency[DiagnoseEvaluation],
    ) -> Encoded[DiagnoseBatchResponse]:
        """Diagnose up to 1,000 answers. One that cannot be read or judged fails alone, with its own problem.

        What holds for all stands beside `items`; an item may say otherwise about data set, collection, `top_k`,
        `where`, embedder and judge. `summary` is that of a run, its causes the most frequent first.
        """
        return await diagnosis.of_batch(read_diagnose_batch(data.json), request)


def _result(place: int, found: Diagnosed, request_id: str) -> DiagnoseBatchResult:
    problem = None if found.error is None else problem_of(found.error, instance=BATCH, request_id=request_id)
    return DiagnoseBatchResult(index=place, diagnosis=found.diagnosis, problem=problem)
