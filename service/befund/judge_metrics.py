"""What Prometheus is told about judges. Labels are the configured judges and models, nothing else."""

from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from befund.contract import Usage
from befund.core.canary import CANARY_OUTCOMES, CanaryOutcome
from befund.core.configured import RULES, Judges, ModelJudge
from befund.ports import CallOutcome

_SECONDS = tuple(0.01 * 2**step for step in range(15))
_DIRECTIONS = ("input", "output", "cached")


class JudgeMetrics:
    """Counts the calls of model judges; a `befund.ports.JudgeMeter`.

    Args:
        registry: Where the metrics are shown.
        judges: Every configured judge; their series stand at 0 from the start.
    """

    def __init__(self, registry: CollectorRegistry, judges: Judges) -> None:
        labels = ("judge", "model")
        self._duration = Histogram(
            "befund_judge_duration_seconds",
            "Time of one request to a judge's model.",
            labels,
            buckets=_SECONDS,
            registry=registry,
        )
        self._requests = Counter(
            "befund_judge_requests",
            "Requests to a judge's model, by how they ended.",
            (*labels, "outcome"),
            registry=registry,
        )
        self._tokens = Counter(
            "befund_judge_tokens",
            "Tokens of a judge's model; cached ones are part of the input.",
            (*labels, "direction"),
            registry=registry,
        )
        self._cost = Counter(
            "befund_judge_cost_usd", "US dollars of replies whose price is known.", labels, registry=registry
        )
        self._unknown = Counter(
            "befund_judge_usage_unknown",
            "Replies that did not say how many tokens they used.",
            labels,
            registry=registry,
        )
        self._unpriced = Counter(
            "befund_judge_cost_unknown", "Replies whose cost is not known.", labels, registry=registry
        )
        self._retries = Counter(
            "befund_judge_retries", "Requests sent once more for the same answer.", ("judge",), registry=registry
        )
        self._canaries = Counter(
            "befund_judge_canaries",
            "Answers whose verdicts are known, sent along with batches, by what became of them.",
            ("judge", "outcome"),
            registry=registry,
        )
        self._cache = Counter("befund_judge_cache", "Verdicts looked up in the cache.", ("result",), registry=registry)
        self._in_flight = Gauge("befund_judge_in_flight", "Requests to judges' models under way.", registry=registry)
        self._start_at_zero(judges)

    def called(self, outcome: CallOutcome, *, judge: str, model: str, seconds: float) -> None:
        """Count one request that ended."""
        self._duration.labels(judge, model).observe(seconds)
        self._requests.labels(judge, model, outcome).inc()

    def used(self, usage: Usage, *, judge: str, model: str) -> None:
        """Count what one reply used; what it did not say is counted as unknown."""
        counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        for direction, count in zip(_DIRECTIONS, counts, strict=True):
            self._tokens.labels(judge, model, direction).inc(count or 0)
        if usage.input_tokens is None or usage.output_tokens is None:
            self._unknown.labels(judge, model).inc()
        if usage.cost_usd is None:
            self._unpriced.labels(judge, model).inc()
        else:
            self._cost.labels(judge, model).inc(usage.cost_usd)

    def retried(self, judge: str) -> None:
        """Count a request sent once more."""
        self._retries.labels(judge).inc()

    def canary(self, judge: str, outcome: CanaryOutcome) -> None:
        """Count an answer whose verdicts are known."""
        self._canaries.labels(judge, outcome).inc()

    def looked_up(self, *, found: bool) -> None:
        """Count a look into the cache."""
        self._cache.labels("hit" if found else "miss").inc()

    def in_flight(self, change: int) -> None:
        """Count requests under way."""
        self._in_flight.inc(change)

    def _start_at_zero(self, judges: Judges) -> None:
        for name in (RULES, *(judge.name for judge in judges.every)):
            for outcome in CANARY_OUTCOMES:
                self._canaries.labels(name, outcome)
        for judge in judges.every:
            if not isinstance(judge, ModelJudge):
                continue
            names = (judge.name, judge.model)
            for metric in (self._duration, self._cost, self._unknown, self._unpriced):
                metric.labels(*names)
            for outcome in get_args(CallOutcome):
                self._requests.labels(*names, outcome)
            for direction in _DIRECTIONS:
                self._tokens.labels(*names, direction)
            self._retries.labels(judge.name)
        for result in ("hit", "miss"):
            self._cache.labels(result)
