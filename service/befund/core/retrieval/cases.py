"""Questions and their rankings, accounted for: what measuring needs is kept, the rest is dropped."""

from array import array
from collections.abc import Collection

from befund.contract import Exclusion, QuestionResult
from befund.core.eligibility import ANY_POSITIVE_GRADE, Gold, Mapped, exclusion_of
from befund.core.metrics import Rankings
from befund.core.retrieval.envelope import LazyQuestion, LazyRetrieveEvalRequest
from befund.core.retrieval.ranking import NOTHING_RETRIEVED, Retrieved, Sighting, repeated, without_roles
from befund.core.retrieval.run import Look


class Cases:
    """Every selected question, accounted for.

    Attributes:
        largest_k: The largest cutoff asked for.
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
        leaks_without_roles: How many of these name no role at all.
        unordered: Questions whose scores rise somewhere down the list.
        tied: Questions whose sort by score met equal scores.
        shown: Chunks down to the largest k, summed over the questions with a ranking.
        ranked: How many questions have a ranking.
        results: One entry a question (metrics still empty) if they were asked for.
    """

    def __init__(self, request: LazyRetrieveEvalRequest, evidence_mapping: Mapped) -> None:
        self.evidence_mapping = evidence_mapping
        self.largest_k = max(request.k)
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
        self.leaks_without_roles = 0
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
        exclusion = self.exclude(question, gold)
        if exclusion is None:
            number = self.begin(question, gold, returned=sighting.returned)
            self.rankings.find(number, sighting.ranks, [gold.grades[chunk] for chunk in sighting.found])
            if self.items is not None:
                find_items(self.items, gold, sighting, relevance_level=self.relevance_level)
            if look.sighting is None:
                self.missing.append(question.id)
        if look.ranking is not None:
            self.count(1, shown=min(sighting.returned, self.largest_k))
            self.watch(question.id, look.ranking, known_false=question.non_relevant)
            if look.leaks:
                self.leaks[question.id] = look.leaks
                self.leaks_without_roles += without_roles(look.ranking, look.leaks)
        if self._keep_results and (exclusion is None or look.ranking is not None):
            self.results.append(self._result(question, gold, look, exclusion=exclusion))

    def exclude(self, question: LazyQuestion, gold: Gold) -> Exclusion | None:
        """Count a selected question, and say why it cannot be scored; None where it can."""
        self.total += 1
        exclusion = exclusion_of(question, gold, index=self._index, relevance_level=self.relevance_level)
        if exclusion is not None:
            self.excluded[exclusion].append(question.id)
        return exclusion

    def begin(self, question: LazyQuestion, gold: Gold, *, returned: int = 0) -> int:
        """Add a question that is scored, nothing of it found yet; its number is returned."""
        number = self.rankings.begin(gold.grades.values(), returned=returned)
        self.eligible.append(question.id)
        if question.tags:
            for tag in dict.fromkeys(question.tags):
                self.tagged.setdefault(tag, array("q")).append(number)
        return number

    def count(self, rankings: int, *, shown: int) -> None:
        """Count rankings, and the chunks they hold together down to the largest k."""
        self.ranked += rankings
        self.shown += shown

    def watch(self, question: str, ranking: Retrieved, *, known_false: Collection[str]) -> None:
        """Note what is noteworthy about one ranking as such."""
        if known_false and not (watched := set(known_false)).isdisjoint(shown := ranking.ids[: self.largest_k]):
            self.false_positives[question] = [chunk for chunk in dict.fromkeys(shown) if chunk in watched]
        if duplicates := repeated(ranking):
            self.duplicates[question] = duplicates
        if not ranking.ordered:
            self.unordered.append(question)
        if ranking.tied:
            self.tied.append(question)

    def _result(self, question: LazyQuestion, gold: Gold, look: Look, *, exclusion: Exclusion | None) -> QuestionResult:
        sighting = look.sighting or NOTHING_RETRIEVED
        shown = [] if look.ranking is None else look.ranking.ids[: self.largest_k]
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


def find_items(items: Rankings, gold: Gold, sighting: Sighting, *, relevance_level: float) -> None:
    """Add a question to the rankings of what level `evidence` scores: each item stands where its first chunk does."""
    rank_of = dict(zip(sighting.found, sighting.ranks, strict=True))
    wanted = gold.items(relevance_level)
    ranks = [[rank_of[chunk] for chunk in chunks if chunk in rank_of] for chunks in wanted.values()]
    first = [min(of_item) for of_item in ranks if of_item]
    number = items.begin([1.0] * len(wanted), returned=sighting.returned)
    items.find(number, first, [1.0] * len(first))
