"""Questions meet their rankings, one at a time; what measuring needs is kept, the rest is dropped."""

from array import array
from collections.abc import Iterator

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
from befund.core.retrieval.ranking import Retrieved
from befund.core.retrieval.run import Run


class Cases:
    """Every selected question, accounted for.

    Attributes:
        relevance_level: The grade from which a chunk counts as relevant.
        evidence_mapping: Evidence ids to chunk ids.
        content: The content of the whole data set, selected or not.
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
        self.content = ContentHash()
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

    def add(self, question: LazyQuestion, gold: Gold, ranking: Retrieved | None, *, leaks: list[str]) -> None:
        """Account for one selected question; `ranking` is None where it has none."""
        self.total += 1
        exclusion = exclusion_of(question, gold, index=self._index, relevance_level=self.relevance_level)
        ids = [] if ranking is None else ranking.ids
        distinct = set(ids)
        if exclusion is None:
            self._score(question, gold, ids, distinct)
            if ranking is None:
                self.missing.append(question.id)
        else:
            self.excluded[exclusion].append(question.id)
        if ranking is not None:
            self._watch(question, ranking, distinct, leaks)
        if self._keep_results and (exclusion is None or ranking is not None):
            self.results.append(self._result(question, gold, ids, exclusion))

    def _score(self, question: LazyQuestion, gold: Gold, ids: list[str], distinct: set[str]) -> None:
        for tag in question.tags:
            self.tagged.setdefault(tag, array("q")).append(len(self.eligible))
        self.eligible.append(question.id)
        self.rankings.add(ids, gold.grades, distinct=distinct)
        if self.items is not None:
            items = gold.items(self.relevance_level)
            found = [chunks for chunks in map(distinct.intersection, items.values()) if chunks]
            ranks = [min(map(ids.index, chunks)) + 1 for chunks in found]
            self.items.add_found(ranks, [1.0] * len(ranks), dict.fromkeys(items, 1.0), len(ids))

    def _watch(self, question: LazyQuestion, ranking: Retrieved, distinct: set[str], leaks: list[str]) -> None:
        ids = ranking.ids
        self.ranked += 1
        self.shown += min(len(ids), self._largest_k)
        if len(distinct) < len(ids):
            self.duplicates[question.id] = _repeated(ids)
        if not distinct.isdisjoint(question.non_relevant):
            watched = set(question.non_relevant)
            shown = [chunk for chunk in dict.fromkeys(ids[: self._largest_k]) if chunk in watched]
            if shown:
                self.false_positives[question.id] = shown
        if leaks:
            self.leaks[question.id] = leaks
        if not ranking.ordered:
            self.unordered.append(question.id)
        if ranking.tied:
            self.tied.append(question.id)

    def _result(
        self, question: LazyQuestion, gold: Gold, ids: list[str], exclusion: Exclusion | None
    ) -> QuestionResult:
        shown = ids[: self._largest_k]
        relevant = dict.fromkeys(gold.relevant(self.relevance_level))
        return QuestionResult(
            id=question.id,
            relevant=list(relevant),
            retrieved=shown,
            first_relevant_rank=next((rank for rank, chunk in enumerate(ids, 1) if chunk in relevant), None),
            metrics={},
            known_false_positives=self.false_positives.get(question.id, []),
            unjudged=len(set(shown).difference(gold.grades)),
            duplicates=self.duplicates.get(question.id, []),
            acl_leaks=self.leaks.get(question.id, []),
            returned=len(ids),
            excluded=exclusion,
        )


def collect(request: LazyRetrieveEvalRequest, dataset: LazyDataset) -> Cases:
    """Read the questions of a data set and the rankings of a request, and bring them together.

    Raises:
        MalformedRequestError: A question or ranking does not decode.
        ContradictionError: The data set is empty or contradicts itself, or no question or ranking fits the other.
    """
    if not dataset.questions:
        raise ContradictionError.at("/dataset/questions", "empty-dataset", "The data set has no questions. Send some.")
    run = Run(request.retrieval.rankings or {})
    cases = Cases(request, _mapping_of(dataset))
    for question, gold in _questions_of(dataset, cases):
        ranking = run.ranking_of(question.id)
        if _is_selected(question, request):
            leaks = [] if ranking is None else run.leaks(question, ranking)
            cases.add(question, gold, ranking, leaks=leaks)
    cases.unknown = run.count_unknown(cases.content.questions)
    if not cases.total:
        raise ContradictionError.at(
            "/tags" if request.tags else "/split",
            "nothing-selected",
            f"No question of the data set is in split {request.split!r} with tags {request.tags!r}.",
        )
    return cases


def _mapping_of(dataset: LazyDataset) -> Mapped:
    try:
        return read_mapping(dataset)
    except BefundError as error:
        error.move_below("/dataset")
        raise


def _questions_of(dataset: LazyDataset, cases: Cases) -> Iterator[tuple[LazyQuestion, Gold]]:
    for i, raw in enumerate(dataset.questions):
        try:
            question, grades = read_question(raw)
            if not cases.content.add(question, grades):
                raise ContradictionError.at(
                    "/id", "question-twice", f"Question {question.id!r} is given twice. Keep one."
                )
            gold = gold_of(question, grades, cases.evidence_mapping, relevance_level=cases.relevance_level)
        except BefundError as error:
            error.move_below(f"/dataset/questions/{i}")
            raise
        yield question, gold


def _is_selected(question: LazyQuestion, request: LazyRetrieveEvalRequest) -> bool:
    return (request.split is None or question.split == request.split) and (
        not request.tags or not set(request.tags).isdisjoint(question.tags)
    )


def _repeated(ids: list[str]) -> list[str]:
    seen: set[str] = set()
    repeated: dict[str, None] = {}
    for chunk in ids:
        if chunk in seen:
            repeated[chunk] = None
        seen.add(chunk)
    return list(repeated)
