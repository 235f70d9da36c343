"""The wire contract: what callers send and what they get back.

This module imports msgspec alone, so that the client can use it where nothing of the server is installed. Requests
refuse unknown fields; responses tolerate them, so that an older client can read a newer service. Arrays are lists in
JSON and stay lists here. Ids are opaque and compared exactly.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

Id = Annotated[str, Meta(min_length=1, max_length=512, description="An opaque id, compared exactly.")]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,128}(?![\s\S])", description="A name of a run or data set.")]
DatasetReference = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._-]{1,128}(@[A-Za-z0-9:]{1,128})?(?![\s\S])",
        description="The name of a stored data set (its newest version), or name@HASH for a fixed version.",
    ),
]
Cutoff = Annotated[int, Meta(ge=1, le=100_000, description="A rank cutoff k.")]
Tag = Annotated[str, Meta(min_length=1, max_length=128)]

ExpectedBehavior = Literal["answer", "clarify", "no_answer", "deny"]
Exclusion = Literal["behavior", "ground_truth", "mapping", "index"]
Level = Literal["chunk", "evidence"]
Gain = Literal["linear", "exp2"]
IntervalMethod = Literal["wilson", "bootstrap", "student", "too_few"]


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of everything a caller sends: an unknown field is an error, never ignored; defaults are not sent."""


class Response(Struct, frozen=True, kw_only=True):
    """Base of everything the service answers: a reader ignores fields it does not know."""


# Questions and data sets


class Evidence(Request, frozen=True, kw_only=True):
    """A passage that a subject expert marked as holding the answer.

    Attributes:
        id: What `evidence_mapping` maps to chunks.
        relevance: The grade: above 0 relevant, 0 or less judged and not relevant.
        document: The document the passage is in.
        quote: The passage, word for word.
    """

    id: Id
    relevance: float = 1.0
    document: Id | None = None
    quote: str | None = None


class QuestionFields(Request, frozen=True, kw_only=True):
    """Everything about a question except its two maps.

    Attributes:
        question: Its text.
        expected_behavior: What a good answer does; only questions to be answered are scored.
        expected_facts: What the answer must state, all of it.
        reference_answers: Alternatives, any one of which suffices.
        evidence: The passages that hold the answer; instead of `relevant`.
        non_relevant: Chunks known to be false positives: judged, and reported where they come back.
        tags: Each tag is a slice of the answer.
        critical: Whether a failure here weighs more than others.
        role: Who asks. Chunks this role may not read are reported as access leaks.
        split: The part of the data set the question belongs to.
    """

    id: Id
    question: str
    expected_behavior: ExpectedBehavior = "answer"
    expected_facts: Sequence[str] = ()
    reference_answers: Sequence[str] = ()
    evidence: Sequence[Evidence] = ()
    non_relevant: Sequence[Id] = ()
    tags: Sequence[Tag] = ()
    critical: bool = False
    role: Id | None = None
    split: Tag | None = None


class Question(QuestionFields, frozen=True, kw_only=True):
    """A question with what is true about it.

    Gold is given either as `evidence`, mapped to chunks by the data set's `evidence_mapping`, or as `relevant`.

    Attributes:
        relevant: The chunks that hold the answer: ids with grades, or a plain list of ids (grade 1 each). Above 0 is
            relevant, 0 or less judged and not relevant.
        metadata: Anything; part of the question's content hash, otherwise not looked at.
    """

    relevant: dict[Id, float] | list[Id] = {}
    metadata: dict[str, Any] = {}


class Dataset(Request, frozen=True, kw_only=True):
    """Questions, and the mapping of their evidence ids to the chunk ids of one index.

    Attributes:
        evidence_mapping: By evidence id the chunks that hold the passage.
        generated: Whether a model wrote the questions, which is then a finding.
    """

    questions: list[Question]
    name: Name | None = None
    evidence_mapping: dict[Id, list[Id]] = {}
    generated: bool = False


# POST /retrieve-eval


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


class Estimate(Response, frozen=True, kw_only=True):
    """A mean over questions and how sure it is.

    Attributes:
        value: The mean; null when nothing could be scored.
        ci: Lower and upper bound of the interval; null under ten questions.
        n: How many questions were scored.
        attempted: How many questions were to be scored.
        unscored: `attempted` - `n`.
        method: How the interval was made; `too_few` where there is none.
    """

    value: float | None
    ci: tuple[float, float] | None
    n: int
    attempted: int
    unscored: int
    method: IntervalMethod


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


class Finding(Response, frozen=True, kw_only=True):
    """Something a reader should know before trusting the figures.

    Attributes:
        code: The kind of finding; stable.
        message: What was found and what to do about it.
        questions: Those it concerns, where it concerns some.
    """

    code: str
    message: str
    questions: list[str] = []


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


# Stored data sets and runs

Content = Literal["full", "ids"]


class DatasetVersion(Response, frozen=True, kw_only=True):
    """One version of a stored data set.

    Attributes:
        version: Hash over everything below that says what the data set is, as `sha256:...`.
        questions_hash: Hash over the questions, in any order.
        mapping_hash: Hash over the evidence mapping.
        generated: Whether the questions were generated rather than written.
        questions: How many there are.
        splits: How many by split; those without one are not counted here.
        behaviors: How many by expected behaviour.
        content: Whether its texts are kept (`full`), or ids, gold, tags and hashes alone (`ids`).
        created: When it was first stored, in UTC.
    """

    version: str
    questions_hash: str
    mapping_hash: str
    generated: bool
    questions: int
    splits: dict[str, int]
    behaviors: dict[str, int]
    content: Content
    created: datetime


class StoredDataset(Response, frozen=True, kw_only=True):
    """A stored data set: its versions, the one its name stands for first."""

    name: str
    versions: list[DatasetVersion]


class DatasetList(Response, frozen=True, kw_only=True):
    """Every stored data set, by name."""

    datasets: list[StoredDataset]


class DatasetPut(Response, frozen=True, kw_only=True):
    """Answer of PUT /datasets/{name}. `created` says whether this content is new under this name."""

    name: str
    created: bool
    version: DatasetVersion


class DatasetDeleted(Response, frozen=True, kw_only=True):
    """What was deleted, and the versions (with their texts) that stay because runs were measured on them."""

    name: str
    versions: list[str]
    kept_for_runs: list[str]


class RetrievalRecord(Response, frozen=True, kw_only=True):
    """What retrieval gave for one question of a run.

    Attributes:
        ranking: The whole ranking, best first; null where there was none.
        relevant: Grade of every judged chunk.
        evidence: The chunks of each relevant piece of evidence.
        unmapped: Relevant evidence without a chunk.
        metrics: Each metric's value; empty for an excluded question, null where a metric is not defined.
        first_relevant_rank: Rank of the first relevant chunk in the whole ranking.
        excluded: Why the question was not scored.
        acl_leaks: Retrieved chunks that the question's role may not read.
        known_false_positives: Chunks known to be wrong that came back down to the largest k.
        duplicates: Chunks that came back more than once.
    """

    ranking: list[Id | RankingEntry] | None
    relevant: dict[str, float]
    evidence: dict[str, list[str]]
    unmapped: list[str]
    metrics: dict[str, float | None]
    first_relevant_rank: int | None
    excluded: Exclusion | None
    acl_leaks: list[str]
    known_false_positives: list[str]
    duplicates: list[str]


class RunRecord(Response, frozen=True, kw_only=True):
    """Everything a run holds about one question. `question_hash` is that of its content in the data set."""

    question_id: str
    question_hash: str
    retrieval: RetrievalRecord | None = None
    judgment: "JudgmentRecord | None" = None


class RunDataset(Response, frozen=True, kw_only=True):
    """The data set version a run was measured on; `name` is what it was called then, null for one sent inline."""

    name: str | None
    version: DatasetVersion


class RunListing(Response, frozen=True, kw_only=True):
    """A run without its records. `created` and `updated` are the times of its first and last write, in UTC."""

    name: str
    dataset: RunDataset
    fingerprint: str
    questions: int
    created: datetime
    updated: datetime


class RunList(Response, frozen=True, kw_only=True):
    """Runs, the last written first. `next` is the cursor of the following page; null on the last."""

    runs: list[RunListing]
    next: str | None


class Usage(Response, frozen=True, kw_only=True):
    """Tokens and their cost; null where unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class RunSummary(Response, frozen=True, kw_only=True):
    """A run in figures. Judged rates are over every judged question, retrieval metrics over those eligible for it.

    Attributes:
        questions: How many questions the run holds.
        rates: `correct`, `faithful`, `faithful_given_claims`, `behaved`.
        correct_by_faithful: Questions that are correct and faithful (`tt`), correct and not faithful (`tf`), ...
        behavior: Expected behaviour, then observed behaviour, to questions.
        metrics: Means of the retrieval metrics; `unscored` are eligible questions without the metric.
        diagnoses: Questions by diagnosis.
        causes: Questions by cause.
        usage: What judging used.
        timings: `judge_ms` and `generation_ms`, each with `mean` and `max`, where they are known.
    """

    questions: int
    rates: dict[str, Estimate]
    correct_by_faithful: dict[str, int]
    behavior: dict[str, dict[str, int]]
    metrics: dict[str, Estimate]
    diagnoses: dict[str, Any]
    causes: dict[str, Any]
    usage: Usage
    timings: dict[str, Any]


class RunAnswer(RunSummary, frozen=True, kw_only=True):
    """Answer of GET /runs/{name}: the run, its summary, then its records in the order of the data set, by page.

    `measured` are the options that every write to the run must share; `next` is the cursor of the following page.
    """

    name: str
    dataset: RunDataset
    config: dict[str, Any]
    measured: dict[str, Any]
    created: datetime
    updated: datetime
    records: list[RunRecord]
    next: str | None


class RunImported(Response, frozen=True, kw_only=True):
    """Answer of PUT /runs/{name}/bundle."""

    name: str
    questions: int
    dataset_version: str


# Collections


class CollectionInfo(Response, frozen=True, kw_only=True):
    """A collection of the index.

    Attributes:
        name: Its name.
        chunks: How many chunks it holds; 0 where it is damaged.
        embedder: What made its vectors; null where nobody recorded it.
        dimension: Length of its vectors; null while it is empty.
        space: How distances are measured.
        chunking: How its documents were cut; null where nobody recorded it.
        corpus: Hash over its documents; null where nobody recorded it.
        uses_roles: Whether chunks say who may read them; one that does not is then denied to every role.
        damaged: Whether vectors are lost or cannot be read: ingest its documents anew.
    """

    name: str
    chunks: int
    embedder: str | None
    dimension: int | None
    space: str
    chunking: str | None
    corpus: str | None
    uses_roles: bool
    damaged: bool = False


class CollectionList(Response, frozen=True, kw_only=True):
    """Every collection of the index, by name."""

    collections: list[CollectionInfo]


# POST /collections/{name}/documents, POST /collections/{name}/evidence-mapping


class IngestDocument(Request, frozen=True, kw_only=True):
    """A Markdown document; what its front matter says is metadata too, unless `metadata` says otherwise."""

    id: Id
    text: str
    metadata: dict[str, Any] = {}


class ChunkingOptions(Request, frozen=True, kw_only=True):
    """How documents are cut: characters a chunk at most, and how many of them the next one repeats at most."""

    max_characters: Annotated[int, Meta(ge=1, le=100_000)] = 700
    overlap: Annotated[int, Meta(ge=0, le=100_000)] = 0


class IngestRequest(Request, frozen=True, kw_only=True):
    """Documents to be cut, embedded and written into a collection, which is made if it does not exist.

    Attributes:
        documents: The documents, each id once.
        chunking: How to cut them; null means as the collection was cut, else 700 characters without overlap.
        replace: Make the collection anew where it was made with another embedder or chunking; implies `prune`.
        prune: Remove the documents that this request does not name.
        keep: Ids of documents that `prune` and `replace` leave alone though they are not sent.
        more: More documents follow in another request: nothing is removed yet, and no hash of the corpus is recorded.
    """

    documents: list[IngestDocument]
    chunking: ChunkingOptions | None = None
    replace: bool = False
    prune: bool = False
    keep: list[Id] = []
    more: bool = False


class SkippedDocument(Response, frozen=True, kw_only=True):
    """A document that was not written, and why."""

    id: str
    reason: str


class IngestCounts(Response, frozen=True, kw_only=True):
    """How many documents were written for the first time, written anew, left as they were, and removed."""

    added: int
    changed: int
    unchanged: int
    removed: int
    skipped: list[SkippedDocument]


class IngestResponse(Response, frozen=True, kw_only=True):
    """What was done, and what the collection is now.

    Attributes:
        collection: Its name.
        documents: What became of the documents.
        chunks: How many chunks the collection holds.
        embedder: What made its vectors.
        chunking: How its documents were cut.
        corpus: Hash over all documents in it; null while they are not complete.
        notes: What to know of the collection, as that some of its documents name no role and others do.
    """

    collection: str
    documents: IngestCounts
    chunks: int
    embedder: str
    chunking: str
    corpus: str | None
    notes: list[str] = []


class QuotedEvidence(Request, frozen=True, kw_only=True):
    """Evidence with its quote; sought in one document, or everywhere where none is named."""

    id: Id
    quote: str
    document: Id | None = None


class EvidenceMappingRequest(Request, frozen=True, kw_only=True):
    """Evidence to be found in the chunks of a collection, and chunk ids to be looked up in it."""

    evidence: list[QuotedEvidence] = []
    chunks: list[Id] = []


class EvidenceMappingResponse(Response, frozen=True, kw_only=True):
    """Where evidence was found.

    Attributes:
        evidence_mapping: By evidence id the chunks that hold its quote, in reading order.
        cut: Evidence whose quote no chunk holds whole; it maps to all chunks it was cut into.
        missing: Evidence whose quote is in no chunk.
        other_document: Of these, where the quote stands in another document than the one named.
        missing_chunks: The chunks asked for that the collection does not hold.
    """

    evidence_mapping: dict[str, list[str]]
    cut: list[str]
    missing: list[str]
    other_document: dict[str, str]
    missing_chunks: list[str]


# POST /judge

JudgeStatus = Literal["scored", "abstained", "not_evaluable", "failed"]
FactVerdict = Literal["stated", "contradicted", "missing"]
ClaimVerdict = Literal["supported", "contradicted", "unsupported"]
JudgeName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._-]{1,128}(?![\s\S])",
        description="A configured judge: `default`, `rules`, or a name from the settings.",
    ),
]
Votes = Annotated[int, Meta(ge=1, le=25, description="How many independent samples of the judge vote.")]
Tokens = Annotated[int, Meta(ge=0)]
JudgedText = Annotated[str, Meta(max_length=1_000_000)]
ShortText = Annotated[str, Meta(min_length=1, max_length=20_000)]


class Chunk(Request, frozen=True, kw_only=True):
    """A chunk that the generator received; a caller who may not send its text sends the id alone."""

    id: Id
    text: JudgedText | None = None
    metadata: dict[str, Any] = {}


class GenerationUsage(Request, frozen=True, kw_only=True):
    """Tokens the generator used and their cost; null where unknown."""

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cached_tokens: Tokens | None = None
    cost_usd: Annotated[float, Meta(ge=0)] | None = None


class Generation(Request, frozen=True, kw_only=True):
    """How the answer came about: by which model, in what time, or why there is none."""

    latency_ms: Annotated[float, Meta(ge=0)] | None = None
    usage: GenerationUsage | None = None
    model: Annotated[str, Meta(max_length=512)] | None = None
    error: Annotated[str, Meta(max_length=20_000)] | None = None


class JudgeItem(Request, frozen=True, kw_only=True):
    """One answer to be judged. What is null is taken from the question of the data set, where one is named.

    Attributes:
        question: What was asked.
        answer: What was answered.
        expected_facts: All must be stated, in whatever wording.
        reference_answers: Alternatives; agreement with one suffices.
        context: The chunks that the generator received; null where that is not known.
        expected_behavior: What should have been done.
        role: On whose behalf was asked; chunks this role may not read are flagged.
        question_id: The question of the data set, and the record of the run.
        generation: How the answer came about.
    """

    question: Annotated[str, Meta(min_length=1, max_length=100_000)] | None = None
    answer: JudgedText
    expected_facts: Annotated[list[ShortText], Meta(max_length=200)] | None = None
    reference_answers: Annotated[list[ShortText], Meta(max_length=50)] | None = None
    context: Annotated[list[Chunk], Meta(max_length=1_000)] | None = None
    expected_behavior: ExpectedBehavior | None = None
    role: Id | None = None
    question_id: Id | None = None
    generation: Generation | None = None


class JudgeBatchItem(JudgeItem, frozen=True, kw_only=True):
    """One answer of a batch; `judge` is null where the one of the batch judges."""

    judge: JudgeName | None = None


class JudgeOptions(Request, frozen=True, kw_only=True):
    """How answers are to be judged: fields of `JudgeRequest` again, since two Structs with fields make no third."""

    judge: JudgeName = "default"
    votes: Votes = 1
    use_cache: bool = True
    dataset: DatasetReference | None = None
    run: Name | None = None
    replace_run: bool = False
    config: dict[str, Any] = {}


class JudgeRequest(JudgeItem, frozen=True, kw_only=True):
    """One answer, and how it is to be judged.

    Attributes:
        judge: Who judges.
        votes: Independent samples, of which the majority counts, dimension by dimension.
        use_cache: Whether an earlier verdict on exactly the same may be given.
        dataset: Where the question with `question_id` stands; without it that of the run.
        run: Name to store the judgment under; needs `question_id`.
        replace_run: Begin the run anew where it exists and differs.
        config: What was measured: any JSON object.
    """

    judge: JudgeName = "default"
    votes: Votes = 1
    use_cache: bool = True
    dataset: DatasetReference | None = None
    run: Name | None = None
    replace_run: bool = False
    config: dict[str, Any] = {}


class JudgeBatchOptions(JudgeOptions, frozen=True, kw_only=True):
    """What holds for every item of a batch; the fields mean what they mean for one answer.

    Attributes:
        max_cost_usd: No item is begun that would probably cost more than is left of this, in US dollars.
    """

    max_cost_usd: Annotated[float, Meta(gt=0)] | None = None


class JudgeBatchRequest(JudgeBatchOptions, frozen=True, kw_only=True):
    """Many answers, judged alike."""

    items: Annotated[list[JudgeBatchItem], Meta(min_length=1)]


class JudgedFact(Response, frozen=True, kw_only=True):
    """One expected fact. `verdict` is null where the judge abstained, `quote` is from the answer, `rule` decided it."""

    fact: str
    verdict: FactVerdict | None
    quote: str | None
    rule: str | None = None


class JudgedClaim(Response, frozen=True, kw_only=True):
    """One claim of the answer and whether the context supports it.

    `verdict` is null where the judge abstained. `quote` is from the chunk named; `quote_verified` says whether it
    stands there (whitespace and case folded), null without a quote. A support whose quote is not there does not count.
    """

    claim: str
    verdict: ClaimVerdict | None
    chunk_id: str | None
    quote: str | None
    quote_verified: bool | None
    rule: str | None = None


class JudgmentStatus(Response, frozen=True, kw_only=True):
    """Whether each dimension was scored, and if not, why not."""

    correct: JudgeStatus
    faithful: JudgeStatus
    behaved: JudgeStatus


class DecidedBy(Response, frozen=True, kw_only=True):
    """Which judge decided each dimension, where several were asked; null where none did."""

    correct: str | None
    faithful: str | None
    behaved: str | None


class JudgeCalibration(Response, frozen=True, kw_only=True):
    """How a judge agreed with people on one dimension, over `n` answers that both scored."""

    sensitivity: float | None
    specificity: float | None
    n: int


class JudgeInfo(Response, frozen=True, kw_only=True):
    """Who judged.

    Attributes:
        name: Its configured name.
        model: The model asked; null for rules.
        rubric: The version of the rubric; null for rules.
        fingerprint: Changes with everything that can change a verdict, as `sha256:...`.
        calibration: By dimension; null while never calibrated.
    """

    name: str
    model: str | None
    rubric: str | None
    fingerprint: str
    calibration: dict[str, JudgeCalibration] | None = None


class Judgment(Response, frozen=True, kw_only=True):
    """The verdicts on one answer, and what they follow from.

    Attributes:
        correct: Whether the answer states every expected fact, contradicts none, and agrees with a reference.
        faithful: Whether every claim follows from the context alone.
        behaved: Whether the behaviour is the expected one.
        status: Whether each was scored; a verdict is null unless it was.
        reason: One or two sentences for a reader.
        facts: Every expected fact, in order.
        claims: Every claim of the answer.
        observed_behavior: What the answer does; null where the judge abstained.
        agreement: The smallest share of votes, over the dimensions, that went to the outcome given.
        flags: What a reader should know, as `EMPTY_ANSWER`, `POSSIBLE_INJECTION`.
        judge: Who judged.
        decided_by: Who decided which dimension, where several judges were asked.
        usage: What the judge used for this judgment; nothing for one from the cache.
        cached: Whether it was given before.
        latency_ms: What it took.
        id: Names this judgment.
    """

    correct: bool | None
    faithful: bool | None
    behaved: bool | None
    status: JudgmentStatus
    reason: str
    facts: list[JudgedFact]
    claims: list[JudgedClaim]
    observed_behavior: ExpectedBehavior | None
    agreement: float
    flags: list[str]
    judge: JudgeInfo
    usage: Usage
    cached: bool
    latency_ms: float
    id: str
    decided_by: DecidedBy | None = None


class JudgeBatchResult(Response, frozen=True, kw_only=True):
    """What came of one item: a judgment or a problem, never both. `index` is its place in the request."""

    index: int
    judgment: Judgment | None
    problem: "Problem | None"


class JudgeBatchResponse(Response, frozen=True, kw_only=True):
    """Answer of POST /judge/batch, in request order, and the figures over all."""

    results: list[JudgeBatchResult]
    summary: RunSummary


class JudgmentRecord(Response, frozen=True, kw_only=True):
    """A judgment as a run holds it, with what was judged; texts are null or empty where the store keeps none.

    Attributes:
        judgment: The judgment.
        answer: What was judged.
        context: The chunks the generator received, by their ids, with texts where they are kept; null where unknown.
        expected_behavior: What should have been done; null where nobody said.
        generation: How the answer came about.
    """

    judgment: Judgment
    answer: str | None
    context: list[Chunk] | None
    expected_behavior: ExpectedBehavior | None
    generation: Generation | None = None


# GET /jobs/{id}

JobState = Literal["queued", "running", "done", "failed", "cancelled"]


class JobAnswer(Response, frozen=True, kw_only=True):
    """A batch that is judged in the background.

    Attributes:
        state: `failed` where the whole of it could not be judged; an answer that fails alone counts in `failed`.
        done: Answers with a result.
        total: All answers.
        failed: Answers whose result is a problem.
        spent_cost_usd: What was spent so far, as far as it is known.
        estimated_cost_usd: What all of it will probably cost; null while nothing is known.
        created: When it was sent, in UTC.
        updated: When anything last happened.
        result: Everything, once it has ended; with what was judged where it was cancelled.
        problem: Why it failed.
    """

    id: str
    state: JobState
    done: int
    total: int
    failed: int
    spent_cost_usd: float
    estimated_cost_usd: float | None
    created: datetime
    updated: datetime
    result: JudgeBatchResponse | None = None
    problem: "Problem | None" = None


# POST /judge/calibration


class HumanVerdicts(Request, frozen=True, kw_only=True):
    """What people said about one answer; null where they did not say."""

    correct: bool | None = None
    faithful: bool | None = None
    behaved: bool | None = None


class CalibrationItem(JudgeItem, frozen=True, kw_only=True):
    """An answer on which people have a verdict.

    Attributes:
        human: Their verdict; null on a dimension they did not look at.
        group: Items of one group (as a question) are resampled together.
        judge: As in a batch; it must be the judge that is calibrated.
    """

    human: HumanVerdicts
    group: Id | None = None
    judge: JudgeName | None = None


class CalibrationRequest(Request, frozen=True, kw_only=True):
    """Answers with human verdicts, to measure a judge by; stored under `name`."""

    name: Name
    items: Annotated[list[CalibrationItem], Meta(min_length=1, max_length=2_000)]
    judge: JudgeName = "default"
    dataset: DatasetReference | None = None
    use_cache: bool = True
    confidence: Annotated[float, Meta(ge=0.5, le=0.999)] = 0.95
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 7


class Confusion(Response, frozen=True, kw_only=True):
    """Answers by human verdict (true or false) and the judge's (positive or negative)."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int


class DimensionCalibration(Response, frozen=True, kw_only=True):
    """How the judge agrees with people on one dimension.

    Attributes:
        n: Answers with a human verdict.
        scored: Those among them that the judge scored.
        coverage: Their share.
        accuracy: Share of the scored on which both agree; null where there is none.
        balanced_accuracy: Mean of sensitivity and specificity.
        sensitivity: Share of the answers people call true that the judge calls true.
        specificity: Share of the answers people call false that the judge calls false.
        kappa: Cohen's kappa.
        kappa_ci: Its interval, by bootstrap over groups.
        confusion: The counts.
        disagreements: Places of the items on which they disagree.
        indicative: Whether the sample is too small (under 100 scored) to rely on.
    """

    n: int
    scored: int
    coverage: float
    accuracy: float | None
    balanced_accuracy: float | None
    sensitivity: float | None
    specificity: float | None
    kappa: float | None
    kappa_ci: tuple[float, float] | None
    confusion: Confusion
    disagreements: list[int]
    indicative: bool


class CalibrationResponse(Response, frozen=True, kw_only=True):
    """Answer of POST /judge/calibration; `failed` are the items that got no judgment, with their problem."""

    name: str
    judge: JudgeInfo
    dimensions: dict[str, DimensionCalibration]
    failed: list[JudgeBatchResult]
    usage: Usage


# Errors, health


class ProblemDetail(Response, frozen=True, kw_only=True):
    """One place in the request and what is wrong there.

    Attributes:
        pointer: An RFC 6901 JSON pointer into the body.
        detail: What is wrong there.
    """

    pointer: str
    detail: str


class Problem(Response, frozen=True, kw_only=True):
    """An RFC 9457 problem document.

    Attributes:
        type: The kind of problem, `/problems/` and a stable code.
        title: The kind in a few words.
        status: The HTTP status.
        detail: What is wrong here and what to do next.
        instance: The path of the request.
        request_id: What to look for in the log; also in the header `X-Request-ID`.
        errors: Where in the body, as far as it is known.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[ProblemDetail] = []


class Index(Response, frozen=True, kw_only=True):
    """What is served here, and where to read on."""

    service: Literal["befund"]
    version: str
    paths: list[str]


class Health(Response, frozen=True, kw_only=True):
    """The process is alive."""

    status: Literal["ok"]
    version: str


class DependencyState(Response, frozen=True, kw_only=True):
    """One dependency and whether it answers.

    Attributes:
        detail: What is wrong, where it does not.
    """

    state: Literal["ok", "down"]
    detail: str | None = None


class Readiness(Response, frozen=True, kw_only=True):
    """Whether the service can take work, and each dependency's state."""

    status: Literal["ready", "unready"]
    dependencies: dict[str, DependencyState]
