"""POST /retrieve-eval."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from befund.contract.base import Cutoff, DatasetReference, Estimate, Finding, Id, Name, Request, Response, Tag
from befund.contract.questions import Dataset

Exclusion = Literal["behavior", "ground_truth", "mapping", "index"]
Level = Literal["chunk", "evidence"]
Gain = Literal["linear", "exp2"]


class RankingEntry(Request, frozen=True, kw_only=True):
    """One retrieved chunk.

    Attributes:
        score: Never reorders a list; scores that rise down the list are a finding.
        roles: Who may read the chunk. Once one entry names roles, a chunk without any is denied to every role.
    """

    id: Id
    score: float | None = None
    roles: list[str] | None = None


Ranking = list[Id | RankingEntry] | dict[Id, float]


class RetrievalOptions(Request, frozen=True, kw_only=True):
    """A live search.

    Attributes:
        collection: The collection that is searched; instead of `rankings`.
        top_k: How many chunks to ask for.
        where: A filter on the metadata of the chunks.
        embedder: What makes vectors of the questions.
    """

    collection: str | None = None
    top_k: Cutoff = 10
    where: dict[str, Any] | None = None
    embedder: str = "default"


class Retrieval(RetrievalOptions, frozen=True, kw_only=True):
    """What was retrieved: `rankings` as given, or a live search of `collection` (exactly one of the two).

    Attributes:
        rankings: By question id a list in rank order (ids or entries), or an `{id: score}` map, which is sorted by
            score, then id, both descending.
    """

    rankings: dict[Id, Ranking] | None = None


class RetrieveEvalOptions(Request, frozen=True, kw_only=True):
    """Everything a retrieval evaluation can be told besides the data set and the rankings.

    Attributes:
        split: Only questions of this split.
        tags: Only questions that carry at least one of these tags.
        index_chunk_ids: What the index holds; without it the index check is not made.
        k: Rank cutoffs; each metric is reported at each of them.
        level: `chunk` scores chunk ids, `evidence` scores evidence ids (comparable across chunkings).
        metrics: Only these, as a family (`ndcg`) or with a cutoff (`ndcg@10`); null means the standard set at every k.
        gain: The gain of nDCG: the grade itself (`linear`, as trec_eval), or 2^grade - 1 (`exp2`).
        relevance_level: The grade from which an item counts as relevant for yes/no relevance; above 0.
        confidence: Level of the intervals.
        seed: Seed of the bootstrap; the same request with the same seed gives the same figures.
        per_question: Whether the answer lists every question.
        run: Name to store the measurement under.
        replace_run: Begin the run anew where it exists and differs.
        config: What was measured: any JSON object.
    """

    split: Tag | None = None
    tags: list[Tag] = []
    index_chunk_ids: list[Id] | None = None
    k: Annotated[list[Cutoff], Meta(min_length=1, max_length=100)] = field(default_factory=lambda: [1, 3, 5, 10])
    level: Level = "chunk"
    metrics: Annotated[list[str], Meta(min_length=1, max_length=200)] | None = None
    gain: Gain = "linear"
    relevance_level: Annotated[float, Meta(gt=0)] | None = None
    confidence: Annotated[float, Meta(ge=0.5, le=0.999)] = 0.95
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 7
    per_question: bool = True
    run: Name | None = None
    replace_run: bool = False
    config: dict[str, Any] = {}


class RetrieveEvalRequest(RetrieveEvalOptions, frozen=True, kw_only=True):
    """Rankings, or a live search, measured against the gold of a data set.

    Attributes:
        dataset: The data set itself, or the name of a stored one.
        retrieval: What was retrieved, or where to search.
    """

    dataset: DatasetReference | Dataset
    retrieval: Retrieval


class Excluded(Response, frozen=True, kw_only=True):
    """Ids of excluded questions by reason, first reason wins.

    Attributes:
        behavior: Not to be answered.
        ground_truth: Nothing is relevant.
        mapping: Relevant evidence maps to no chunk.
        index: A relevant chunk is not in the index; null when the index was not checked.
    """

    behavior: list[str]
    ground_truth: list[str]
    mapping: list[str]
    index: list[str] | None


class QuestionCounts(Response, frozen=True, kw_only=True):
    """Every question accounted for: `total` = `eligible` + all excluded.

    Attributes:
        total: Questions selected by split and tags.
        eligible: Questions that are scored.
        missing_from_run: Eligible questions without a ranking; they score 0.
        unknown_in_run: How many rankings belong to no question of the data set.
    """

    total: int
    eligible: int
    excluded: Excluded
    missing_from_run: list[str]
    unknown_in_run: int


class Slice(Response, frozen=True, kw_only=True):
    """The metrics over the eligible questions that carry one tag.

    Attributes:
        n: How many questions these are.
        metrics: By name and cutoff (`ndcg@10`).
    """

    n: int
    metrics: dict[str, Estimate]


class QuestionResult(Response, frozen=True, kw_only=True):
    """One question: its gold, what came back for it, and its metrics.

    Excluded questions that have a ranking are listed too, with `excluded` set and no metrics, since access leaks and
    known false positives are checked for them as well.

    Attributes:
        relevant: Its relevant chunks.
        retrieved: What came back, down to the largest k.
        first_relevant_rank: Where the first relevant item stands in the whole ranking, 1 is best; null where none does.
        metrics: By name and cutoff (`ndcg@10`); null where a metric is not defined.
        known_false_positives: Those of its `non_relevant` chunks that came back, down to the largest k.
        unjudged: How many chunks down to the largest k are neither relevant nor judged otherwise.
        duplicates: Chunks that came back more than once, anywhere in the ranking.
        acl_leaks: Chunks that came back though its role may not read them, anywhere in the ranking.
        returned: How many chunks the whole ranking has.
        excluded: Why it is not scored; null where it is.
    """

    id: str
    relevant: list[str]
    retrieved: list[str]
    first_relevant_rank: int | None
    metrics: dict[str, float | None]
    known_false_positives: list[str]
    unjudged: int
    duplicates: list[str]
    acl_leaks: list[str]
    returned: int
    excluded: Exclusion | None = None


class Context(Response, frozen=True, kw_only=True):
    """What the ranking, cut at the largest k, would put before a generator, as means over questions with a ranking.

    Attributes:
        tokens_per_question: Null where the texts of the chunks are not known.
        tokenizer: What counted the tokens.
    """

    chunks_per_question: float | None
    tokens_per_question: float | None
    tokenizer: str | None


class RetrieveTimings(Response, frozen=True, kw_only=True):
    """Milliseconds by stage; null for a stage that did not run."""

    embed_ms: float | None
    search_ms: float | None
    score_ms: float


class IntervalSettings(Response, frozen=True, kw_only=True):
    """How the intervals were made.

    Attributes:
        confidence: Their level.
        seed: Seed of the bootstrap.
        resamples: Resamples of the bootstrap.
        unit: What was resampled.
    """

    confidence: float
    seed: int
    resamples: int
    unit: str


class RetrieveEvalResponse(Response, frozen=True, kw_only=True):
    """Answer of POST /retrieve-eval.

    Attributes:
        metrics: Means over the eligible questions, by name and cutoff (`ndcg@10`).
        slices: The same over the questions of each tag.
        per_question: Question by question; empty where `per_question` was false.
        config: What was measured: as sent, completed with hashes of questions and mapping, and a fingerprint of all.
        run: The name it is stored under; null where it is not.
    """

    questions: QuestionCounts
    metrics: dict[str, Estimate]
    slices: dict[str, Slice]
    per_question: list[QuestionResult]
    context: Context
    findings: list[Finding]
    timings: RetrieveTimings
    intervals: IntervalSettings
    config: dict[str, Any]
    run: str | None
