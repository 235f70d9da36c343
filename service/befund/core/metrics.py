"""The metric kernel: retrieval metrics of many questions at once, from where the judged items stand.

A ranking is looked at once, when it is added: only the ranks of its judged items are kept. Every metric at every cutoff
is then computed from those flat arrays for all questions together. Conventions are trec_eval's wherever it has one
(https://github.com/usnistgov/trec_eval); R is the number of relevant items of a question, h(k) the relevant items among
its first k. Each function returns one value a question, in the order the questions were added.
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.contract import Gain
from befund.core.eligibility import ANY_POSITIVE_GRADE

Values = NDArray[np.float64]


class Rankings:
    """Rankings reduced to the ranks and grades of their judged items; questions are numbered as they are added.

    Args:
        relevance_level: The grade from which an item counts as relevant; by default every grade above 0.
        gain: The gain of nDCG, `linear` (the grade) or `exp2` (2^grade - 1).
    """

    def __init__(self, *, relevance_level: float = ANY_POSITIVE_GRADE, gain: Gain = "linear") -> None:
        self.relevance_level = relevance_level
        self._gain = gain
        self._returned = array("i")
        self._found = array("i")
        self._found_ranks = array("i")
        self._found_grades = array("d")
        self._judged = array("i")
        self._judged_grades = array("d")

    def __len__(self) -> int:
        return len(self._returned)

    def add(self, ranking: Sequence[str], gold: Mapping[str, float]) -> None:
        """Add one question.

        Args:
            ranking: Retrieved ids, best first. An id that returns counts at its first rank only; the later rank stays
                occupied and gains nothing.
            gold: Grades of all judged items; above 0 is relevant, 0 or less is judged and not relevant.
        """
        first = {item: rank for rank, item in zip(range(len(ranking), 0, -1), reversed(ranking), strict=True)}
        found = [item for item in gold if item in first]
        number = self.begin(gold.values(), returned=len(ranking))
        self.find(number, [first[item] for item in found], [gold[item] for item in found])

    def begin(self, grades: Collection[float], *, returned: int) -> int:
        """Add one question with `returned` items, none of its judged items found yet; its number is returned."""
        self._returned.append(returned)
        self._judged.append(len(grades))
        self._judged_grades.fromlist(list(grades))
        return len(self._returned) - 1

    def find(self, question: int, ranks: list[int], grades: list[float]) -> None:
        """Say where judged items of a question were found (1 is best), and their grades."""
        self._found.extend([question] * len(ranks))
        self._found_ranks.extend(ranks)
        self._found_grades.extend(grades)

    def find_judged(self, questions: NDArray[np.int64], ranks: NDArray[np.int64], judged: NDArray[np.int64]) -> None:
        """Say where judged items of many questions were found, an entry each.

        Args:
            questions: Their questions.
            ranks: Their ranks.
            judged: Where they stand among the judged items of all questions, in the order these were added.
        """
        self._found.frombytes(questions.astype(np.int32).tobytes())
        self._found_ranks.frombytes(ranks.astype(np.int32).tobytes())
        self._found_grades.frombytes(np.asarray(self._judged_grades)[judged].tobytes())

    def set_returned(self, questions: NDArray[np.int64], returned: NDArray[np.int64]) -> None:
        """Say how many items came back for some questions."""
        np.asarray(self._returned)[questions] = returned

    def parts(self, questions: int) -> Iterator["Rankings"]:
        """The same in parts of so many questions, at least one, for computing in bounded memory."""
        if len(self) <= questions:
            yield self
            return
        judged = np.concatenate(([0], np.cumsum(np.asarray(self._judged))))
        for first in range(0, len(self), questions):
            stop = min(first + questions, len(self))
            part = Rankings(relevance_level=self.relevance_level, gain=self._gain)
            part._returned, part._judged = self._returned[first:stop], self._judged[first:stop]
            part._judged_grades = self._judged_grades[int(judged[first]) : int(judged[stop])]
            begin, end = np.searchsorted(self.found.question, (first, stop))
            found = self.found.where(slice(int(begin), int(end)))
            part.found = Items(found.question - first, found.rank, found.grade)
            yield part

    @cached_property
    def returned(self) -> NDArray[np.int64]:
        """How many items came back for each question."""
        return np.asarray(self._returned, dtype=np.int64)

    @cached_property
    def found(self) -> "Items":
        """The judged items that were retrieved, each question's in rank order."""
        question, ranks = np.asarray(self._found, dtype=np.int64), np.asarray(self._found_ranks)
        order = np.argsort(question * (int(ranks.max(initial=0)) + 1) + ranks)
        return Items(question[order], ranks[order], np.asarray(self._found_grades)[order])

    @cached_property
    def relevant(self) -> "Items":
        """The relevant items that were retrieved, each question's in rank order."""
        return self.found.where(self.found.grade >= self.relevance_level)

    @cached_property
    def relevant_position(self) -> NDArray[np.int64]:
        """For each retrieved relevant item: how many relevant items its question has down to it (itself included)."""
        return position_in_question(self.relevant.question)

    @cached_property
    def ideal(self) -> "Items":
        """Every item with a gain, each question's best first; the rank is the one it has in an ideal ranking."""
        grade = np.asarray(self._judged_grades)
        question = np.repeat(np.arange(len(self)), self._judged)
        gaining = grade > 0
        levels = np.unique(grade[gaining])
        below_best = len(levels) - 1 - np.searchsorted(levels, grade[gaining])
        # one whole number holds both, and sorting plain numbers is far quicker than sorting by two keys
        question, below_best = np.divmod(np.sort(question[gaining] * len(levels) + below_best), max(1, len(levels)))
        return Items(question, position_in_question(question), levels[::-1][below_best])

    @cached_property
    def relevant_count(self) -> NDArray[np.int64]:
        """R: how many relevant items each question has, retrieved or not."""
        relevant = np.asarray(self._judged_grades) >= self.relevance_level
        return self.count(np.repeat(np.arange(len(self)), self._judged)[relevant])

    @cached_property
    def non_relevant_count(self) -> NDArray[np.int64]:
        """N: how many items of each question are judged not relevant; as in trec_eval, negative grades do not count."""
        grade = np.asarray(self._judged_grades)
        non_relevant = (grade >= 0) & (grade < self.relevance_level)
        return self.count(np.repeat(np.arange(len(self)), self._judged)[non_relevant])

    def relevant_within(self, k: int | NDArray[np.int64]) -> NDArray[np.int64]:
        """h(k) of each question; k is one cutoff, or one a question."""
        limit = k if isinstance(k, int) else k[self.relevant.question]
        return self.count(self.relevant.question[self.relevant.rank <= limit])

    def count(self, question: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each question's number occurs."""
        return np.bincount(question, minlength=len(self))

    def total(self, question: NDArray[np.int64], weight: Values) -> Values:
        """The sum of the weights of each question."""
        return np.bincount(question, weights=weight, minlength=len(self)).astype(np.float64, copy=False)

    @cached_property
    def _best_grade(self) -> Values:
        first = self.ideal.where(self.ideal.rank == 1)
        return self.total(first.question, first.grade)

    def discounted_gain(self, items: "Items", k: int) -> Values:
        """Sum of gain / log2(rank + 1) over each question's items down to rank k, in units of its own.

        The unit is the gain of the best grade, which keeps any finite grade from overflowing.
        """
        items = items.where((items.rank <= k) & (items.grade > 0))
        best = self._best_grade[items.question]
        gain = items.grade / best
        if self._gain == "exp2":
            gain *= np.exp2(items.grade - best) * _exp2_slope(items.grade) / _exp2_slope(best)
        log2 = np.log2(np.arange(1, int(items.rank.max(initial=0)) + 2))
        return self.total(items.question, gain / log2[items.rank])


class Items(Struct, frozen=True):
    """Parallel arrays, an item each: the number of its question (ascending), its rank (1 is best), its grade."""

    question: NDArray[np.int64]
    rank: NDArray[np.int64]
    grade: Values

    def where(self, keep: NDArray[np.bool_] | slice) -> "Items":
        """The items for which `keep` holds."""
        return Items(self.question[keep], self.rank[keep], self.grade[keep])


def hit_rate(rankings: Rankings, k: int) -> Values:
    """1 if a relevant item is among the first k, else 0 (trec_eval `success`).

    >>> hit_rate(rankings_of([("ABCDE", {"B": 1, "D": 1, "X": 1, "Y": 1})]), 1).tolist()
    [0.0]
    """
    return (rankings.relevant_within(k) > 0).astype(np.float64)


def precision(rankings: Rankings, k: int) -> Values:
    """h(k) / k, in 0..1. Divides by k even when fewer came back; 0 for an empty list (trec_eval `P`).

    >>> precision(rankings_of([("ABCDE", {"B": 1, "D": 1, "X": 1, "Y": 1})]), 5).tolist()
    [0.4]
    """
    return rankings.relevant_within(k) / k


def recall(rankings: Rankings, k: int) -> Values:
    """h(k) / R, in 0..1, R over all gold; 0 where nothing is relevant (trec_eval `recall`).

    >>> recall(rankings_of([("ABCDE", {"B": 1, "D": 1, "X": 1, "Y": 1})]), 5).tolist()
    [0.5]
    """
    return _per_relevant(rankings.relevant_within(k), rankings)


def f1(rankings: Rankings, k: int) -> Values:
    """2 h(k) / (k + R), in 0..1: the harmonic mean of precision and recall at k.

    >>> f1(rankings_of([("ABCDE", {"B": 1, "D": 1, "X": 1})]), 5).tolist()
    [0.5]
    """
    return np.asarray(2 * rankings.relevant_within(k) / (k + rankings.relevant_count), dtype=np.float64)


def mrr(rankings: Rankings, k: int) -> Values:
    """1 / rank of the first relevant item if that rank is at most k, else 0 (trec_eval `recip_rank`, cut at k).

    >>> mrr(rankings_of([("ABCDE", {"B": 1, "D": 1})]), 5).tolist()
    [0.5]
    """
    first = rankings.relevant.where((rankings.relevant_position == 1) & (rankings.relevant.rank <= k))
    return rankings.total(first.question, 1 / first.rank)


def average_precision(rankings: Rankings, k: int) -> Values:
    """(1 / R) times the sum of precision@r over the ranks r <= k of relevant items, in 0..1 (trec_eval `map_cut`).

    Divides by R, not by min(R, k).

    >>> average_precision(rankings_of([("ABCDE", {"B": 1, "D": 1, "X": 1, "Y": 1})]), 5).tolist()
    [0.25]
    """
    within = rankings.relevant.rank <= k
    precision_at_rank = rankings.relevant_position[within] / rankings.relevant.rank[within]
    return _per_relevant(rankings.total(rankings.relevant.question[within], precision_at_rank), rankings)


def ndcg(rankings: Rankings, k: int) -> Values:
    """DCG@k / ideal DCG@k, in 0..1: gain = grade, discount 1 / log2(rank + 1) (Järvelin and Kekäläinen 2002).

    The ideal is over all gold of the question, best first, cut at k (trec_eval `ndcg_cut`), so a duplicate cannot lift
    it above 1; grades of 0 or less gain nothing. 0 where nothing is relevant.

    >>> ndcg(rankings_of([("BA", {"A": 3, "B": 1})]), 2).round(4).tolist()
    [0.7967]
    """
    ideal = rankings.discounted_gain(rankings.ideal, k)
    return np.divide(rankings.discounted_gain(rankings.found, k), ideal, out=np.zeros_like(ideal), where=ideal > 0)


def judged(rankings: Rankings, k: int) -> Values:
    """Judged items among the first k / min(k, returned), in 0..1; NaN (not defined) for an empty list.

    Judged is gold of any grade, or listed as not relevant. Low values mean that the other metrics understate.

    >>> judged(rankings_of([("ABCD", {"A": 1, "C": 0}), ("", {"A": 1})]), 3).round(4).tolist()
    [0.6667, nan]
    """
    found = rankings.count(rankings.found.question[rankings.found.rank <= k])
    shown = np.minimum(k, rankings.returned)
    shares = np.full(len(rankings), np.nan)
    np.divide(found, shown, out=shares, where=shown > 0)
    return shares


def r_precision(rankings: Rankings) -> Values:
    """h(R) / R, in 0..1 (trec_eval `Rprec`).

    >>> r_precision(rankings_of([("ABCDE", {"B": 1, "D": 1})])).tolist()
    [0.5]
    """
    return _per_relevant(rankings.relevant_within(rankings.relevant_count), rankings)


def bpref(rankings: Rankings) -> Values:
    """Sum of 1 - min(non-relevant above, R) / min(N, R) over retrieved relevant items, / R (Buckley and Voorhees 2004).

    Unjudged items do not count. A relevant item with no judged non-relevant item above it counts 1.

    >>> bpref(rankings_of([("XAYB", {"A": 1, "B": 1, "X": 0, "Y": 0})])).tolist()
    [0.25]
    """
    found, count = rankings.found, rankings.relevant_count
    is_relevant = found.grade >= rankings.relevance_level
    non_relevant = ((found.grade >= 0) & ~is_relevant).astype(np.int64)
    running = np.cumsum(non_relevant)
    before_question = np.concatenate(([0], running))[np.searchsorted(found.question, found.question[is_relevant])]
    question = found.question[is_relevant]
    above = np.minimum(running[is_relevant] - before_question, count[question])
    bound = np.minimum(rankings.non_relevant_count, count)[question]
    penalty = np.divide(above, bound, out=np.zeros(len(above)), where=bound > 0)
    return _per_relevant(rankings.total(question, 1 - penalty), rankings)


AT_CUTOFF: dict[str, Callable[[Rankings, int], Values]] = {
    "hit_rate": hit_rate,
    "precision": precision,
    "recall": recall,
    "mrr": mrr,
    "ndcg": ndcg,
    "map": average_precision,
    "f1": f1,
    "judged": judged,
}
WHOLE_RANKING: dict[str, Callable[[Rankings], Values]] = {"r_precision": r_precision, "bpref": bpref}
STANDARD = (*AT_CUTOFF, "r_precision")
EVIDENCE_LEVEL = ("hit_rate", "precision", "recall", "mrr")


class Metric(Struct, frozen=True):
    """A metric and its cutoff; `k` is None for those over the whole ranking."""

    family: str
    k: int | None = None

    def __str__(self) -> str:
        return self.family if self.k is None else f"{self.family}@{self.k}"

    @property
    def is_yes_or_no(self) -> bool:
        """Whether it can only be 0 or 1 for one question."""
        return self.family == "hit_rate" or (self.family in {"precision", "mrr", "judged"} and self.k == 1)

    def of(self, rankings: Rankings) -> Values:
        """Its value for each question; NaN where it is not defined."""
        if self.k is None:
            return WHOLE_RANKING[self.family](rankings)
        return AT_CUTOFF[self.family](rankings, self.k)


def standard_metrics(cutoffs: Iterable[int], families: Iterable[str] = STANDARD) -> list[Metric]:
    """Each family at each cutoff; families over the whole ranking once."""
    cutoffs = list(cutoffs)
    return [
        metric
        for family in families
        for metric in ([Metric(family, k) for k in cutoffs] if family in AT_CUTOFF else [Metric(family)])
    ]


def metric_named(name: str) -> Metric | None:
    """The metric that is written so; None where there is none.

    >>> metric_named("ndcg@10"), metric_named("ndcg"), metric_named("ndcg@010"), metric_named("bpref@1")
    (Metric(family='ndcg', k=10), None, None, None)
    """
    family, at, cutoff = name.partition("@")
    if not at:
        return Metric(family) if family in WHOLE_RANKING else None
    is_cutoff = cutoff.isascii() and cutoff.isdigit() and len(cutoff) <= 6 and 1 <= int(cutoff) <= 100_000
    return Metric(family, int(cutoff)) if family in AT_CUTOFF and is_cutoff and cutoff[0] != "0" else None


def rankings_of(questions: Iterable[tuple[Sequence[str], Mapping[str, float]]]) -> Rankings:
    """Rankings from pairs of retrieved ids and gold grades."""
    rankings = Rankings()
    for ranking, gold in questions:
        rankings.add(ranking, gold)
    return rankings


def position_in_question(question: NDArray[np.int64]) -> NDArray[np.int64]:
    """1, 2, 3 ... within each run of equal (ascending) question numbers.

    >>> position_in_question(np.array([0, 0, 2, 2, 2])).tolist()
    [1, 2, 1, 2, 3]
    """
    position = np.arange(len(question))
    begins = np.ones(len(question), dtype=np.bool_)
    begins[1:] = question[1:] != question[:-1]
    return position - np.maximum.accumulate(np.where(begins, position, 0)) + 1


def _per_relevant(amount: NDArray[np.int64] | Values, rankings: Rankings) -> Values:
    count = rankings.relevant_count
    return np.divide(amount, count, out=np.zeros(len(rankings)), where=count > 0)


def _exp2_slope(grade: Values) -> Values:
    """(1 - 2^-grade) / grade, precise for the smallest and the largest grades; it is flat below 1e-300."""
    grade = np.maximum(grade, 1e-300)
    return np.asarray(-np.expm1(-np.log(2) * grade) / grade)
