"""The same peers as libraries, on random graded data of our own."""

import random
from typing import Any

import ir_measures
import pytest
import pytrec_eval

from .measures import UNCUT, Grades, Runs, measured, metric_of

QUESTIONS, POOL, RETURNED = 100, 60, 40
CUTOFFS = (1, 3, 5, 10, 100)
EXACT = 1e-9


@pytest.fixture(scope="module")
def data() -> tuple[Grades, Runs]:
    """Judgements of grades 0 to 3 (each question has a relevant one), and rankings of 0 to 40 items."""
    rng = random.Random(11)  # noqa: S311 - data for a test
    items = [f"item-{number}" for number in range(POOL)]
    grades, runs = {}, {}
    for number in range(QUESTIONS):
        judged = rng.sample(items, rng.randint(1, 25))
        grades[f"q{number}"] = {item: rng.choice([0, 0, 1, 2, 3]) for item in judged} | {judged[0]: rng.randint(1, 3)}
        runs[f"q{number}"] = rng.sample(items, rng.randint(1, RETURNED))
    return grades, runs


def scored(runs: Runs) -> dict[str, dict[str, float]]:
    """Runs as peers take them: scores that fall down the list."""
    return {
        question: {item: float(UNCUT - at) for at, item in enumerate(ranking)} for question, ranking in runs.items()
    }


def assert_same(data: tuple[Grades, Runs], theirs: dict[str, dict[str, float]], **options: Any) -> None:
    """Compare measures by question, given as {measure: {question: value}}."""
    assert all(len(values) == QUESTIONS for values in theirs.values())
    metrics = {measure: metric_of(measure) for measure in theirs}
    ours = measured(*data, list(metrics.values()), **options)
    for measure, values in theirs.items():
        assert ours[metrics[measure]] == pytest.approx(values, abs=EXACT, rel=0), measure


@pytest.mark.parametrize("level", [1, 2, 3])
def test_pytrec_eval(data: tuple[Grades, Runs], level: int) -> None:
    at = ",".join(map(str, CUTOFFS))
    asked = {f"{name}.{at}" for name in ("P", "recall", "map_cut", "ndcg_cut", "success")}
    asked |= {"map", "ndcg", "Rprec", "bpref", "recip_rank"}
    rows = pytrec_eval.RelevanceEvaluator(data[0], asked, relevance_level=level).evaluate(scored(data[1]))
    names = [f"{name}_{k}" for name in ("P", "recall", "map_cut", "ndcg_cut", "success") for k in CUTOFFS]
    names += ["map", "ndcg", "Rprec", "bpref", "recip_rank"]
    theirs = {name: {question: row[name] for question, row in rows.items()} for name in names}
    assert len(theirs) == 30
    assert_same(data, theirs, relevance_level=level)


def test_ir_measures(data: tuple[Grades, Runs]) -> None:
    names = [f"{name}@{k}" for name in ("P", "R", "AP", "nDCG", "Success", "RR", "Judged") for k in CUTOFFS]
    names += ["AP", "nDCG", "RR", "Rprec", "Bpref"]
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs: dict[str, dict[str, float]] = {name: {} for name in names}
    for row in ir_measures.iter_calc(measures, data[0], scored(data[1])):
        theirs[str(row.measure)][row.query_id] = row.value
    assert len(theirs) == 40
    assert_same(data, theirs)


@pytest.mark.filterwarnings("ignore")  # ranx's sources warn when compiled
def test_ranx(data: tuple[Grades, Runs], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling takes a minute, interpreting seconds
    import ranx

    families = ("hit_rate", "precision", "recall", "mrr", "map", "f1", "ndcg", "ndcg_burges")
    names = [*(f"{name}@{k}" for name in families for k in CUTOFFS), "r-precision"]
    runs = ranx.Run(scored(data[1]))
    ranx.evaluate(ranx.Qrels(dict(data[0])), runs, names, return_mean=False)
    theirs = {name: {question: float(value) for question, value in runs.scores[name].items()} for name in names}
    exponential = {name: theirs.pop(name) for name in names if name.startswith("ndcg_burges")}
    assert (len(theirs), len(exponential)) == (36, 5)
    assert_same(data, theirs)
    assert_same(data, exponential, exp2=True)
