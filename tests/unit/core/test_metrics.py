import math
from collections.abc import Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from befund.core.metrics import AT_CUTOFF, WHOLE_RANKING, Metric, Rankings, rankings_of, standard_metrics

ABCDE = ["A", "B", "C", "D", "E"]
GOLD = {"B": 1, "D": 1, "X": 1, "Y": 1}

Case = tuple[list[str], dict[str, float]]


def value(name: str, ranking: Sequence[str], gold: Mapping[str, float], **options: object) -> float:
    """One metric, named as `ndcg@10` or `bpref`, of one question."""
    rankings = Rankings(**options)
    rankings.add(ranking, gold)
    family, _, k = name.partition("@")
    return float(Metric(family, int(k) if k else None).of(rankings)[0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hit_rate@1", 0.0),
        ("hit_rate@2", 1.0),
        ("precision@1", 0.0),
        ("precision@3", 1 / 3),
        ("precision@5", 0.4),
        ("precision@10", 0.2),
        ("recall@1", 0.0),
        ("recall@2", 0.25),
        ("recall@5", 0.5),
        ("f1@5", 4 / 9),
        ("f1@1", 0.0),
        ("mrr@1", 0.0),
        ("mrr@2", 0.5),
        ("mrr@100000", 0.5),
        ("map@2", 0.125),
        ("map@5", 0.25),
        ("ndcg@2", 0.3868528),
        ("ndcg@5", 0.4144299),
        ("judged@1", 0.0),
        ("judged@5", 0.4),
        ("judged@50", 0.4),
        ("r_precision", 0.5),
        ("bpref", 0.5),
    ],
)
def test_the_worked_example(name: str, expected: float) -> None:
    assert value(name, ABCDE, GOLD) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((f"{name}@5", 0.0) for name in ("hit_rate", "precision", "recall", "f1", "mrr", "map", "ndcg")),
        ("r_precision", 0.0),
        ("bpref", 0.0),
        ("judged@5", math.nan),
    ],
)
def test_an_empty_list(name: str, expected: float) -> None:
    assert value(name, [], {"A": 1}) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", ["hit_rate@5", "recall@5", "map@5", "ndcg@5", "f1@5", "r_precision", "bpref"])
def test_where_nothing_is_relevant(name: str) -> None:
    assert value(name, ABCDE, {"A": 0, "B": -1}) == 0.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("precision@3", 1 / 3), ("recall@3", 0.5), ("map@3", 0.5), ("ndcg@3", 0.6131472), ("judged@3", 1 / 3)],
)
def test_a_second_occurrence_keeps_its_rank_and_gains_nothing(name: str, expected: float) -> None:
    assert value(name, ["A", "A", "A"], {"A": 1, "B": 1}) == pytest.approx(expected, abs=1e-7)


def test_the_ideal_is_over_all_gold_not_over_what_came_back() -> None:
    assert value("ndcg@3", ["A"], {"A": 1, "B": 3}) == pytest.approx(1 / (3 + 1 / math.log2(3)))


def test_the_ideal_is_cut_at_k() -> None:
    assert value("ndcg@1", ["A"], {"A": 1, "B": 1, "C": 1}) == 1.0


@pytest.mark.parametrize(("gain", "expected"), [("linear", 0.7967), ("exp2", 0.7098)])
def test_the_gain_of_ndcg(gain: str, expected: float) -> None:
    assert value("ndcg@2", ["B", "A"], {"A": 3, "B": 1}, gain=gain) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("gain", ["linear", "exp2"])
def test_a_negative_grade_gains_nothing_and_costs_nothing(gain: str) -> None:
    assert value("ndcg@2", ["N", "A"], {"N": -2, "A": 1}, gain=gain) == pytest.approx(1 / math.log2(3))


def exp2_gain_share(grade: float, best: float) -> float:
    """(2^grade - 1) / (2^best - 1), in decimal arithmetic of enough digits for the smallest grades."""
    exact = Context(prec=400, Emin=MIN_EMIN, Emax=MAX_EMAX)

    def of_one(exponent: Decimal) -> Decimal:
        return exact.exp(exact.multiply(exponent, exact.ln(Decimal(2))))

    def of_rest(given: Decimal) -> Decimal:
        return exact.subtract(Decimal(1), of_one(exact.minus(given)))

    own, top = Decimal(grade), Decimal(best)
    if exact.subtract(top, own) > 2000:
        return 0.0
    return float(exact.multiply(of_one(exact.subtract(own, top)), exact.divide(of_rest(own), of_rest(top))))


GRADES = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False) | st.sampled_from(
    [5e-324, 1e-323, 2.3e-308, 1e-300, 1e-17, 1e-16, 1e-8, 0.5, 1, 3, 52, 53, 60, 1000, 1024, 1e17, 1.7e308]
)


@settings(max_examples=100, deadline=None)
@given(GRADES, GRADES)
def test_exponential_gain_is_precise_for_any_grades(one: float, other: float) -> None:
    grade, best = sorted([one, other])
    found = value("ndcg@1", ["A"], {"A": grade, "B": best}, gain="exp2")
    assert found == pytest.approx(exp2_gain_share(grade, best), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("best", [1e-17, 1e-20, 1e-200, 1e-310])
def test_exponential_gain_of_tiny_grades_is_that_of_the_grade_itself(best: float) -> None:
    assert value("ndcg@2", ["A", "B"], {"A": best / 2, "B": best}, gain="exp2") == pytest.approx(
        value("ndcg@2", ["A", "B"], {"A": 1, "B": 2}, gain="linear"), rel=1e-12
    )


@pytest.mark.parametrize(("grade", "gain"), [(1e308, "linear"), (1e308, "exp2"), (2000, "exp2"), (5e-324, "linear")])
def test_the_largest_and_smallest_grades_do_not_break_ndcg(grade: float, gain: str) -> None:
    gold = dict.fromkeys("ABC", grade)
    assert value("ndcg@3", ["A", "x", "B"], gold, gain=gain) == pytest.approx(0.7039181, abs=1e-7)


@pytest.mark.parametrize("grade", [5e-324, 0.001, 1, 3])
def test_every_grade_above_0_is_relevant(grade: float) -> None:
    assert value("recall@1", ["A"], {"A": grade}) == 1.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("hit_rate@1", 0.0), ("precision@2", 0.5), ("recall@2", 1.0), ("mrr@2", 0.5), ("map@2", 0.5), ("judged@2", 1.0)],
)
def test_below_the_relevance_level_an_item_is_judged_and_not_relevant(name: str, expected: float) -> None:
    assert value(name, ["A", "B"], {"A": 1, "B": 2}, relevance_level=2) == expected


def test_ndcg_takes_every_grade_whatever_the_relevance_level() -> None:
    assert value("ndcg@2", ["A", "B"], {"A": 1, "B": 2}, relevance_level=2) == value(
        "ndcg@2", ["A", "B"], {"A": 1, "B": 2}
    )


@pytest.mark.parametrize(
    ("ranking", "gold", "expected"),
    [
        (["n", "A", "m", "B"], {"A": 1, "B": 1, "n": 0, "m": 0}, 0.25),
        (["A", "u", "B"], {"A": 1, "B": 1, "n": 0}, 1.0),
        (["n", "m", "o", "A"], {"A": 1, "n": 0, "m": 0, "o": 0}, 0.0),
        (["N", "A"], {"A": 1, "N": -1}, 1.0),
        (["A"], {"A": 1, "B": 1}, 0.5),
    ],
    ids=["mixed", "unjudged-between", "more-above-than-R", "negative-does-not-count", "one-of-two"],
)
def test_bpref(ranking: list[str], gold: dict[str, float], expected: float) -> None:
    assert value("bpref", ranking, gold) == expected


def test_questions_do_not_mix() -> None:
    rankings = rankings_of([(["A"], {"B": 1}), (["B", "A"], {"A": 1}), ([], {"A": 1}), (["A"], {"A": 1})])
    assert Metric("mrr", 5).of(rankings).tolist() == [0.0, 0.5, 0.0, 1.0]
    assert Metric("bpref").of(rankings).tolist() == [0.0, 1.0, 0.0, 1.0]


def test_without_questions_there_is_nothing() -> None:
    for metric in standard_metrics([1, 5]):
        assert metric.of(Rankings()).tolist() == []


def test_the_standard_set_has_each_family_at_each_cutoff_and_r_precision_once() -> None:
    names = [str(metric) for metric in standard_metrics([1, 10])]
    assert len(names) == len(set(names)) == 17
    assert names[-1] == "r_precision"
    assert {"ndcg@10", "judged@1", "map@10"} < set(names)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Metric("hit_rate", 5), True),
        (Metric("precision", 1), True),
        (Metric("precision", 2), False),
        (Metric("recall", 1), False),
        (Metric("r_precision"), False),
    ],
)
def test_which_metrics_are_yes_or_no(metric: Metric, expected: bool) -> None:
    assert metric.is_yes_or_no is expected


# Properties

ITEMS = st.sampled_from([f"i{number}" for number in range(12)])
GRADES = st.one_of(st.integers(-2, 4), st.floats(-2, 4, allow_nan=False)).map(float)
CASES = st.tuples(st.lists(ITEMS, max_size=15), st.dictionaries(ITEMS, GRADES, max_size=8))
CUTOFFS = st.integers(1, 20)
ALL = [*(f"{family}@" for family in AT_CUTOFF), *WHOLE_RANKING]

quick = settings(max_examples=80, deadline=None)


def everything(case: Case, k: int, **options: object) -> dict[str, float]:
    names = [f"{name}{k}" if name.endswith("@") else name for name in ALL]
    return {name: value(name, *case, **options) for name in names}


@quick
@given(CASES, CUTOFFS, st.sampled_from(["linear", "exp2"]), st.sampled_from([0.5, 1, 2]))
def test_every_metric_is_within_0_and_1(case: Case, k: int, gain: str, level: float) -> None:
    for name, found in everything(case, k, gain=gain, relevance_level=level).items():
        assert 0 <= found <= 1 + 1e-12 or (name.startswith("judged") and not case[0]), name


@quick
@given(CASES, CUTOFFS)
def test_a_repeated_item_is_worth_no_more_than_an_item_that_nobody_judged(case: Case, k: int) -> None:
    ranking, gold = case
    seen: set[str] = set()
    replaced = []
    for rank, item in enumerate(ranking):
        replaced.append(f"unjudged-{rank}" if item in seen else item)
        seen.add(item)
    assert everything(case, k) == pytest.approx(everything((replaced, gold), k), nan_ok=True)


@quick
@given(CASES, st.integers(0, 14), CUTOFFS)
def test_repeating_an_item_never_helps(case: Case, place: int, k: int) -> None:
    ranking, gold = case
    assume(ranking)
    at = place % len(ranking)
    longer = [*ranking[: at + 1], ranking[at], *ranking[at + 1 :]]
    before, after = everything(case, k), everything((longer, gold), k)
    assert all(after[name] <= before[name] + 1e-12 for name in before if not name.startswith("judged"))


@quick
@given(CASES, st.integers(1, 19))
def test_more_places_never_lower_what_counts_hits(case: Case, k: int) -> None:
    for family in ("hit_rate", "recall", "mrr", "map"):
        assert value(f"{family}@{k}", *case) <= value(f"{family}@{k + 1}", *case) + 1e-12


@quick
@given(CASES, CUTOFFS, st.data())
def test_the_order_of_irrelevant_items_at_the_end_does_not_matter(case: Case, k: int, data: st.DataObject) -> None:
    ranking, gold = case
    tail = data.draw(st.permutations([f"x{number}" for number in range(4)]))
    ordered, shuffled = [*ranking, "x0", "x1", "x2", "x3"], [*ranking, *tail]
    assert everything((ordered, gold), k) == pytest.approx(everything((shuffled, gold), k))


@quick
@given(CASES, CUTOFFS, st.integers(1, 5))
def test_irrelevant_items_after_the_end_change_nothing_but_the_judged_share(case: Case, k: int, more: int) -> None:
    ranking, gold = case
    longer = [*ranking, *(f"x{number}" for number in range(more))]
    before, after = everything(case, k), everything((longer, gold), k)
    del before[f"judged@{k}"], after[f"judged@{k}"]
    assert before == pytest.approx(after)


@quick
@given(CASES, CUTOFFS)
def test_an_item_moved_up_before_an_irrelevant_one_never_hurts(case: Case, k: int) -> None:
    ranking, gold = list(dict.fromkeys(case[0])), case[1]
    assume(len(ranking) > 1 and gold.get(ranking[0], 0) <= 0)
    swapped = [ranking[1], ranking[0], *ranking[2:]]
    before, after = everything((ranking, gold), k), everything((swapped, gold), k)
    assert all(before[name] <= after[name] + 1e-12 for name in before if not name.startswith("judged"))


@quick
@given(st.lists(CASES, max_size=6), CUTOFFS)
def test_together_questions_measure_as_they_do_alone(cases: list[Case], k: int) -> None:
    rankings = rankings_of(cases)
    for metric in standard_metrics([k]):
        alone = [value(str(metric), *case) for case in cases]
        assert metric.of(rankings).tolist() == pytest.approx(alone, nan_ok=True)
