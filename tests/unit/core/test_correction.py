import math
from typing import Any

import numpy as np
import pytest

from befund.contract import JudgeCalibration
from befund.core.correction import Error, Sample, corrected_rate, lang_reiczigel, rogan_gladen


def calibration(sensitivity: float | None, specificity: float | None, each: int | None = 100) -> JudgeCalibration:
    n = 2 * (each or 0)
    return JudgeCalibration(sensitivity=sensitivity, specificity=specificity, n=n, positives=each, negatives=each)


def corrected(true: int, n: int, *how: Any) -> Any:
    return corrected_rate([Sample(true, n, calibration(*how))], attempted=n, confidence=0.95)


@pytest.mark.parametrize("truth", [0.0, 0.25, 1.0])
def test_the_formula_is_the_inverse_of_the_error(truth: float) -> None:
    seen = truth * 0.9 + (1 - truth) * (1 - 0.8)
    assert math.isclose(rogan_gladen(seen, Error(0.9, 0.8, 10, 10)), truth, abs_tol=1e-12)


def test_a_rate_is_corrected_with_an_interval_that_holds_it() -> None:
    found = corrected(60, 100, 0.9, 0.8)
    assert found.value == pytest.approx(0.4 / 0.7)
    assert (found.n, found.attempted, found.unscored, found.method) == (100, 100, 0, "lang_reiczigel")
    assert found.ci[0] < found.value < found.ci[1]


def test_a_surer_calibration_makes_a_narrower_interval() -> None:
    few, many = corrected(60, 100, 0.9, 0.8, 20).ci, corrected(60, 100, 0.9, 0.8, 2_000).ci
    assert many[1] - many[0] < few[1] - few[0]


@pytest.mark.parametrize(("sensitivity", "specificity"), [(0.5, 0.5), (0.2, 0.3)])
def test_a_judge_no_better_than_chance_gives_none(sensitivity: float, specificity: float) -> None:
    found = corrected(60, 100, sensitivity, specificity)
    assert (found.value, found.ci, found.method) == (None, None, "uninformative")


@pytest.mark.parametrize(("true", "n", "each"), [(3, 9, 100), (60, 100, 9)])
def test_too_few_answers_or_labels_give_no_interval(true: int, n: int, each: int) -> None:
    found = corrected(true, n, 0.9, 0.8, each)
    assert (found.ci, found.method) == (None, "too_few")
    assert found.value is not None


@pytest.mark.parametrize("how", [(None, 0.9, 100), (0.9, None, 100), (0.9, 0.8, None)])
def test_a_calibration_without_both_figures_corrects_nothing(how: Any) -> None:
    assert corrected(60, 100, *how) is None


def test_what_lies_beyond_0_or_1_is_cut() -> None:
    assert corrected(2, 100, 0.9, 0.8).value == 0.0
    assert corrected(99, 100, 0.9, 0.8).value == 1.0


def test_judges_are_corrected_each_for_its_own_error() -> None:
    strict, lenient = calibration(0.6, 1.0), calibration(1.0, 0.6)
    found = corrected_rate([Sample(30, 100, strict), Sample(70, 100, lenient)], attempted=210, confidence=0.95)
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert (found.n, found.attempted, found.unscored) == (200, 210, 10)


def test_one_judge_that_was_not_calibrated_leaves_all_uncorrected() -> None:
    samples = [Sample(30, 100, calibration(0.9, 0.8)), Sample(5, 10, None)]
    assert corrected_rate(samples, attempted=110, confidence=0.95) is None


@pytest.mark.parametrize(
    ("truth", "sensitivity", "specificity", "n", "labels"),
    [(0.3, 0.85, 0.8, 200, 60), (0.9, 0.95, 0.7, 100, 30), (0.5, 0.9, 0.9, 1_000, 250), (0.97, 0.9, 0.85, 400, 100)],
)
def test_the_interval_covers_the_truth_as_often_as_it_says(
    truth: float, sensitivity: float, specificity: float, n: int, labels: int
) -> None:
    rng, trials = np.random.default_rng(7), 3_000
    seen = rng.binomial(n, truth * sensitivity + (1 - truth) * (1 - specificity), trials)
    found_true = rng.binomial(labels, sensitivity, trials) / labels
    found_false = rng.binomial(labels, specificity, trials) / labels
    covered = 0
    for true, hit, rejected in zip(seen.tolist(), found_true.tolist(), found_false.tolist(), strict=True):
        low, high = lang_reiczigel([(true, n, Error(hit, rejected, labels, labels))], confidence=0.95)
        covered += low <= truth <= high
    assert 0.94 <= covered / trials <= 0.99


def test_the_interval_of_several_judges_covers_the_truth_too() -> None:
    rng, trials, truth = np.random.default_rng(7), 3_000, 0.8
    judges = [(0.9, 0.8, 300), (0.75, 0.95, 100)]
    covered = 0
    for _ in range(trials):
        parts = []
        for sensitivity, specificity, n in judges:
            true = int(rng.binomial(n, truth * sensitivity + (1 - truth) * (1 - specificity)))
            error = Error(rng.binomial(80, sensitivity) / 80, rng.binomial(80, specificity) / 80, 80, 80)
            parts.append((true, n, error))
        low, high = lang_reiczigel(parts, confidence=0.95)
        covered += low <= truth <= high
    assert 0.94 <= covered / trials <= 0.99
