"""What trec_eval and its relatives call our metrics, and our values for their runs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from befund.core.metrics import Metric, Rankings
from befund_client import read_dataset, read_rankings

UNCUT = 100_000
"""A cutoff beyond every list here: what a peer measures over the whole list."""

Family = Literal["trec", "ir_measures"]
Grades = Mapping[str, Mapping[str, float]]
Runs = Mapping[str, Sequence[str]]
Figures = Mapping[str, Mapping[str, float]]

_TREC = {
    "P": "precision",
    "recall": "recall",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "success": "hit_rate",
    "map": "map",
    "ndcg": "ndcg",
    "Rprec": "r_precision",
    "bpref": "bpref",
    "recip_rank": "mrr",
}
_IR_MEASURES = {
    "P": "precision",
    "R": "recall",
    "AP": "map",
    "nDCG": "ndcg",
    "Success": "hit_rate",
    "RR": "mrr",
    "Rprec": "r_precision",
    "Bpref": "bpref",
    "Judged": "judged",
}
_RANX = {
    "precision": "precision",
    "recall": "recall",
    "map": "map",
    "ndcg": "ndcg",
    "hit_rate": "hit_rate",
    "mrr": "mrr",
    "r-precision": "r_precision",
    "f1": "f1",
    "ndcg_burges": "ndcg",
}


def metric_of(name: str) -> Metric | None:
    """Our metric for a peer's name (`P_5`, `nDCG@10`, `hit_rate@3`, `map`); None for what we do not have."""
    plain = re.sub(r"\(.*?\)|-l2$", "", name)
    at = re.fullmatch(r"(.+?)[_@](\d+)", plain)
    family, cutoff = (at[1], int(at[2])) if at else (plain, UNCUT)
    known = _IR_MEASURES.get(family) or _TREC.get(family) or _RANX.get(family)
    if known is None:
        return None
    return Metric(known) if known in {"r_precision", "bpref"} else Metric(known, cutoff)


def measured(
    grades: Grades, runs: Runs, metrics: Sequence[Metric], *, relevance_level: float = 1, exp2: bool = False
) -> dict[Metric, dict[str, float]]:
    """Our value of each metric for each question of the judgements."""
    rankings = Rankings(relevance_level=relevance_level, gain="exp2" if exp2 else "linear")
    for question, judged in grades.items():
        rankings.add(runs.get(question, []), judged)
    return {metric: dict(zip(grades, metric.of(rankings).tolist(), strict=True)) for metric in metrics}


def judgements(path: Path) -> Grades:
    return {question.id: question.relevant for question in read_dataset(path).value.questions}


def run(path: Path) -> Runs:
    return read_rankings(path).value


def mean(values: Mapping[str, float]) -> float:
    return float(np.mean(list(values.values())))
