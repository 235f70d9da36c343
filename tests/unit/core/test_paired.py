import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as peer

from befund.core.paired import (
    Effect,
    Pair,
    detectable_difference,
    effects,
    fewest_flips,
    holm,
    mcnemar,
    newcombe,
    paired_t,
    randomisation,
)

Values = NDArray[np.float64]


def differences(n: int, *, shift: float = 0.02, seed: int = 1) -> Values:
    """Many distinct ones."""
    return np.random.default_rng(seed).normal(shift, 0.2, size=n)


def effect(before: list[float], after: list[float], *, yes_or_no: bool = False) -> Effect:
    pair = Pair(np.array(before), np.array(after), yes_or_no)
    return effects([pair], alpha=0.05, seed=7)[0]


@pytest.mark.parametrize("n", [3, 8, 16])
def test_all_flips_give_scipys_exact_permutation_p(n: int) -> None:
    sample = differences(n, shift=0.1)
    theirs = peer.permutation_test((sample,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert randomisation([sample], seed=7)[0] == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(("n", "shift"), [(17, 0.05), (40, 0.05), (500, 0.01), (2_003, 0.005)])
def test_random_flips_give_scipys_p_within_their_error(n: int, shift: float) -> None:
    sample = differences(n, shift=shift)
    theirs = peer.permutation_test(
        (sample,), np.mean, permutation_type="samples", n_resamples=50_000, rng=np.random.default_rng(3)
    ).pvalue
    error = math.sqrt(theirs * (1 - theirs) * (1 / 10_000 + 1 / 50_000))
    assert randomisation([sample], seed=7)[0] == pytest.approx(theirs, abs=4 * error + 1e-4)


def test_differences_of_zero_do_not_count_towards_the_sixteen() -> None:
    sample = np.concatenate((np.zeros(500), [0.5, 0.25, 1.0]))
    assert randomisation([sample], seed=7) == [0.25]


def test_nothing_changed_is_p_1() -> None:
    assert effect([0.5] * 20, [0.5] * 20).p_value == 1.0
    assert effect([1.0] * 20, [1.0] * 20, yes_or_no=True).p_value == 1.0


def test_p_is_never_0() -> None:
    assert randomisation([np.full(5_000, 1.0)], seed=7) == [1 / 10_001]
    assert mcnemar(5_000, 0) > 0


def test_the_same_seed_gives_the_same_p_and_another_one_nearly() -> None:
    sample = differences(100, shift=0.03)
    first, again, other = (randomisation([sample], seed=seed)[0] for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert first == pytest.approx(other, abs=0.03)


def test_a_metric_does_not_depend_on_which_others_are_asked_for() -> None:
    mine, other = differences(100), differences(100, seed=2)
    assert randomisation([other, mine], seed=7)[1] == randomisation([mine], seed=7)[0]


@pytest.mark.parametrize(("better", "worse"), [(1, 0), (6, 0), (3, 9), (100, 140), (2_000, 2_100)])
def test_mcnemar_is_scipys_binomial_test(better: int, worse: int) -> None:
    theirs = peer.binomtest(better, better + worse).pvalue
    assert mcnemar(better, worse) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        # Airway hyper-responsiveness, Fagerland, Lydersen and Laake (2017), chapter 8
        ((1, 1, 7, 12), 0.026, 0.507),
        ((1, 7, 1, 12), -0.507, -0.026),
    ],
)
def test_newcombe_gives_the_published_interval(table: tuple[int, int, int, int], low: float, high: float) -> None:
    assert [round(limit, 3) for limit in newcombe(*table, confidence=0.95)] == [low, high]


def test_without_correlation_newcombe_joins_wilsons_limits() -> None:
    low, high = newcombe(25, 25, 25, 25, confidence=0.95)
    one = peer.binomtest(50, 100).proportion_ci(0.95, method="wilson")
    half = math.hypot(0.5 - one.low, one.high - 0.5)
    assert (low, high) == pytest.approx((-half, half), abs=1e-12)


@given(*[st.integers(0, 60)] * 4)
def test_newcombes_interval_holds_the_difference(both: int, before: int, after: int, neither: int) -> None:
    n = both + before + after + neither
    if n:
        low, high = newcombe(both, before, after, neither, confidence=0.95)
        assert -1 <= low <= (after - before) / n <= high <= 1


def test_the_interval_of_other_metrics_is_the_percentile_bootstrap() -> None:
    sample = differences(60, shift=0.05)
    ours = effect([0.0] * 60, sample.tolist())
    theirs = peer.bootstrap(
        (sample,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours.ci_method == "bootstrap"
    assert ours.ci == pytest.approx((theirs.low, theirs.high), abs=0.006)


def test_from_two_thousand_questions_on_it_is_students() -> None:
    sample = differences(2_500)
    ours = effect([0.0] * 2_500, sample.tolist())
    theirs = peer.ttest_1samp(sample, 0).confidence_interval(0.95)
    assert ours.ci_method == "student"
    assert ours.ci == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_under_ten_questions_there_is_no_interval() -> None:
    found = effect([0.0] * 9, [0.1] * 9)
    assert (found.ci, found.ci_method, found.p_value) == (None, "too_few", 2 / 512)


def test_no_question_at_all_says_nothing() -> None:
    found = effect([], [])
    assert (found.n, found.delta, found.p_value, found.ci) == (0, None, None, None)


@pytest.mark.parametrize("n", [2, 5, 30, 400])
def test_the_cross_check_is_scipys_paired_t_test(n: int) -> None:
    before, after = differences(n, seed=3), differences(n, seed=4)
    assert paired_t(after - before) == pytest.approx(peer.ttest_rel(after, before).pvalue, rel=1e-9)


def test_the_detectable_difference_is_the_textbooks() -> None:
    sample = np.tile([0.0, 0.2], 50)
    deviation = 0.1 * math.sqrt(100 / 99)
    assert detectable_difference(sample, alpha=0.05) == pytest.approx(2.801585 * deviation / 10, rel=1e-6)


def test_what_does_not_vary_has_no_detectable_difference() -> None:
    assert detectable_difference(np.zeros(20), alpha=0.05) is None


@pytest.mark.parametrize(("alpha", "fewest"), [(0.05, 6), (0.01, 8), (0.5, 2), (0.0625, 5)])
def test_so_many_questions_one_way_reach_alpha_and_one_less_does_not(alpha: float, fewest: int) -> None:
    assert fewest_flips(1_000, alpha=alpha) == fewest
    assert mcnemar(fewest, 0) <= alpha < mcnemar(fewest - 1, 0)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=12))
def test_holm_adjusts_upwards_in_order_and_never_beyond_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= a <= min(1.0, p * len(p_values)) + 1e-12 for p, a in zip(p_values, adjusted, strict=True))
    assert [adjusted[i] for i in np.argsort(p_values, kind="stable")] == sorted(adjusted)


def test_holm_of_one_is_itself() -> None:
    assert holm([0.04]) == [0.04]


@given(st.lists(st.sampled_from([-0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=12))
def test_swapping_the_sides_turns_the_difference_and_keeps_p(sample: list[float]) -> None:
    n = len(sample)
    there, back = effect([0.0] * n, sample), effect(sample, [0.0] * n)
    assert there.delta == pytest.approx(-(back.delta or 0.0))
    assert there.p_value == back.p_value
