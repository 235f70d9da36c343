"""Questions meet their rankings, one at a time; what measuring needs is kept, the rest is dropped."""

from array import array

from msgspec import Raw

from befund.contract import Exclusion, ProblemDetail, QuestionResult
from befund.core.decoding import escape
from befund.core.eligibility import ANY_POSITIVE_GRADE, Gold, Mapped, exclusion_of, gold_of
from befund.core.errors import ContradictionError
from befund.core.metrics import Rankings
from befund.core.retrieval.content import ContentHash
from befund.core.retrieval.envelope import (
    LazyDataset,
    LazyQuestion,
    LazyRetrieveEvalRequest,
    QuestionId,
    read_mapping,
    read_question,
    read_ranking,
    refuse_bad_question_id,
)
from befund.core.retrieval.ranking import Retrieved, forbidden


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
            found = {item: distinct.intersection(chunks) for item, chunks in items.items()}
            ranks = {item: min(map(ids.index, chunks)) + 1 for item, chunks in found.items() if chunks}
            self.items.add_found(ranks, dict.fromkeys(items, 1.0), returned=len(ids))

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
        relevant = gold.relevant(self.relevance_level)
        return QuestionResult(
            id=question.id,
            relevant=relevant,
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


def collect(request: LazyRetrieveEvalRequest, dataset: LazyDataset, *, at: str) -> Cases:
    """Read the questions of a data set and the rankings of a request, and bring them together.

    Args:
        request: The request; its rankings are consumed.
        dataset: The data set it means.
        at: JSON pointer of the data set within the body, for errors.

    Raises:
        MalformedRequestError: A question or ranking does not decode.
        ContradictionError: The data set is empty or contradicts itself, or no question or ranking fits the other.
    """
    if not dataset.questions:
        raise _contradiction("empty-dataset", "The data set has no questions. Send at least one.", f"{at}/questions")
    run = Run(request.retrieval.rankings or {})
    cases = Cases(request, read_mapping(dataset, at=at))
    for i, raw in enumerate(dataset.questions):
        place = f"{at}/questions/{i}"
        question, grades = read_question(raw, at=place)
        if not cases.content.add(question, grades):
            detail = f"Question {question.id!r} is given twice. Keep one."
            raise _contradiction("question-twice", detail, f"{place}/id")
        gold = gold_of(question, grades, cases.evidence_mapping, relevance_level=cases.relevance_level, at=place)
        ranking = run.take(question.id)
        if _is_selected(question, request):
            cases.add(question, gold, ranking, leaks=run.leaks(question, ranking))
    cases.unknown = run.finish()
    if not cases.total:
        detail = f"No question matches split {request.split!r} and tags {request.tags!r}."
        raise _contradiction("nothing-selected", detail, "/tags" if request.tags else "/split")
    return cases


class Run:
    """The rankings of a request, handed out question by question."""

    def __init__(self, rankings: dict[QuestionId, Raw]) -> None:
        self._rankings = rankings
        self._taken = 0
        self._uses_roles = any(
            b'"roles"' in bytes(raw) and read_ranking(raw, at=_place(question)).names_roles
            for question, raw in rankings.items()
        )

    def take(self, question: str) -> Retrieved | None:
        """The ranking of a question; None where the run has none."""
        raw = self._rankings.pop(QuestionId(question), None)
        if raw is None:
            return None
        self._taken += 1
        return read_ranking(raw, at=_place(question))

    def leaks(self, question: LazyQuestion, ranking: Retrieved | None) -> list[str]:
        """The retrieved chunks that the question's role may not read; none where the run does not use roles."""
        if question.role is None or ranking is None or not (self._uses_roles or ranking.names_roles):
            return []
        return forbidden(ranking, question.role)

    def finish(self) -> int:
        """How many rankings belong to no question.

        Raises:
            MalformedRequestError: One of them does not decode.
            ContradictionError: None of the rankings belongs to a question.
        """
        for question, raw in self._rankings.items():
            refuse_bad_question_id(question)
            read_ranking(raw, at=_place(question))
        if self._rankings and not self._taken:
            first = next(iter(self._rankings))
            raise _contradiction(
                "no-known-question",
                f"None of the {len(self._rankings)} rankings belongs to a question of the data set (the first is for "
                f"{first!r}). Check that both use the same question ids.",
                "/retrieval/rankings",
            )
        return len(self._rankings)


def _is_selected(question: LazyQuestion, request: LazyRetrieveEvalRequest) -> bool:
    return (request.split is None or question.split == request.split) and (
        not request.tags or not set(request.tags).isdisjoint(question.tags)
    )


def _place(question: str) -> str:
    return f"/retrieval/rankings/{escape(question)}"


def _contradiction(code: str, detail: str, pointer: str) -> ContradictionError:
    return ContradictionError(code, detail, places=[ProblemDetail(pointer=pointer, detail=detail)])


def _repeated(ids: list[str]) -> list[str]:
    seen: set[str] = set()
    repeated: dict[str, None] = {}
    for chunk in ids:
        if chunk in seen:
            repeated[chunk] = None
        seen.add(chunk)
    return list(repeated)
