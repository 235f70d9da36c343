"""Values that pytrec_eval, ir_measures and ranx computed for public runs, question by question, and for edge cases."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from befund.core.retrieval.ranking import in_rank_order

from .measures import Grades, Runs, judgements, measured, metric_of, run

SETS = {
    "irm_compat": ("ir_measures/compat.qrels", "ir_measures/compat.run", 1),
    "irm_cwl": ("ir_measures/cwl.qrels", "ir_measures/cwl.run", 1),
    "trec301_binary": ("trec_eval/qrels.test", "trec_eval/results.test", 1),
    "trec301_graded_l1": ("trec_eval/qrels.rel_level", "trec_eval/results.test", 1),
    "trec301_graded_l2": ("trec_eval/qrels.rel_level", "trec_eval/results.test", 2),
    "trec301_trunc_missing302": ("trec_eval/qrels.test", "trec_eval/results.trunc", 1),
}


class Figure(Struct, frozen=True):
    """One value of a peer."""

    question: str
    measure: str
    value: float

    @property
    def rounding(self) -> float:
        """One implementation of nDCG with exponential gain gives five decimals."""
        return 1e-5 if "exp-log2" in self.measure else 1e-6


def ours(figure: Figure, grades: Grades, runs: Runs, *, relevance_level: float = 1) -> float:
    metric = metric_of(figure.measure)
    assert metric is not None
    exp2 = "exp-log2" in figure.measure or "burges" in figure.measure
    return measured(grades, runs, [metric], relevance_level=relevance_level, exp2=exp2)[metric][figure.question]


def figures_of(rows: dict[str, Any]) -> Iterator[Figure]:
    """What a peer says of each question; means over questions and peers that gave up are left out."""
    for question, row in rows.items():
        if question not in {"ERROR", "all", "_agg"}:
            for measure, value in row.items():
                if metric_of(measure):
                    yield Figure(question, measure, float(value))


@pytest.mark.parametrize(
    ("name", "peer", "count"),
    [
        ("irm_compat", "pytrec_eval", 56),
        ("irm_compat", "ir_measures", 66),
        ("irm_compat", "ranx", 70),
        ("irm_cwl", "pytrec_eval", 84),
        ("irm_cwl", "ir_measures", 99),
        ("irm_cwl", "ranx", 105),
        ("trec301_binary", "pytrec_eval", 84),
        ("trec301_binary", "ir_measures", 105),
        ("trec301_binary", "ranx", 105),
        ("trec301_graded_l1", "pytrec_eval", 84),
        ("trec301_graded_l1", "ir_measures", 105),
        ("trec301_graded_l1", "ranx", 105),
        ("trec301_graded_l2", "pytrec_eval", 84),
        ("trec301_graded_l2", "ir_measures", 105),
        ("trec301_graded_l2", "ranx", 105),
        ("trec301_trunc_missing302", "pytrec_eval", 56),
        ("trec301_trunc_missing302", "ir_measures", 102),
        ("trec301_trunc_missing302", "ranx", 105),
    ],
)
def test_every_value(reference: Path, name: str, peer: str, count: int) -> None:
    qrels, results, level = SETS[name]
    grades, runs = judgements(reference / qrels), run(reference / results)
    expected = [
        figure
        for figure in figures_of(json.loads((reference / f"expected_{name}.json").read_text())[peer])
        if not (figure.question not in runs and figure.measure.startswith("Judged"))
    ]
    got = [ours(figure, grades, runs, relevance_level=level) for figure in expected]
    assert len(expected) == count
    apart = [
        (figure, value)
        for figure, value in zip(expected, got, strict=True)
        if abs(figure.value - value) > figure.rounding
    ]
    assert apart == []


def test_the_judged_share_of_a_question_missing_from_the_run_is_not_defined(reference: Path) -> None:
    # ir_measures says 0; nothing was retrieved, so there is nothing of which a share could be judged.
    qrels, results, _ = SETS["trec301_trunc_missing302"]
    assert math.isnan(ours(Figure("302", "Judged@5", 0.0), judgements(reference / qrels), run(reference / results)))


# Edge cases: where peers differ from us, and why. Everything else must agree.

TIE_ORDER = "ties fall back on the id, descending, as in trec_eval 10; this peer takes another order"
FLOAT32 = "scores are compared in double precision, as in trec_eval 10; this peer compares them as 32-bit floats"
INTEGERS = "a grade may be any number; this peer cuts 1.5 to 1"
NO_BPREF = (
    "trec_eval 10 counts 1 for a relevant item that has no judged non-relevant one above it; this peer divides by 0"
)
NOTHING_RETRIEVED = "the judged share of an empty list is not defined; this peer says 0"

_ORDERED = {"map", "mrr", "ndcg@3", "ndcg@5", "hit_rate@1", "precision@1", "r-precision"}
_ORDERED_PYTREC = {"P_1", "Rprec", "map", "ndcg_cut_3", "ndcg_cut_5", "recip_rank", "success_1"}
_ORDERED_IRM = {"AP", "P@1", "RR", "Rprec", "Success@1", "nDCG@3", "nDCG@5"}

DIFFERENCES: dict[tuple[str, str], tuple[set[str], str]] = {
    ("float32_near_tie", "pytrec_eval"): (_ORDERED_PYTREC, FLOAT32),
    ("float32_near_tie", "ir_measures"): (_ORDERED_IRM, FLOAT32),
    ("float_rel", "trec_eval_10"): ({"ndcg_cut_3", "ndcg_cut_5"}, INTEGERS),
    ("float_rel", "trec_eval_10_c"): ({"ndcg_cut_3", "ndcg_cut_5"}, INTEGERS),
    ("float_rel", "ranx"): ({"ndcg@3", "ndcg@5", "bpref"}, INTEGERS),
    ("tie_scores", "ranx"): (_ORDERED | {"bpref"}, TIE_ORDER),
    ("tie_scores", "ir_measures"): ({"RR@5"}, TIE_ORDER),
    ("tie_scores_relevant_last_id", "ranx"): (_ORDERED | {"bpref"}, TIE_ORDER),
    ("tie_scores_relevant_last_id", "ir_measures"): ({"RR@5"}, TIE_ORDER),
    ("query_missing_in_run", "ir_measures"): ({"Judged@5"}, NOTHING_RETRIEVED),
    **{
        (case, "ranx"): ({"bpref"}, NO_BPREF)
        for case in (
            "bpref_no_judged_nonrel",
            "empty_qrels_for_query",
            "fewer_than_k",
            "float32_near_tie",
            "graded_ideal_longer",
            "negative_rel",
            "negative_rel_retrieved_only",
            "query_empty_in_run",
            "query_extra_in_run",
            "query_missing_in_run",
            "unicode_ids",
        )
    },
}
REFUSED = {"nan_score"}
"""A score that is no number is refused before anything is measured."""

PEERS = ("trec_eval_10", "trec_eval_10_c", "pytrec_eval", "ir_measures", "ranx")


def test_every_edge_case_agrees_or_differs_for_a_known_reason(reference: Path) -> None:
    cases = json.loads((reference / "edge_cases.json").read_text())
    apart: dict[tuple[str, str], set[str]] = {}
    compared = 0
    for case, given in cases.items():
        if case in REFUSED:
            continue
        runs = {question: in_rank_order(scores).ids for question, scores in given["run"].items()}
        for peer in PEERS:
            rounding = 5.01e-5 if peer.startswith("trec_eval") else 1e-6
            for figure in figures_of(given[peer]):
                compared += 1
                if not abs(ours(figure, given["qrels"], runs) - figure.value) <= rounding:
                    apart.setdefault((case, peer), set()).add(figure.measure)
    assert apart == {place: measures for place, (measures, _) in DIFFERENCES.items()}
    assert len(cases) == 18
    assert compared == 1090
