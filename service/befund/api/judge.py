"""POST /judge and /judge/batch."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import msgspec
from litestar import Controller, Request, Response, post
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import JSONBody
from msgspec import Struct

from befund.api.auth import needs
from befund.api.body import Encoded, reads_itself
from befund.api.exchange import Exchange
from befund.api.problems import problem_of, problem_specs
from befund.api.repetition import idempotency_key
from befund.api.workers import unless_caller_goes
from befund.contract import (
    CalibrationRequest,
    CalibrationResponse,
    JobAnswer,
    JudgeBatchRequest,
    JudgeBatchResponse,
    JudgeBatchResult,
    JudgeOptions,
    JudgeRequest,
    Judgment,
    Problem,
)
from befund.core.errors import BefundError
from befund.core.jobs import Job, JobAbout
from befund.core.judge_batch import AT_ONCE, Batch, Lines, read_batch, read_options
from befund.core.judge_tasks import Outcome
from befund.telemetry import Telemetry
from befund.usecases.calibrate import calibrate
from befund.usecases.jobs import Jobs, described
from befund.usecases.judge import Judged, Judging, summary_of
from befund.usecases.repetition import AlreadyAnswered, Caller

NDJSON = "application/x-ndjson"
BATCH = "/judge/batch"


class About(TypedDict):
    """What is reported with answers, whatever came of them."""

    judge: str | None
    kept: Mapping[str, str | None]
    request: Mapping[str, object]


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
            self._report([Outcome(None, error=error)], data, exchange, "/judge")
            raise
        self._report([outcome], data, exchange, "/judge")
        return Encoded(msgspec.json.encode(outcome.judgment))

    async def of_batch(self, batch: Batch, request: Request[Any, Any, Any]) -> Encoded[JudgeBatchResponse]:
        """Judge many answers; who goes away ends all of it."""
        exchange = Exchange.of(request.scope)
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        encoded = b""

        def encode(judged: Judged) -> bytes:
            nonlocal encoded
            results = [_result(place, each, exchange.request_id) for place, each in enumerate(judged.outcomes)]
            encoded = msgspec.json.encode(JudgeBatchResponse(results=results, summary=judged.summary))
            return encoded

        try:
            work = self.judging.many(batch.items, batch.options, caller, encode=encode)
            judged = await unless_caller_goes(work, request.receive)
        except AlreadyAnswered as earlier:
            exchange.replayed = True
            return Encoded(earlier.answer)
        self._report(judged.outcomes, batch.options, exchange, "/judge/batch")
        return Encoded(encoded)

    async def of_calibration(self, data: CalibrationRequest, request: Request[Any, Any, Any]) -> CalibrationResponse:
        """Compare a judge with people; who goes away ends it."""
        exchange = Exchange.of(request.scope)
        done = await unless_caller_goes(calibrate(self.judging, data), request.receive)
        failed = [
            _result(place, outcome, exchange.request_id)
            for place, outcome in enumerate(done.outcomes)
            if outcome.judgment is None
        ]
        return CalibrationResponse(
            name=data.name,
            judge=done.judge,
            dimensions=done.dimensions,
            failed=failed,
            usage=summary_of(done.outcomes).usage,
            groups=done.groups,
            confidence=data.confidence,
            votes=data.votes,
        )

    def of_job(self, job: Job, outcomes: Sequence[Outcome]) -> None:
        """Report some answers of a job."""
        self.telemetry.judged(
            outcomes, **self._about(job.about.options, _request_of(job)), caller=job.caller, of=job.total
        )

    def of_job_end(self, job: Job, *, answers: int, failed: int) -> None:
        """Report what was judged of a job by this process."""
        self.telemetry.many_judged(answers, failed, **self._about(job.about.options, _request_of(job)), of=job.total)

    def _report(
        self, outcomes: list[Outcome], options: JudgeRequest | JudgeOptions, exchange: Exchange, endpoint: str
    ) -> None:
        request = {**exchange.log_fields(), "endpoint": endpoint}
        self.telemetry.judged(outcomes, **self._about(options, request), caller=exchange.caller)

    def _about(self, options: JudgeRequest | JudgeOptions, request: Mapping[str, object]) -> About:
        return {
            "judge": self.judging.judges.label(options.judge),
            "kept": {"run": options.run, "monitor": options.monitor},
            "request": request,
        }


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
        within a day gets the same answer, with the header `Idempotency-Replayed: true`. With `monitor` likewise; it is
        appended to, one judgment after the other.
        """
        return await judgment.of(data, request)


class JudgeBatchController(Controller):
    """Judgments of many answers."""

    @post(
        "/judge/batch",
        status_code=200,
        opt=needs("evaluate") | reads_itself(JudgeBatchRequest, NDJSON),
        operation_id="judge_batch",
        summary="Judge many answers at once",
        responses={
            200: ResponseSpec(JudgeBatchResponse, generate_examples=False, description="What came of each answer"),
            202: ResponseSpec(JobAnswer, generate_examples=False, description="A job; `Location` says where it is"),
            **problem_specs(400, 404, 408, 409, 413, 415, 422, 503),
        },
    )
    async def judge_batch(
        self,
        request: Request[Any, Any, Any],
        judgment: NamedDependency[JudgeEvaluation],
        jobs: NamedDependency[Jobs],
    ) -> Response[bytes]:
        """Judge up to 200 answers. One that cannot be read or judged fails alone, with its own problem.

        More answers, up to 10,000, and any number with `Prefer: respond-async`, become a job, which goes on where it
        was when the service is killed in the middle; the answer is 202 and says where the job is.

        As `application/x-ndjson` the body is an answer a line, and what else can be said stands in the query, as
        `?judge=rules&dataset=teralune&run=main`. With `run` or `monitor`, all judgments are stored before the answer is
        sent.
        """
        batch = await _read(request)
        if not _wants_job(batch, request):
            answer = await judgment.of_batch(batch, request)
            return Response(answer.json, media_type="application/json")
        exchange = Exchange.of(request.scope)
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        about = JobAbout(options=batch.options, request_id=exchange.request_id, trace_id=exchange.trace_id)
        job = described(await jobs.put(batch.items, batch.options, caller, about))
        headers = {"Location": f"/jobs/{job.id}"}
        return Response(msgspec.json.encode(job), status_code=202, media_type="application/json", headers=headers)


async def _read(request: Request[Any, Any, Any]) -> Batch:
    """Read a batch; lines as they arrive, so that they are held once."""
    if request.content_type[0].lower() != NDJSON:
        return read_batch(await request.body())
    options, lines = read_options(dict(request.query_params.items())), Lines()
    async for piece in request.stream():
        lines.feed(piece)
    return Batch(lines.end(), options)


def _request_of(job: Job) -> dict[str, object]:
    about = job.about
    return {"request_id": about.request_id, "trace_id": about.trace_id, "endpoint": BATCH, "job": job.id}


def _result(place: int, outcome: Outcome, request_id: str) -> JudgeBatchResult:
    problem = None if outcome.error is None else item_problem(outcome.error, request_id)
    return JudgeBatchResult(index=place, judgment=outcome.judgment, problem=problem)


def item_problem(error: BefundError, request_id: str) -> Problem:
    """What is wrong with one answer of a batch, or with a job."""
    return problem_of(error, instance=BATCH, request_id=request_id)


def _wants_job(batch: Batch, request: Request[Any, Any, Any]) -> bool:
    preferences = ",".join(request.headers.getall("prefer", [])).lower().split(",")
    return len(batch.items) > AT_ONCE or "respond-async" in {each.strip() for each in preferences}
