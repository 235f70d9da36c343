from befund.contract import Usage
from befund.core.configured import Judges, ModelJudge
from befund.telemetry import Metrics

JUDGE = ModelJudge(name="openai", model="m-1")
LABELS = {"judge": "openai", "model": "m-1"}


def metrics() -> Metrics:
    return Metrics(version="1", routes=[], callers=[], judges=Judges(every=(JUDGE,)))


def value(shown: Metrics, name: str, **labels: str) -> float | None:
    return shown.registry.get_sample_value(name, labels)


def test_every_series_of_a_configured_judge_stands_at_0_from_the_start() -> None:
    shown = metrics()
    for name in ("duration_seconds_count", "cost_usd_total", "usage_unknown_total", "cost_unknown_total"):
        assert value(shown, f"befund_judge_{name}", **LABELS) == 0
    for outcome in ("ok", "unusable", "truncated", "refused", "limited", "unavailable", "cancelled", "rejected"):
        assert value(shown, "befund_judge_requests_total", outcome=outcome, **LABELS) == 0
    for direction in ("input", "output", "cached"):
        assert value(shown, "befund_judge_tokens_total", direction=direction, **LABELS) == 0
    for result in ("hit", "miss"):
        assert value(shown, "befund_judge_cache_total", result=result) == 0
    assert value(shown, "befund_judge_retries_total", judge="openai") == 0
    assert value(shown, "befund_judge_in_flight") == 0
    for judge in ("rules", "openai"):
        for outcome in ("passed", "failed", "unjudged"):
            assert value(shown, "befund_judge_canaries_total", judge=judge, outcome=outcome) == 0


def test_calls_tokens_and_cost_are_counted() -> None:
    shown = metrics()
    judges = shown.judges
    judges.in_flight(1)
    judges.called("ok", judge="openai", model="m-1", seconds=0.5)
    used = Usage(input_tokens=500, output_tokens=20, cached_tokens=100, cost_usd=0.25)
    judges.used(used, judge="openai", model="m-1")
    judges.retried("openai")
    judges.looked_up(found=True)
    assert value(shown, "befund_judge_duration_seconds_sum", **LABELS) == 0.5
    assert value(shown, "befund_judge_requests_total", outcome="ok", **LABELS) == 1
    assert value(shown, "befund_judge_tokens_total", direction="cached", **LABELS) == 100
    assert value(shown, "befund_judge_cost_usd_total", **LABELS) == 0.25
    assert value(shown, "befund_judge_retries_total", judge="openai") == 1
    assert value(shown, "befund_judge_cache_total", result="hit") == 1
    assert value(shown, "befund_judge_in_flight") == 1


def test_usage_that_was_not_said_is_counted_as_unknown_not_as_nothing() -> None:
    shown = metrics()
    shown.judges.used(Usage(input_tokens=500), judge="openai", model="m-1")
    assert value(shown, "befund_judge_tokens_total", direction="input", **LABELS) == 500
    assert value(shown, "befund_judge_usage_unknown_total", **LABELS) == 1
    assert value(shown, "befund_judge_cost_unknown_total", **LABELS) == 1
    assert value(shown, "befund_judge_cost_usd_total", **LABELS) == 0
