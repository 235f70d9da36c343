"""Questions meet their rankings, one at a time; what measuring needs is kept, the rest is dropped."""

from array import array
from collections.abc import Iterator
from itertools import islice

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
from befund.core.retrieval.ranking import NOTHING_RETRIEVED, Sighting, repeated
from befund.core.retrieval.run import Look, Run

_BLOCK = 512


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

    def add(self, question: LazyQuestion, gold: Gold, look: Look) -> None:
        """Account for one selected question."""
        self.total += 1
        exclusion = exclusion_of(question, gold, index=self._index, relevance_level=self.relevance_level)
        if exclusion is None:
            self._score(question, gold, look.sighting or NOTHING_RETRIEVED)
        else:
            self.excluded[exclusion].append(question.id)
        if look.sighting is not None:
            self._watch(question, look.sighting, look)
        elif exclusion is None:
            self.missing.append(question.id)
        if self._keep_results and (exclusion is None or look.sighting is not None):
            self.results.append(self._result(question, gold, look, exclusion))

    def _score(self, question: LazyQuestion, gold: Gold, sighting: Sighting) -> None:
        for tag in dict.fromkeys(question.tags):
            self.tagged.setdefault(tag, array("q")).append(len(self.eligible))
        self.eligible.append(question.id)
        self.rankings.add_found(sighting.ranks, sighting.found, gold.grades, returned=sighting.returned)
        if self.items is not None:
            rank_of = dict(zip(sighting.found, sighting.ranks, strict=True))
            items = gold.items(self.relevance_level)
            first = {
                item: min([rank_of[chunk] for chunk in chunks if chunk in rank_of], default=0)
                for item, chunks in items.items()
            }
            found = [item for item, rank in first.items() if rank]
            grades = dict.fromkeys(items, 1.0)
            self.items.add_found([first[item] for item in found], found, grades, returned=sighting.returned)

    def _watch(self, question: LazyQuestion, sighting: Sighting, look: Look) -> None:
        self.ranked += 1
        self.shown += min(sighting.returned, self._largest_k)
        if question.non_relevant:
            shown = sorted(
                (rank, chunk)
                for chunk, rank in zip(sighting.found, sighting.ranks, strict=True)
                if rank <= self._largest_k
            )
            watched = [chunk for _, chunk in shown if chunk in question.non_relevant]
            if watched:
                self.false_positives[question.id] = watched
        if look.ranking is None:
            return
        if duplicates := repeated(look.ranking):
            self.duplicates[question.id] = duplicates
        if look.leaks:
            self.leaks[question.id] = look.leaks
        if not look.ranking.ordered:
            self.unordered.append(question.id)
        if look.ranking.tied:
            self.tied.append(question.id)

    def _result(self, question: LazyQuestion, gold: Gold, look: Look, exclusion: Exclusion | None) -> QuestionResult:
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


def collect(request: LazyRetrieveEvalRequest, dataset: LazyDataset) -> Cases:
    """Read the questions of a data set and the rankings of a request, and bring them together.

    Raises:
        MalformedRequestError: A question or ranking does not decode.
        ContradictionError: The data set is empty or contradicts itself, or no question or ranking fits the other.
    """
    if not dataset.questions:
        raise ContradictionError.at("/dataset/questions", "empty-dataset", "The data set has no questions. Send some.")
    run = Run(request.retrieval.rankings or {}, in_full=request.per_question)
    cases = Cases(request, _mapping_of(dataset))
    questions = _questions_of(dataset, cases)
    while block := list(islice(questions, _BLOCK)):
        for (question, gold), look in zip(block, run.look(block), strict=True):
            if _is_selected(question, request):
                cases.add(question, gold, look)
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
