"""POST /runs/{name}/rejudge."""

from typing import Any

import msgspec
from litestar import Controller, Request, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from befund.api.auth import needs
from befund.api.body import Encoded
from befund.api.exchange import Exchange
from befund.api.judge import JudgeEvaluation, item_problem
from befund.api.problems import problem_specs
from befund.api.repetition import idempotency_key
from befund.api.workers import unless_caller_goes
from befund.contract import JudgeBatchResult, RejudgeRequest, RunRejudged
from befund.core.judge_tasks import Outcome
from befund.usecases.judge import summary_of
from befund.usecases.rejudge import Rejudged, Rejudging
from befund.usecases.repetition import AlreadyAnswered, Caller
from befund.usecases.runs import Runs


class RejudgeController(Controller):
    """The answers of stored runs under another judge."""

    @post(
        "/runs/{name:str}/rejudge",
        status_code=200,
        opt=needs("evaluate"),
        operation_id="rejudge_run",
        summary="The answers of a run under another judge",
        response_description="What was judged, which answers could not be, and the figures",
        responses=problem_specs(400, 404, 408, 409, 413, 415, 422, 503),
    )
    async def rejudge(
        self,
        request: Request[Any, Any, Any],
        name: FromPath[str],
        data: JSONBody[RejudgeRequest],
        runs: NamedDependency[Runs],
        judgment: NamedDependency[JudgeEvaluation],
    ) -> Encoded[RunRejudged]:
        """Judge the stored answers of a run anew, and keep the judgments in another run beside what retrieval found.

        So an old run is compared with a new one under the same judge and rubric. Texts must be kept.
        """
        exchange = Exchange.of(request.scope)
        caller = Caller(exchange.caller, idempotency_key(request.headers))
        rejudging = Rejudging(runs, judgment.judging)
        encoded = b""

        def encode(done: Rejudged) -> bytes:
            nonlocal encoded
            encoded = msgspec.json.encode(_answer(data.run, done, exchange))
            return encoded

        try:
            work = rejudging.rejudge(name, data, caller, encode=encode)
            done = await unless_caller_goes(work, request.receive)
        except AlreadyAnswered as earlier:
            exchange.replayed = True
            return Encoded(earlier.answer)
        judgment.telemetry.judged(
            done.outcomes,
            judge=judgment.judging.judges.label(data.judge),
            kept={"run": data.run},
            caller=exchange.caller,
            request={**exchange.log_fields(), "endpoint": "/runs/{name}/rejudge"},
        )
        return Encoded(encoded)


def _answer(run: str, done: Rejudged, exchange: Exchange) -> RunRejudged:
    return RunRejudged(
        run=run,
        judged=sum(outcome.judgment is not None for outcome in done.outcomes),
        without_answer=list(done.without_answer),
        failed=[_failed(place, each, exchange) for place, each in enumerate(done.outcomes) if each.judgment is None],
        summary=summary_of(done.outcomes),
    )


def _failed(place: int, outcome: Outcome, exchange: Exchange) -> JudgeBatchResult:
    problem = None if outcome.error is None else item_problem(outcome.error, exchange.request_id)
    return JudgeBatchResult(index=place, judgment=None, problem=problem)
