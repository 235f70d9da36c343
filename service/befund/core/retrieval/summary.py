"""From values a question to means with intervals: over all eligible questions, and by tag."""

import math
from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from befund.contract import Estimate, QuestionResult, RetrieveEvalOptions, Slice
from befund.core.errors import ContradictionError
from befund.core.metrics import (
    AT_CUTOFF,
    EVIDENCE_LEVEL,
    STANDARD,
    WHOLE_RANKING,
    Metric,
    Rankings,
    Values,
    standard_metrics,
)
from befund.core.retrieval.cases import Cases
from befund.core.stats import mean_intervals

MOST_SLICES = 200
MOST_SLICE_ESTIMATES = 7_000
"""So many intervals by tag are a matter of seconds; one request must not keep a thread for minutes."""
MOST_VALUES = 20_000_000
MOST_LISTED_VALUES = 4_000_000
QUESTIONS_AT_ONCE = 16_384


def chosen_metrics(request: RetrieveEvalOptions) -> list[Metric]:
    """The metrics a request asks for: the standard set at every k, or those it names.

    Raises:
        ContradictionError: It names one that does not exist, or not at its level.
    """
    families = EVIDENCE_LEVEL if request.level == "evidence" else (*AT_CUTOFF, *WHOLE_RANKING)
    cutoffs = sorted(set(request.k))
    if request.metrics is None:
        return standard_metrics(cutoffs, [family for family in STANDARD if family in families])
    chosen: dict[Metric, None] = {}
    for name in request.metrics:
        family, at, cutoff = name.partition("@")
        if family not in families or (at and (family not in AT_CUTOFF or not _is_cutoff(cutoff))):
            raise ContradictionError.at(
                "/metrics",
                "unknown-metric",
                f"There is no metric {name!r} at level {request.level}. There are {', '.join(families)}; those with a "
                "cutoff can be given one of 1 to 100000, as in ndcg@10.",
            )
        chosen.update(dict.fromkeys([Metric(family, int(cutoff))] if at else standard_metrics(cutoffs, [family])))
    return list(chosen)


def measure(cases: Cases, metrics: list[Metric]) -> dict[Metric, Values]:
    """Each metric's value for each eligible question; NaN where it is not defined.

    Raises:
        ContradictionError: These would be more values than fit in memory or an answer.
    """
    wanted = len(cases.eligible) * len(metrics)
    most = MOST_LISTED_VALUES if cases.results else MOST_VALUES
    if wanted > most:
        raise ContradictionError.at(
            "/metrics",
            "too-many-values",
            f"{len(metrics)} metrics of {len(cases.eligible)} questions are {wanted} values, more than {most}. "
            f"Name fewer metrics or cutoffs{', or set per_question to false' if cases.results else ''}.",
        )
    values: dict[Metric, list[Values]] = {metric: [] for metric in metrics}
    for chunks, items in _parts(cases):
        for metric, of_parts in values.items():
            of_parts.append(metric.of(chunks if metric.family == "precision" else items))
    return {metric: np.concatenate(of_parts) for metric, of_parts in values.items()}


def _parts(cases: Cases) -> Iterator[tuple[Rankings, Rankings]]:
    """Rankings of chunks, and of what is scored; part by part, since computing takes several times their memory."""
    if cases.items is not None:
        return zip(cases.rankings.parts(QUESTIONS_AT_ONCE), cases.items.parts(QUESTIONS_AT_ONCE), strict=True)
    return ((part, part) for part in cases.rankings.parts(QUESTIONS_AT_ONCE))


def estimates(values: dict[Metric, Values], *, confidence: float, seed: int) -> dict[str, Estimate]:
    """Means over the questions for which each metric is defined, with their intervals."""
    together: dict[bytes, list[Metric]] = {}
    defined = {metric: ~np.isnan(of_questions) for metric, of_questions in values.items()}
    for metric, mask in defined.items():
        together.setdefault(mask.tobytes(), []).append(metric)
    found: dict[str, Estimate] = {}
    for metrics in together.values():
        columns = [values[metric][defined[metric]] for metric in metrics]
        yes_or_no = [metric.is_yes_or_no for metric in metrics]
        intervals = mean_intervals(columns, yes_or_no=yes_or_no, confidence=confidence, seed=seed)
        for metric, column, interval in zip(metrics, columns, intervals, strict=True):
            attempted = len(values[metric])
            found[str(metric)] = Estimate(
                value=float(column.mean()) if len(column) else None,
                ci=interval.limits,
                n=len(column),
                attempted=attempted,
                unscored=attempted - len(column),
                method=interval.method,
            )
    return {str(metric): found[str(metric)] for metric in values}


def slices(cases: Cases, values: dict[Metric, Values], *, confidence: float, seed: int) -> dict[str, Slice]:
    """The same by tag, for the most frequent tags (of 200, or fewer where many metrics are asked for)."""
    most = min(MOST_SLICES, MOST_SLICE_ESTIMATES // max(1, len(values)))
    frequent = sorted(cases.tagged, key=lambda tag: (-len(cases.tagged[tag]), tag))[:most]
    found: dict[str, Slice] = {}
    for tag in sorted(frequent):
        positions: NDArray[np.int64] = np.frombuffer(cases.tagged[tag], dtype=np.int64)
        part = {metric: of_questions[positions] for metric, of_questions in values.items()}
        found[tag] = Slice(n=len(positions), metrics=estimates(part, confidence=confidence, seed=seed))
    return found


def with_metrics(results: list[QuestionResult], values: dict[Metric, Values]) -> list[QuestionResult]:
    """The entries of questions, with the metrics of those that are eligible (they come in the same order)."""
    names = [str(metric) for metric in values]
    rows = zip(*map(_with_nulls, values.values()), strict=True)
    return [
        result
        if result.excluded
        else msgspec.structs.replace(result, metrics=dict(zip(names, next(rows), strict=True)))
        for result in results
    ]


def _with_nulls(values: Values) -> list[float | None]:
    numbers: list[float] = values.tolist()
    return [None if math.isnan(number) else number for number in numbers] if np.isnan(values).any() else [*numbers]


def _is_cutoff(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= 100_000
