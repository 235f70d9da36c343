from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from befund.contract import Usage
from befund.core.errors import ContradictionError, MalformedRequestError
from befund.core.judged_tally import Shape, Times
from befund.core.monitors import Group, Period, period_of, windows_of

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def period(**asked: Any) -> Period:
    return period_of(now=NOW, **{"since": None, "until": None, "window": None, "step": None} | asked)


@pytest.mark.parametrize(
    ("asked", "since", "until"),
    [
        ({}, datetime(2026, 11, 29, 12, tzinfo=UTC), NOW),
        ({"window": 3600}, datetime(2026, 11, 30, 11, tzinfo=UTC), NOW),
        ({"since": "2026-11-01T00:00:00Z"}, datetime(2026, 11, 1, tzinfo=UTC), NOW),
        (
            {"until": "2026-11-30T02:00:00+02:00", "window": 60},
            datetime(2026, 11, 29, 23, 59, tzinfo=UTC),
            datetime(2026, 11, 30, tzinfo=UTC),
        ),
        ({"since": "2026-11-30T02:00:00 02:00"}, datetime(2026, 11, 30, tzinfo=UTC), NOW),
    ],
)
def test_a_time_is_read(asked: dict[str, Any], since: datetime, until: datetime) -> None:
    assert period(**asked) == Period(since, until, until - since)


@pytest.mark.parametrize("text", ["yesterday", "2026-11-30T08:00:00", "", "0001-01-01T00:00:00+23:59", "1764500000"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(MalformedRequestError, match="since is no time"):
        period(since=text)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"since": "2026-11-30T00:00:00Z", "window": 60}, "window-and-since"),
        ({"since": "2026-11-30T12:00:00Z"}, "empty-period"),
        ({"since": "2026-12-01T00:00:00Z"}, "empty-period"),
        ({"window": 86_400, "step": 86}, "too-many-windows"),
    ],
)
def test_a_time_that_contradicts_itself_is_refused(asked: dict[str, Any], code: str) -> None:
    with pytest.raises(ContradictionError) as refusal:
        period(**asked)
    assert refusal.value.code == code


def test_the_last_window_may_be_shorter() -> None:
    hours = [(since.hour, until.hour) for since, until in period(window=5 * 3600, step=2 * 3600).windows()]
    assert hours == [(7, 9), (9, 11), (11, 12)]


def test_a_time_before_the_calendar_begins_with_it() -> None:
    assert period(window=100 * 366 * 86_400 * 30).since == datetime(1, 1, 1, tzinfo=UTC)


def group(window: int, answers: int, *, judge_ms: Times | None = None, **shape: Any) -> Group:
    made = Shape(**{"judge": "sha256:1", "correct": "true", "faithful": "true", "behaved": "true"} | shape)
    times = Times(answers, 100.0 * answers, 100.0) if judge_ms is None else judge_ms
    usage = Usage(input_tokens=10, output_tokens=1, cached_tokens=0, cost_usd=None)
    return Group(window=window, shape=made, answers=answers, usage=usage, judge=times, generation=Times())


def test_windows_are_counted_each_for_itself_and_an_empty_one_is_there_too() -> None:
    groups = [
        group(0, 8, claims=True, expected="answer", observed="answer"),
        group(0, 4, correct="false", expected="answer", observed="no_answer"),
        group(0, 3, correct="failed", faithful="failed", behaved="not_evaluable", judge_ms=Times()),
        group(2, 2, correct="abstained", judge="sha256:2"),
    ]
    times = [(NOW + timedelta(hours=i), NOW + timedelta(hours=i + 1)) for i in range(3)]
    first, second, third = windows_of(groups, times, {})
    assert (first.answers, first.failed, first.judges) == (15, 3, {"sha256:1": 15})
    correct = first.rates["correct"]
    assert (correct.value, correct.n, correct.attempted, correct.unscored) == (8 / 12, 12, 15, 3)
    assert (first.rates["behaved"].attempted, first.rates["faithful_given_claims"].n) == (12, 8)
    assert first.correct_by_faithful == {"tt": 8, "tf": 0, "ft": 4, "ff": 0}
    assert first.behavior == {"answer": {"answer": 8, "no_answer": 4}}
    assert (first.usage.input_tokens, first.usage.cost_usd) == (30, None)
    assert first.timings == {"judge_ms": {"mean": 100.0, "max": 100.0}}
    assert (second.answers, second.rates["correct"].value, second.since) == (0, None, NOW + timedelta(hours=1))
    assert (third.rates["correct"].attempted, third.rates["correct"].n, third.judges) == (2, 0, {"sha256:2": 2})
