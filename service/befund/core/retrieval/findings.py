"""What a reader should know before trusting the figures."""

from collections.abc import Collection, Iterator

import numpy as np

from befund.contract import Finding
from befund.core.metrics import recall
from befund.core.retrieval.cases import Cases

SMALL_SAMPLE = 100
REACHED_LATE = 0.8
MISSED_EARLY = 0.6


def findings(cases: Cases, cutoffs: Collection[int], *, generated: bool, wrong_ids: bool, slices: int) -> list[Finding]:
    """Everything noteworthy about one measurement, most serious first.

    Args:
        cases: The questions and rankings.
        cutoffs: The cutoffs asked for.
        generated: Whether the data set was generated rather than written.
        wrong_ids: Whether nothing retrieved in the whole run is gold or in the index.
        slices: How many tags are reported as slices.
    """
    return [
        finding
        for group in (
            _wrong_ids(wrong_ids),
            _access(cases),
            _false_positives(cases),
            _coverage(cases, slices),
            _order(cases),
            _ranking_gap(cases, cutoffs),
            _sample(cases, generated=generated),
        )
        for finding in group
    ]


def _wrong_ids(wrong_ids: bool) -> Iterator[Finding]:
    if wrong_ids:
        yield Finding(
            code="NO_ID_OVERLAP",
            message="Nothing retrieved in the whole run is a gold chunk or in the index: the rankings probably use "
            "another kind of id (document ids instead of chunk ids, say).",
        )


def _access(cases: Cases) -> Iterator[Finding]:
    if cases.leaks:
        leaked = sum(map(len, cases.leaks.values()))
        unnamed = f" ({cases.leaks_without_roles} of them name no role)" if cases.leaks_without_roles else ""
        them = "it" if leaked == 1 else "them"
        yield Finding(
            code="ACL_LEAK",
            message=f"{_count(leaked, 'chunk')} came back for a role that may not read {them}{unnamed}: "
            "filter by role in the search, not after it.",
            questions=list(cases.leaks),
        )


def _false_positives(cases: Cases) -> Iterator[Finding]:
    if cases.false_positives:
        came_back = sum(map(len, cases.false_positives.values()))
        yield Finding(
            code="KNOWN_FALSE_POSITIVES",
            message=f"{_count(came_back, 'known false positive')} came back.",
            questions=list(cases.false_positives),
        )


def _coverage(cases: Cases, slices: int) -> Iterator[Finding]:
    if not cases.eligible:
        yield Finding(
            code="NO_ELIGIBLE_QUESTION",
            message=f"{_none_of(cases.total)} be scored: see the exclusions.",
        )
    if cases.missing:
        yield Finding(
            code="MISSING_FROM_RUN",
            message=f"{_count(len(cases.missing), 'eligible question')} without a ranking: scored 0.",
            questions=cases.missing,
        )
    if cases.unknown:
        yield Finding(
            code="UNKNOWN_IN_RUN",
            message=f"{_count(cases.unknown, 'ranking')} for questions that the data set does not have: not scored.",
        )
    if len(cases.tagged) > slices:
        yield Finding(
            code="SLICES_LIMITED",
            message=f"{len(cases.tagged)} tags: only the {slices} most frequent are reported as slices.",
        )


def _order(cases: Cases) -> Iterator[Finding]:
    if cases.duplicates:
        yield Finding(
            code="DUPLICATE_IDS",
            message=f"{_count(len(cases.duplicates), 'ranking')} with an id more than once: the first occurrence "
            "counts, later ones keep their rank and gain nothing.",
            questions=list(cases.duplicates),
        )
    if cases.unordered:
        yield Finding(
            code="SCORES_NOT_MONOTONE",
            message=f"{_count(len(cases.unordered), 'ranking')} whose scores rise down the list. The order given is "
            "the rank order; if these scores are similarities, sort before sending.",
            questions=cases.unordered,
        )
    if cases.tied:
        yield Finding(
            code="TIED_SCORES",
            message=f"{_count(len(cases.tied), 'ranking')} sorted by score with equal scores: ties were broken by id, "
            "descending, as trec_eval does.",
            questions=cases.tied,
        )


def _ranking_gap(cases: Cases, cutoffs: Collection[int]) -> Iterator[Finding]:
    smallest, largest = min(cutoffs), max(cutoffs)
    if not cases.eligible or smallest == largest:
        return
    rankings = cases.rankings if cases.items is None else cases.items
    early, late = recall(rankings, smallest), recall(rankings, largest)
    reachable = np.minimum(1.0, smallest / np.maximum(rankings.relevant_count, 1))
    improvable = np.flatnonzero(early < np.minimum(late, reachable) - 1e-12)
    if late.mean() >= REACHED_LATE and early.mean() <= MISSED_EARLY * late.mean() and len(improvable):
        yield Finding(
            code="RANKING_GAP",
            message=f"Recall is {late.mean():.3f} at {largest} but {early.mean():.3f} at {smallest}: the right chunks "
            "are found and ranked too low. Rerank; the index is not the problem.",
            questions=[cases.eligible[i] for i in improvable],
        )


def _sample(cases: Cases, *, generated: bool) -> Iterator[Finding]:
    if 0 < len(cases.eligible) < SMALL_SAMPLE:
        worth = 100 / len(cases.eligible)
        yield Finding(
            code="SMALL_SAMPLE",
            message=f"{_count(len(cases.eligible), 'eligible question')}: one question is worth {worth:.1f} points.",
        )
    if generated:
        yield Finding(
            code="GENERATED_DATASET",
            message="The questions were generated, not asked by users: trust differences more than levels.",
        )


def _none_of(questions: int) -> str:
    match questions:
        case 0:
            return "There are no questions that can"
        case 1:
            return "The one question cannot"
    return f"None of the {questions} questions can"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
