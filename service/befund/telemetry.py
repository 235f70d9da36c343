"""Every Prometheus metric, the logging set-up, and the log lines that say what was evaluated.

Labels come from closed or configured sets: the service's own routes and methods, the names of configured keys, the
stages named here. Nothing a caller sends becomes a label.
"""

import logging
import sys
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TextIO, cast, get_args

import msgspec
import structlog
from msgspec import Struct
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from befund.contract import (
    CauseCode,
    CompareResponse,
    Diagnosis,
    DiagnosisClass,
    JobState,
    Judgment,
    QuestionResult,
    RetrieveEvalResponse,
    RetrieveTimings,
    Verdict,
)
from befund.core.configured import RULES, Judges
from befund.core.diagnosis.cases import Diagnosed
from befund.core.jobs import JobCounts
from befund.core.judge_tasks import ACL_LEAK, Outcome
from befund.core.judged_tally import Mark
from befund.core.runs import Figures
from befund.core.voting import DIMENSIONS
from befund.judge_metrics import JudgeMetrics
from befund.log_lines import LogLines
from befund.settings import LogLevel, LogQuestions

ANONYMOUS = "anonymous"
UNMATCHED = "unmatched"
OTHER_METHOD = "OTHER"
INLINE = "inline"
"""Stands for the name of a data set that was sent with the request: its own name may be anything."""
SHOWN_CUTOFFS = frozenset({"", "1", "3", "5", "10", "20", "50", "100", "1000"})
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
METRICS_MEDIA_TYPE = CONTENT_TYPE_LATEST.partition("; charset=")[0]
"""Litestar adds the charset to every text."""

VERDICTS = get_args(Mark)
NO_VERDICT = "none"
"""Stands for the verdict of a comparison without gates."""
NO_CAUSE = "none"
LOGGED_ONE_BY_ONE = 100
"""Up to so many questions are logged a line each unless every question is to be."""

Log = Callable[..., object]
"""Takes an event name and its fields."""

_HTTP_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_STAGE_SECONDS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
_QUIET_LOGGERS = ("aiosqlite", "alembic", "chromadb", "httpcore", "httpcore2", "httpx", "httpx2", "openai")


class Metrics:
    """The service's metrics on a registry of their own, so that two services in one process do not mix.

    Args:
        version: The version the service reports.
        routes: Route templates with the methods and the success status of each.
        callers: Names of the configured keys.
        judges: Which judges there are.
        dropped_log_lines: Gives how many log lines could not be written.
        runs: Names of the runs whose figures are shown.
    """

    def __init__(
        self,
        *,
        version: str,
        routes: Iterable[tuple[str, str, int]],
        callers: Iterable[str],
        judges: Judges | None = None,
        dropped_log_lines: Callable[[], int] = lambda: 0,
        runs: Iterable[str] = (),
    ) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.registry.register(_DroppedLogLines(dropped_log_lines))
        self._http_duration = Histogram(
            "befund_http_request_duration_seconds",
            "Time from the request's first byte to the answer's last.",
            ("route", "method", "status"),
            buckets=_HTTP_SECONDS,
            registry=self.registry,
        )
        self._http_requests = Counter(
            "befund_http_requests",
            "Requests answered.",
            ("route", "method", "status", "caller"),
            registry=self.registry,
        )
        self._retrieval_duration = Histogram(
            "befund_retrieval_duration_seconds",
            "Time of one stage of a retrieval evaluation.",
            ("stage",),
            buckets=_STAGE_SECONDS,
            registry=self.registry,
        )
        self._judgments = Counter(
            "befund_judgments",
            "Verdicts by judge and dimension; those not reached say why.",
            ("judge", "dimension", "verdict", "caller"),
            registry=self.registry,
        )
        self._diagnoses = Counter(
            "befund_diagnoses",
            "Diagnosed answers by class and cause; `none` on a clean success.",
            ("diagnosis", "cause"),
            registry=self.registry,
        )
        self._jobs = Gauge("befund_jobs", "Jobs that are kept, by state.", ("state",), registry=self.registry)
        self._oldest_job = Gauge(
            "befund_queue_oldest_job_age_seconds",
            "How long the oldest job that nobody works on has waited.",
            registry=self.registry,
        )
        self._acl_leaks = Counter(
            "befund_acl_leaks",
            "Evaluated questions whose role may not read a chunk that was retrieved, or given to the generator.",
            registry=self.registry,
        )
        self._comparisons = Counter(
            "befund_comparisons", "Comparisons by verdict.", ("verdict",), registry=self.registry
        )
        self._runs = frozenset(runs)
        self._retrieval_metric = Gauge(
            "befund_retrieval_metric",
            "Mean of a retrieval metric at the last write to a run that is shown.",
            ("dataset", "split", "run", "metric"),
            registry=self.registry,
        )
        build_info = Gauge("befund_build_info", "The running version.", ("version",), registry=self.registry)
        build_info.labels(version).set(1)
        judges = judges or Judges()
        self.judges = JudgeMetrics(self.registry, judges)
        self._start_at_zero(routes, (ANONYMOUS, *callers), (RULES, *(judge.name for judge in judges.every)))

    def http_request(self, *, route: str, method: str, status: int, caller: str, seconds: float) -> None:
        """Count one answered request."""
        self._http_duration.labels(route, method, status).observe(seconds)
        self._http_requests.labels(route, method, status, caller).inc()

    def retrieval(self, response: RetrieveEvalResponse) -> None:
        """Count one retrieval evaluation: its stages and the questions with an access leak."""
        for stage, milliseconds in _stages(response.timings):
            if milliseconds is not None:
                self._retrieval_duration.labels(stage).observe(milliseconds / 1000)
        self._acl_leaks.inc(_questions_with_leak(response))

    def judged(self, judgment: Judgment, *, caller: str) -> None:
        """Count one judgment, and its access leak."""
        for dimension in DIMENSIONS:
            verdict: bool | None = getattr(judgment, dimension)
            status: str = getattr(judgment.status, dimension)
            label = status if verdict is None else str(verdict).lower()
            self._judgments.labels(judgment.judge.name, dimension, label, caller).inc()
        self._acl_leaks.inc(ACL_LEAK in judgment.flags)

    def not_judged(self, judge: str, *, caller: str) -> None:
        """Count one answer that got no judgment."""
        for dimension in DIMENSIONS:
            self._judgments.labels(judge, dimension, "failed", caller).inc()

    def diagnosed(self, diagnosis: Diagnosis) -> None:
        """Count one diagnosis."""
        cause = NO_CAUSE if diagnosis.cause is None else diagnosis.cause.code
        self._diagnoses.labels(diagnosis.diagnosis, cause).inc()

    def jobs(self, counts: JobCounts) -> None:
        """Show how many jobs there are."""
        for state in get_args(JobState):
            self._jobs.labels(state).set(counts.by_state.get(state, 0))
        self._oldest_job.set(counts.oldest_seconds)

    def compared(self, verdict: Verdict | None) -> None:
        """Count one comparison."""
        self._comparisons.labels(verdict or NO_VERDICT).inc()

    def run_measured(self, figures: Figures) -> None:
        """Show the figures of a run, if it is one of those to be shown, at the cutoffs that are shown."""
        if figures.run not in self._runs:
            return
        dataset = INLINE if figures.dataset is None else figures.dataset
        split = "all" if figures.split is None else figures.split if figures.dataset else "selected"
        for metric, estimate in figures.metrics.items():
            if estimate.value is not None and metric.partition("@")[2] in SHOWN_CUTOFFS:
                self._retrieval_metric.labels(dataset, split, figures.run, metric).set(estimate.value)

    def exposition(self) -> bytes:
        """Everything in the Prometheus text format."""
        return generate_latest(self.registry)

    def _start_at_zero(
        self, routes: Iterable[tuple[str, str, int]], names: Sequence[str], judges: Sequence[str]
    ) -> None:
        self.jobs(JobCounts({}, 0.0))
        for diagnosis, cause in product(get_args(DiagnosisClass), (*get_args(CauseCode), NO_CAUSE)):
            self._diagnoses.labels(diagnosis, cause)
        for judge, dimension, verdict, caller in product(judges, DIMENSIONS, VERDICTS, names):
            self._judgments.labels(judge, dimension, verdict, caller)
        for route, method, success in routes:
            for status in (success, 500):
                self._http_duration.labels(route, method, status)
                for caller in names:
                    self._http_requests.labels(route, method, status, caller)
        for verdict in (*get_args(Verdict), NO_VERDICT):
            self._comparisons.labels(verdict)
        for stage in ("embed", "search", "score"):
            self._retrieval_duration.labels(stage)


class _DroppedLogLines(Collector):
    """Reads its figure where it is kept, since lines are dropped before and after the registry lives."""

    def __init__(self, dropped: Callable[[], int]) -> None:
        self._dropped = dropped

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(
            "befund_log_lines_dropped", "Log lines that could not be written.", value=self._dropped()
        )


class Telemetry(Struct, frozen=True):
    """What reports an evaluation: to Prometheus, and to the log."""

    metrics: Metrics
    clock: Callable[[], float]
    log_questions: LogQuestions = "summary"

    def retrieval_evaluated(
        self, response: RetrieveEvalResponse, *, request: Mapping[str, object], latency_ms: float
    ) -> None:
        """Count a retrieval evaluation and log its questions."""
        self.metrics.retrieval(response)
        log = structlog.get_logger().info
        log_retrieval(log, response, log_questions=self.log_questions, request=request, latency_ms=latency_ms)

    def judged(
        self,
        outcomes: Sequence[Outcome],
        *,
        judge: str | None,
        kept: Mapping[str, str | None],
        caller: str,
        request: Mapping[str, object],
        of: int | None = None,
    ) -> None:
        """Count judged answers and log them: a line each, or one for all where they are many.

        Args:
            outcomes: What came of the answers.
            judge: Who judged; None where there is no such judge.
            kept: Names of the run and the monitor they are kept in.
            caller: Who asked.
            request: What identifies the request: its id, trace and endpoint.
            of: How many the request has, where these are not all; `many_judged` is then for whoever has all of them.
        """
        for outcome in outcomes:
            if outcome.judgment is None and judge is not None:
                self.metrics.not_judged(judge, caller=caller)
            elif outcome.judgment is not None:
                self.metrics.judged(outcome.judgment, caller=caller)
        if self._logs_each(len(outcomes) if of is None else of):
            for outcome in outcomes:
                structlog.get_logger().info("evaluated", **request, **kept, **_outcome_fields(outcome))
        elif of is None:
            failed = sum(outcome.judgment is None for outcome in outcomes)
            self.many_judged(len(outcomes), failed, judge=judge, kept=kept, request=request)

    def many_judged(
        self,
        answers: int,
        failed: int,
        *,
        judge: str | None,
        kept: Mapping[str, str | None],
        request: Mapping[str, object],
        of: int | None = None,
    ) -> None:
        """Log one line for answers that are too many for a line each; the arguments are those of `judged`."""
        if not self._logs_each(answers if of is None else of):
            log = structlog.get_logger().info
            log("evaluated", **request, **kept, judge=judge, questions=answers, failed=failed)

    def _logs_each(self, answers: int) -> bool:
        return self.log_questions == "all" or answers <= LOGGED_ONE_BY_ONE

    def compared(self, answer: CompareResponse, *, request: Mapping[str, object], latency_ms: float) -> None:
        """Count a comparison and log what it decided."""
        self.metrics.compared(answer.verdict)
        structlog.get_logger().info(
            "compared",
            **request,
            baseline=answer.names[0],
            candidate=answer.names[1],
            verdict=answer.verdict,
            gates={gate.status: sum(each.status == gate.status for each in answer.gates) for gate in answer.gates},
            questions=answer.questions.shared,
            comparable=answer.comparable.ok,
            latency_ms=round(latency_ms, 3),
        )

    def diagnosed(
        self,
        found: Sequence[Diagnosed],
        *,
        judge: str | None,
        run: str | None,
        caller: str,
        request: Mapping[str, object],
        latency_ms: float,
    ) -> None:
        """Count diagnosed answers, and the judgments made for them, and log them as `judged` does."""
        for each in found:
            if each.judged is not None and each.judged.judgment is not None:
                self.metrics.judged(each.judged.judgment, caller=caller)
            elif each.judged is not None and judge is not None:
                self.metrics.not_judged(judge, caller=caller)
            if each.diagnosis is not None:
                self.metrics.diagnosed(each.diagnosis)
        log = structlog.get_logger().info
        shared = {**request, "run": run, "latency_ms": round(latency_ms, 3)}
        if self._logs_each(len(found)):
            for each in found:
                log("evaluated", **{**_diagnosed_fields(each), **shared})
        else:
            failed = sum(each.diagnosis is None for each in found)
            classes = Counts(each.diagnosis.diagnosis for each in found if each.diagnosis is not None)
            log("evaluated", **shared, judge=judge, questions=len(found), failed=failed, diagnoses=dict(classes))


def method_label(method: str) -> str:
    """Fold methods nobody uses here into one label value."""
    return method if method in METHODS else OTHER_METHOD


def log_retrieval(
    log: Log,
    response: RetrieveEvalResponse,
    *,
    log_questions: LogQuestions,
    request: Mapping[str, object],
    latency_ms: float,
) -> None:
    """Log what a retrieval evaluation measured: a line a question, or one for all where they are many.

    Ids are logged, texts are not. Without `per_question` in the answer there is only the summary to log.

    Args:
        log: Where the lines go.
        response: What was measured.
        log_questions: Whether every question is logged however many there are.
        request: What identifies the request: its id, trace and endpoint.
        latency_ms: Time the whole evaluation took.
    """
    questions = response.per_question
    shared = {**request, "run": response.run, "latency_ms": round(latency_ms, 3)}
    if questions and (log_questions == "all" or len(questions) <= LOGGED_ONE_BY_ONE):
        for question in questions:
            log("evaluated", **shared, **_question_fields(question))
    else:
        log("evaluated", **shared, **_summary_fields(response))


def configure_logging(level: LogLevel, *, stream: TextIO | LogLines | None = None) -> None:
    """Send our own events and those of the libraries to one stream, each as one line of JSON."""
    stream = stream or sys.stderr
    threshold = getattr(logging, level.upper())
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render = structlog.processors.JSONRenderer(serializer=_to_json)
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=cast(TextIO, stream)),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                render,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=threshold, force=True)
    for name in _QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def _stages(timings: RetrieveTimings) -> Iterator[tuple[str, float | None]]:
    yield "embed", timings.embed_ms
    yield "search", timings.search_ms
    yield "score", timings.score_ms


def _questions_with_leak(response: RetrieveEvalResponse) -> int:
    if response.per_question:
        return sum(1 for question in response.per_question if question.acl_leaks)
    return sum(len(finding.questions) for finding in response.findings if finding.code == "ACL_LEAK")


def _question_fields(question: QuestionResult) -> dict[str, object]:
    return {
        "question_id": question.id,
        "retrieved": question.retrieved,
        "excluded": question.excluded,
        "first_relevant_rank": question.first_relevant_rank,
        "acl_leaks": question.acl_leaks,
    }


def _outcome_fields(outcome: Outcome) -> dict[str, object]:
    """Ids, verdicts and figures of one judged answer; no text."""
    sent = outcome.task.sent if outcome.task else None
    fields: dict[str, object] = {
        "question_id": sent.question_id if sent else None,
        "context": [chunk.id for chunk in sent.context] if sent and sent.context is not None else None,
    }
    if outcome.judgment is None:
        return {**fields, "problem": outcome.error.code if outcome.error else None}
    judgment = outcome.judgment
    return {
        **fields,
        "judgment_id": judgment.id,
        **{dimension: getattr(judgment, dimension) for dimension in DIMENSIONS},
        "observed_behavior": judgment.observed_behavior,
        "flags": judgment.flags,
        "judge": judgment.judge.name,
        "judge_fingerprint": judgment.judge.fingerprint,
        "input_tokens": judgment.usage.input_tokens,
        "output_tokens": judgment.usage.output_tokens,
        "latency_ms": round(judgment.latency_ms, 3),
    }


def _diagnosed_fields(found: Diagnosed) -> dict[str, object]:
    """Ids, verdicts, class and cause of one diagnosed answer; no text."""
    sent, diagnosis = found.sent, found.diagnosis
    judgment = None if diagnosis is None else diagnosis.judgment
    retrieved = None if sent is None or sent.retrieved is None else sent.retrieved
    return {
        **_outcome_fields(Outcome(found.task, judgment, found.error)),
        "retrieved": None if retrieved is None else [each if isinstance(each, str) else each.id for each in retrieved],
        "diagnosis": None if diagnosis is None else diagnosis.diagnosis,
        "cause": None if diagnosis is None or diagnosis.cause is None else diagnosis.cause.code,
    }


def _summary_fields(response: RetrieveEvalResponse) -> dict[str, object]:
    return {
        "questions": response.questions.total,
        "eligible": response.questions.eligible,
        "metrics": {name: estimate.value for name, estimate in response.metrics.items()},
        "findings": [finding.code for finding in response.findings],
    }


def _to_json(event: Any, **_: Any) -> str:
    return msgspec.json.encode(event, enc_hook=repr).decode()
