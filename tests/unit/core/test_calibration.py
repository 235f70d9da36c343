import math
from itertools import product

import numpy as np

from befund.contract import Confusion
from befund.core.calibration import Pair, calibration_of, risk_coverage


def pairs(tp: int, fn: int, fp: int, tn: int, *, groups: int | None = None) -> list[Pair]:
    said = [(True, True)] * tp + [(True, False)] * fn + [(False, True)] * fp + [(False, False)] * tn
    return [Pair(i, human, judged, str(i % groups if groups else i)) for i, (human, judged) in enumerate(said)]


def test_cohens_own_example() -> None:
    found = calibration_of(pairs(20, 5, 10, 15), confidence=0.95, seed=7)
    assert found.confusion == Confusion(true_positive=20, false_negative=5, false_positive=10, true_negative=15)
    assert (found.sensitivity, found.specificity, found.balanced_accuracy, found.accuracy) == (0.8, 0.6, 0.7, 0.7)
    assert found.kappa is not None
    assert math.isclose(found.kappa, 0.4)
    assert found.kappa_ci is not None
    low, high = found.kappa_ci
    assert low < 0.4 < high
    assert found.indicative


def test_the_interval_widens_when_answers_come_in_groups() -> None:
    said = list(product([True, False], repeat=2)) * 30
    alone = [Pair(i, human, judged, str(i)) for i, (human, judged) in enumerate(said)]
    order = np.argsort([human != judged for human, judged in said], kind="stable")
    together = [Pair(int(i), *said[i], str(place // 10)) for place, i in enumerate(order)]
    widths = []
    for each in (alone, together):
        interval = calibration_of(each, confidence=0.95, seed=7).kappa_ci
        assert interval is not None
        widths.append(interval[1] - interval[0])
    assert widths[1] > 1.5 * widths[0]


def test_too_few_groups_have_no_interval() -> None:
    found = calibration_of(pairs(20, 5, 10, 15, groups=9), confidence=0.95, seed=7)
    assert (found.kappa_ci, found.scored) == (None, 50)


def test_what_one_side_never_says_is_not_defined() -> None:
    found = calibration_of(pairs(4, 0, 0, 0), confidence=0.95, seed=7)
    assert (found.specificity, found.balanced_accuracy, found.kappa, found.sensitivity) == (None, None, None, 1.0)


def test_a_hundred_scored_answers_are_more_than_indicative() -> None:
    assert not calibration_of(pairs(50, 0, 0, 50), confidence=0.95, seed=7).indicative
    assert calibration_of(pairs(50, 0, 0, 49), confidence=0.95, seed=7).indicative


def test_nothing_compared_is_no_figure() -> None:
    found = calibration_of([], confidence=0.95, seed=7)
    assert (found.n, found.coverage, found.accuracy, found.kappa) == (0, 0.0, None, None)


def test_every_figure_has_an_interval_over_groups() -> None:
    found = calibration_of(pairs(20, 5, 10, 15), confidence=0.95, seed=7)
    assert set(found.intervals) == {"accuracy", "balanced_accuracy", "sensitivity", "specificity"}
    for name, limits in found.intervals.items():
        assert limits is not None
        assert 0 <= limits[0] < getattr(found, name) < limits[1] <= 1


def test_a_judge_that_was_never_wrong_may_still_be() -> None:
    found = calibration_of(pairs(20, 0, 0, 30), confidence=0.95, seed=7)
    sensitivity, balanced = found.intervals["sensitivity"], found.intervals["balanced_accuracy"]
    assert sensitivity is not None
    assert balanced is not None
    assert [round(limit, 3) for limit in sensitivity] == [0.839, 1.0]  # Wilson's for 20 of 20
    assert 0.8 < balanced[0] < 0.9


def test_risk_is_counted_from_the_surest_down_ties_together() -> None:
    said = [(True, True, 0.9), (False, True, 0.8), (True, True, 0.8), (False, False, 0.6)]
    seen = [Pair(i, human, judged, str(i), sure) for i, (human, judged, sure) in enumerate(said)]
    points = risk_coverage([*seen, Pair(9, True, None, "9")])
    assert points is not None
    assert [(point.confidence, point.coverage) for point in points] == [(0.9, 0.2), (0.8, 0.6), (0.6, 0.8)]
    assert [round(point.risk, 3) for point in points] == [0.0, 0.333, 0.25]


def test_without_a_confidence_of_each_nothing_is_ranked() -> None:
    assert risk_coverage([Pair(0, True, True, "a", 0.9), Pair(1, True, True, "b")]) is None
    assert risk_coverage([Pair(0, True, None, "a")]) is None
