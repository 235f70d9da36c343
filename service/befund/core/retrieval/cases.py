"""Questions meet their rankings, one at a time; what measuring needs is kept, the rest is dropped."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import numpy as np

from befund.contract import Exclusion, QuestionResult
from befund.core.eligibility import ANY_POSITIVE_GRADE, Gold, Mapped, exclusion_of, gold_of
from befund.core.errors import BefundError, ContradictionError
from befund.core.metrics import Rankings
from befund.core.retrieval.content import ContentHash
from befund.core.retrieval.envelope import (
    LazyDataset,
    LazyQuestion,
    LazyRetrieveEvalRequest,
    read_mapping,
    read_question,
)
from befund.core.retrieval.ranking import NOTHING_RETRIEVED, Retrieved, Sighting, repeated
from befund.core.retrieval.run import Look, Run

_BLOCK = 96
_NOT_SCORED = -1


class Cases:
    """Every selected question, accounted for.

    Attributes:
        relevance_level: The grade from which a chunk counts as relevant.
        evidence_mapping: Evidence ids to chunk ids.
        total: How many questions were selected.
        eligible: Ids of the questions that are scored, in the order of the data set.
        excluded: Ids of the others by reason.
        missing: Eligible questions without a ranking.
        unknown: How many rankings belong to no question of the data set.
        rankings: The eligible questions' rankings of chunks.
        items: Their rankings of evidence ids; None at level `chunk`.
        tagged: For each tag the positions in `eligible` of the questions that carry it.
        duplicates: For each question the chunks that came back more than once.
        false_positives: For each question its known false positives down to the largest k.
        leaks: For each question the chunks that its role may not read.
        unordered: Questions whose scores rise somewhere down the list.
        tied: Questions whose sort by score met equal scores.
        shown: Chunks down to the largest k, summed over the questions with a ranking.
        ranked: How many questions have a ranking.
        results: One entry a question (metrics still empty) if they were asked for.
    """

    def __init__(self, request: LazyRetrieveEvalRequest, evidence_mapping: Mapped) -> None:
        self.evidence_mapping = evidence_mapping
        self._largest_k = max(request.k)
        self._keep_results = request.per_question
        self.relevance_level = request.relevance_level or ANY_POSITIVE_GRADE
        self._index = None if request.index_chunk_ids is None else frozenset(request.index_chunk_ids)
        self.total = 0
        self.eligible: list[str] = []
        self.excluded: dict[Exclusion, list[str]] = {"behavior": [], "ground_truth": [], "mapping": [], "index": []}
        self.missing: list[str] = []
        self.unknown = 0
        self.rankings = Rankings(relevance_level=self.relevance_level, gain=request.gain)
        self.items = Rankings() if request.level == "evidence" else None
        self.tagged: dict[str, array[int]] = {}
        self.duplicates: dict[str, list[str]] = {}
        self.false_positives: dict[str, list[str]] = {}
        self.leaks: dict[str, list[str]] = {}
        self.unordered: list[str] = []
        self.tied: list[str] = []
        self.shown = 0
        self.ranked = 0
        self.results: list[QuestionResult] = []

    @property
    def index_checked(self) -> bool:
        """Whether the gold chunks were looked for in the index."""
        return self._index is not None

    def add(self, question: LazyQuestion, gold: Gold, look: Look) -> None:
        """Account for one question, with all that its ranking shows."""
        sighting = look.sighting or NOTHING_RETRIEVED
        exclusion = self._exclude(question, gold)
        if exclusion is None:
            number = self._begin(question, gold, sighting.returned)
            self.rankings.find(number, sighting.ranks, [gold.grades[chunk] for chunk in sighting.found])
            if self.items is not None:
                self._find_items(self.items, gold, sighting)
            if look.sighting is None:
                self.missing.append(question.id)
        if look.ranking is not None:
            self._watch(question, sighting, look.ranking, look.leaks)
        if self._keep_results and (exclusion is None or look.ranking is not None):
            self.results.append(self._result(question, gold, look, exclusion=exclusion))

    def add_block(self, block: Sequence[tuple[LazyQuestion, Gold]], run: Run) -> None:
        """Account for some questions; rankings about which nothing else is to be said are looked at together."""
        seen = run.scan(block)
        self.ranked += int(seen.plain.sum())
        self.shown += int(np.minimum(seen.returned[seen.plain], self._largest_k).sum())
        numbers = [_NOT_SCORED] * len(block)
        plain, returned = seen.plain.tolist(), seen.returned.tolist()
        for i, (question, gold) in enumerate(block):
            if not plain[i]:
                self.add(question, gold, run.look(question, gold))
                continue
            if self._exclude(question, gold) is None:
                numbers[i] = self._begin(question, gold, returned[i])
        number = np.array(numbers)[seen.ranking]
        scored = number != _NOT_SCORED
        grades = np.fromiter(chain.from_iterable([gold.grades.values() for _, gold in block]), dtype=np.float64)
        self.rankings.find_many(number[scored], seen.rank[scored], grades[seen.judged[scored]])

    def _exclude(self, question: LazyQuestion, gold: Gold) -> Exclusion | None:
        self.total += 1
        exclusion = exclusion_of(question, gold, index=self._index, relevance_level=self.relevance_level)
        if exclusion is not None:
            self.excluded[exclusion].append(question.id)
        return exclusion

    def _begin(self, question: LazyQuestion, gold: Gold, returned: int) -> int:
        number = self.rankings.begin(gold.grades, returned=returned)
        self.eligible.append(question.id)
        if question.tags:
            for tag in dict.fromkeys(question.tags):
                self.tagged.setdefault(tag, array("q")).append(number)
        return number

    def _find_items(self, items: Rankings, gold: Gold, sighting: Sighting) -> None:
        rank_of = dict(zip(sighting.found, sighting.ranks, strict=True))
        wanted = gold.items(self.relevance_level)
        ranks = [[rank_of[chunk] for chunk in chunks if chunk in rank_of] for chunks in wanted.values()]
        first = [min(of_item) for of_item in ranks if of_item]
        items.find(items.begin(dict.fromkeys(wanted, 1.0), returned=sighting.returned), first, [1.0] * len(first))

    def _watch(self, question: LazyQuestion, sighting: Sighting, ranking: Retrieved, leaks: list[str]) -> None:
        self.ranked += 1
        self.shown += min(sighting.returned, self._largest_k)
        watched = set(question.non_relevant).intersection(sighting.found)
        if shown := [chunk for chunk in dict.fromkeys(ranking.ids[: self._largest_k]) if chunk in watched]:
            self.false_positives[question.id] = shown
        if duplicates := repeated(ranking):
            self.duplicates[question.id] = duplicates
        if leaks:
            self.leaks[question.id] = leaks
        if not ranking.ordered:
            self.unordered.append(question.id)
        if ranking.tied:
            self.tied.append(question.id)

    def _result(self, question: LazyQuestion, gold: Gold, look: Look, *, exclusion: Exclusion | None) -> QuestionResult:
        sighting = look.sighting or NOTHING_RETRIEVED
        shown = [] if look.ranking is None else look.ranking.ids[: self._largest_k]
        relevant = gold.relevant(self.relevance_level)
        ranks = [
            rank
            for chunk, rank in zip(sighting.found, sighting.ranks, strict=True)
            if gold.grades[chunk] >= self.relevance_level
        ]
        return QuestionResult(
            id=question.id,
            relevant=relevant,
            retrieved=shown,
            first_relevant_rank=min(ranks, default=None),
            metrics={},
            known_false_positives=self.false_positives.get(question.id, []),
            unjudged=len(set(shown).difference(gold.grades)),
            duplicates=self.duplicates.get(question.id, []),
            acl_leaks=self.leaks.get(question.id, []),
            returned=sighting.returned,
            excluded=exclusion,
        )


def collect(request: LazyRetrieveEvalRequest, dataset: LazyDataset, *, content: ContentHash | None = None) -> Cases:
    """Read the questions of a data set and the rankings of a request, and bring them together.

    Args:
        request: The request.
        dataset: The data set it means.
        content: Takes in every question, if given.

    Raises:
        MalformedRequestError: A question or ranking does not decode.
        ContradictionError: The data set is empty or contradicts itself, or no question or ranking fits the other.
    """
    if not dataset.questions:
        raise ContradictionError.at("/dataset/questions", "empty-dataset", "The data set has no questions. Send some.")
    run = Run(request.retrieval.rankings or {})
    cases = Cases(request, _mapping_of(dataset))
    known: set[str] = set()
    questions = _questions_of(dataset, cases, known, content)
    if request.split is not None or request.tags:
        questions = _selected(questions, request, run)
    if request.per_question or request.level == "evidence":
        for question, gold in questions:
            cases.add(question, gold, run.look(question, gold))
    else:
        while block := list(islice(questions, _BLOCK)):
            cases.add_block(block, run)
    cases.unknown = run.count_unknown(known)
    if not cases.total:
        raise ContradictionError.at(
            "/tags" if request.tags else "/split",
            "nothing-selected",
            f"No question of the data set {_filters(request)}.",
        )
    return cases


def _mapping_of(dataset: LazyDataset) -> Mapped:
    try:
        return read_mapping(dataset)
    except BefundError as error:
        error.move_below("/dataset")
        raise


def _questions_of(
    dataset: LazyDataset, cases: Cases, known: set[str], content: ContentHash | None
) -> Iterator[tuple[LazyQuestion, Gold]]:
    for i, raw in enumerate(dataset.questions):
        try:
            question, grades = read_question(raw)
            if question.id in known:
                detail = f"Question {question.id!r} is given twice. Keep one."
                raise ContradictionError.at("/id", "question-twice", detail)
            known.add(question.id)
            gold = gold_of(question, grades, cases.evidence_mapping, relevance_level=cases.relevance_level)
        except BefundError as error:
            error.move_below(f"/dataset/questions/{i}")
            raise
        if content is not None:
            content.add(question, grades)
        yield question, gold


def _selected(
    questions: Iterator[tuple[LazyQuestion, Gold]], request: LazyRetrieveEvalRequest, run: Run
) -> Iterator[tuple[LazyQuestion, Gold]]:
    for question, gold in questions:
        if (request.split is None or question.split == request.split) and (
            not request.tags or not set(request.tags).isdisjoint(question.tags)
        ):
            yield question, gold
        else:
            run.look(question, gold)  # so that a broken ranking is refused whatever was selected


def _filters(request: LazyRetrieveEvalRequest) -> str:
    split = f"is in split {request.split!r}" if request.split is not None else ""
    tags = f"has one of the tags {', '.join(map(repr, request.tags))}" if request.tags else ""
    return " and ".join(filter(None, (split, tags)))
