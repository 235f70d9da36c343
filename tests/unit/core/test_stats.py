from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as peer

from befund.core.stats import (
    Interval,
    bootstrap,
    mean_intervals,
    student,
    student_quantile,
    wilson,
)

Values = NDArray[np.float64]


def graded(n: int, *, seed: int = 1) -> Values:
    """Values of a metric with many distinct values."""
    return np.random.default_rng(seed).beta(2, 3, size=n)


def few_distinct(n: int, *, seed: int = 1) -> Values:
    """Values of a metric with few: reciprocal ranks."""
    return np.random.default_rng(seed).choice([0.0, 0.2, 0.25, 1 / 3, 0.5, 1.0], size=n)


def interval(values: Values, *, yes_or_no: bool = False, confidence: float = 0.95, seed: int = 7) -> Interval:
    return mean_intervals([values], yes_or_no=[yes_or_no], confidence=confidence, seed=seed)[0]


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "n"), [(0, 10), (1, 10), (10, 13), (13, 13), (500, 1000), (0, 100_000)])
def test_wilson_is_scipys(successes: int, n: int, confidence: float) -> None:
    theirs = peer.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert wilson(successes, n, confidence=confidence) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("probability", [0.75, 0.95, 0.975, 0.9995])
@pytest.mark.parametrize("degrees", [1999, 2500, 10_000, 1_000_000])
def test_students_quantile_is_scipys(probability: float, degrees: int) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(peer.t.ppf(probability, degrees), abs=1e-9)


def test_students_interval_is_scipys() -> None:
    values = graded(3000)
    theirs = peer.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=peer.sem(values))
    assert student(values, confidence=0.95) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("make", [graded, few_distinct])
@pytest.mark.parametrize("n", [13, 100, 1500])
def test_the_bootstrap_is_scipys_within_its_noise(make: Callable[..., Values], n: int) -> None:
    values = make(n)
    rng = np.random.default_rng(0)
    theirs = peer.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", confidence_level=0.95, vectorized=True, rng=rng
    ).confidence_interval
    standard_error = float(values.std()) / n**0.5
    (ours,) = bootstrap([values], confidence=0.95, seed=7)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.3 * standard_error)


@pytest.mark.parametrize("make", [graded, few_distinct])
def test_the_same_seed_gives_the_same_interval_and_another_one_another(make: Callable[..., Values]) -> None:
    values = make(200)
    assert interval(values, seed=7) == interval(values, seed=7)
    assert interval(values, seed=7) != interval(values, seed=8)


def test_the_interval_of_a_metric_does_not_depend_on_the_others() -> None:
    columns = [graded(300, seed=1), few_distinct(300), graded(300, seed=2), np.ones(300), graded(300, seed=3)]
    together = mean_intervals(columns, yes_or_no=[False, False, False, True, False], confidence=0.95, seed=7)
    for i, column in enumerate(columns):
        alone = interval(column, yes_or_no=i == 3)
        assert alone.method == together[i].method
        assert alone.limits == pytest.approx(together[i].limits, abs=1e-14)


@pytest.mark.parametrize("yes_or_no", [True, False])
def test_below_ten_questions_there_is_no_interval(yes_or_no: bool) -> None:
    assert interval(np.ones(9), yes_or_no=yes_or_no) == Interval(None, "too_few")


@pytest.mark.parametrize(
    ("n", "yes_or_no", "method"),
    [
        (10, True, "wilson"),
        (5000, True, "wilson"),
        (10, False, "bootstrap"),
        (1999, False, "bootstrap"),
        (2000, False, "student"),
    ],
)
def test_the_method_is_named(n: int, yes_or_no: bool, method: str) -> None:
    values = np.round(graded(n)) if yes_or_no else graded(n)
    found = interval(values, yes_or_no=yes_or_no)
    assert found.method == method
    assert found.limits is not None


def test_without_metrics_there_are_no_intervals() -> None:
    assert mean_intervals([], yes_or_no=[], confidence=0.95, seed=7) == []


@pytest.mark.parametrize("n", [10, 50, 2000])
@pytest.mark.parametrize("constant", [0.0, 0.3, 1.0])
def test_where_every_question_is_the_same_the_interval_is_a_point(n: int, constant: float) -> None:
    assert interval(np.full(n, constant)).limits == pytest.approx((constant, constant), abs=1e-12)


def test_students_interval_stays_within_0_and_1() -> None:
    rare = np.zeros(2000)
    rare[0] = 0.2
    low, high = interval(rare).limits or (None, None)
    assert low == 0.0
    assert interval(1 - rare).limits == pytest.approx((1 - high, 1.0))


@pytest.mark.parametrize("make", [graded, few_distinct])
@pytest.mark.parametrize("n", [20, 400, 4000])
def test_more_confidence_is_a_wider_interval_around_the_mean(make: Callable[..., Values], n: int) -> None:
    values = make(n)
    narrow, wide = (interval(values, confidence=level).limits for level in (0.8, 0.99))
    assert wide[0] < narrow[0] < values.mean() < narrow[1] < wide[1]


@pytest.mark.parametrize("make", [graded, few_distinct])
def test_ninety_percent_intervals_hold_the_truth_about_nine_times_of_ten(make: Callable[..., Values]) -> None:
    truth = make(100_000, seed=0).mean()
    held = 0
    for seed in range(1, 201):
        low, high = bootstrap([make(60, seed=seed)], confidence=0.9, seed=seed)[0]
        held += low <= truth <= high
    assert 165 <= held <= 195
