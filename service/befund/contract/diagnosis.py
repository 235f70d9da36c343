"""POST /diagnose and /diagnose/batch."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from befund.contract.base import Cutoff, DatasetReference, Id, Name, Request, Response
from befund.contract.judging import JudgeBatchItem, JudgeName, Judgment, Votes
from befund.contract.problems import Problem
from befund.contract.questions import Evidence
from befund.contract.retrieval import RankingEntry
from befund.contract.summary import RunSummary

DiagnosisClass = Literal[
    "SUCCESS", "RETRIEVAL_FAILURE", "GENERATION_FAILURE", "UNSUPPORTED_CORRECT_ANSWER", "NOT_EVALUABLE"
]
CauseCode = Literal[
    "NO_GROUND_TRUTH",
    "UNMAPPED_EVIDENCE",
    "DOCUMENT_MISSING",
    "CHUNK_MISSING",
    "TEXT_LOST",
    "FILTERED_OUT",
    "RANKED_BELOW_K",
    "INDEX_UNREACHABLE",
    "DROPPED_FROM_CONTEXT",
    "PARTIAL_EVIDENCE",
    "SPLIT_ACROSS_CHUNKS",
    "NOT_RETRIEVED",
    "GENERATION_ERROR",
    "MISREAD",
    "VERSION_CONFUSION",
    "CONTRADICTORY_CONTEXT",
    "OMISSION",
    "UNSUPPORTED_ADDITION",
    "OUTSIDE_KNOWLEDGE",
    "WRONG_REFUSAL",
    "ANSWERED_ANYWAY",
    "ACCESS_LEAK",
    "UNKNOWN",
]
StageName = Literal["ground_truth", "mapping", "index", "filter", "ranking", "context", "answer", "support"]
StageState = Literal["ok", "failed", "skipped", "not_probed"]
Certainty = Literal["measured", "inferred"]
EvidenceBy = Literal["text", "id"]
Rank = int | Literal["> 1000"]
"""From 1; exact to 1,000."""

Retrieved = Annotated[list[Id | RankingEntry], Meta(max_length=100_000)]
Where = dict[str, Any]


class DiagnoseItem(JudgeBatchItem, frozen=True, kw_only=True):
    """One answer to be diagnosed. What is null is taken from the question of the data set, where one is named.

    Attributes:
        evidence: The passages that hold the answer; instead of `relevant`.
        relevant: Chunks that hold the answer: ids with grades, or a plain list (grade 1 each).
        evidence_mapping: By evidence id the chunks that hold the passage; without one, quotes are looked for.
        non_relevant: Chunks known to be false positives; what they say is no evidence.
        retrieved: The ranking before the context was put together, best first; else that of the run.
        dataset: Where the question with `question_id` stands; without it that of the run.
        collection: The collection to look into for the cause.
        top_k: How many chunks retrieval gives; else as many as the run searched for, were retrieved, or stand in the
            context.
        where: The filter of the search, as Chroma writes it.
        embedder: What embeds the question.
        judgment: A judgment of this answer, as POST /judge gave it; without one that of the run counts, where it judges
            the very same, or the judge is asked.
    """

    evidence: Annotated[list[Evidence], Meta(max_length=1_000)] | None = None
    relevant: dict[Id, float] | list[Id] | None = None
    evidence_mapping: dict[Id, list[Id]] | None = None
    non_relevant: Annotated[list[Id], Meta(max_length=10_000)] | None = None
    retrieved: Retrieved | None = None
    dataset: DatasetReference | None = None
    collection: str | None = None
    top_k: Cutoff | None = None
    where: Where | None = None
    embedder: str | None = None
    judgment: Judgment | None = None


class DiagnoseRequest(DiagnoseItem, frozen=True, kw_only=True):
    """One answer to be diagnosed, and how; the fields that judging has too mean what they mean there.

    Attributes:
        run: Name to store diagnosis and judgment under; needs `question_id`.
    """

    votes: Votes = 1
    use_cache: bool = True
    force_verdict: bool = False
    run: Name | None = None
    replace_run: bool = False
    config: dict[str, Any] = {}


class DiagnoseBatchOptions(Request, frozen=True, kw_only=True):
    """What holds for every item of a batch, unless the item itself says it."""

    judge: JudgeName = "default"
    votes: Votes = 1
    use_cache: bool = True
    force_verdict: bool = False
    dataset: DatasetReference | None = None
    collection: str | None = None
    top_k: Cutoff | None = None
    where: Where | None = None
    embedder: str | None = None
    run: Name | None = None
    replace_run: bool = False
    config: dict[str, Any] = {}
    max_cost_usd: Annotated[float, Meta(gt=0)] | None = None


class DiagnoseBatchRequest(DiagnoseBatchOptions, frozen=True, kw_only=True):
    """Many answers, diagnosed alike."""

    items: Annotated[list[DiagnoseItem], Meta(min_length=1)]


class Cause(Response, frozen=True, kw_only=True, omit_defaults=True):
    """Where an answer went wrong, and what says so.

    Attributes:
        code: The kind of fault; stable.
        detail: What was found, for a reader.
        confidence: `measured` where it was looked at, `inferred` where it follows from what was not found.
        chunk: The chunk it rests on.
        passage: The words it rests on, from that chunk or from the answer.
        rank: The rank it rests on.
        clause: The clause of the filter it rests on.
    """

    code: CauseCode
    detail: str
    confidence: Certainty
    chunk: str | None = None
    passage: str | None = None
    rank: Rank | None = None
    clause: dict[str, Any] | None = None


class Stage(Response, frozen=True, kw_only=True, omit_defaults=True):
    """One station on the way from the question to the answer.

    Attributes:
        stage: Its name; they stand in the order in which an answer comes about.
        state: `skipped` where what came before left nothing to look at, `not_probed` where nobody looked.
        detail: What was found there.
        chunk: The chunk that was followed.
        rank: Its rank.
        k: How many chunks come back.
    """

    stage: StageName
    state: StageState
    detail: str | None = None
    chunk: str | None = None
    rank: Rank | None = None
    k: int | None = None


class EvidenceSeen(Response, frozen=True, kw_only=True):
    """A piece of evidence, or a chunk named relevant, and whether it reached the context.

    `by` says how that was seen: by its words, or by its chunks' ids; null where the context is not known.
    """

    id: str
    chunks: list[str]
    in_context: bool | None
    by: EvidenceBy | None


class FactSeen(Response, frozen=True, kw_only=True):
    """An expected fact, and the passage of the context that states it as an answer to the question, if one does."""

    fact: str
    in_context: bool
    chunk: str | None
    passage: str | None


class Diagnosis(Response, frozen=True, kw_only=True):
    """What became of one answer and why.

    Attributes:
        diagnosis: The class, which follows from `evidence_present` and `answer_correct` alone.
        evidence_present: Whether the context held what the answer needs; null where that cannot be told.
        answer_correct: The judgment's verdict.
        faithful: The judgment's verdict.
        evidence: The gold, piece by piece.
        cause: The earliest stage that failed; null on a clean success.
        contributing: What else went wrong.
        stages: The way from the question to the answer.
        next_step: What to do first; null on a clean success.
        judgment: The judgment; null where the class needs none.
        question_id: The question.
        facts: The expected facts, where the context's text was read for them.
        notes: What a reader should know beside, as text and ids that disagree, or what was sent and what the run holds.
    """

    diagnosis: DiagnosisClass
    evidence_present: bool | None
    answer_correct: bool | None
    faithful: bool | None
    evidence: list[EvidenceSeen]
    cause: Cause | None
    contributing: list[Cause]
    stages: list[Stage]
    next_step: str | None
    judgment: Judgment | None
    question_id: str | None = None
    facts: list[FactSeen] = []
    notes: list[str] = []


class DiagnosisRecord(Response, frozen=True, kw_only=True):
    """A diagnosis as a run holds it; texts are null or empty where the store keeps none.

    Attributes:
        diagnosis: The diagnosis; its judgment is left out where the run holds it as a record of its own.
        answer: What was diagnosed.
        context: The ids of the chunks the generator received; null where they are not known.
        retrieved: The ranking before; null where it was not sent, and that of the run counted.
        collection: The collection that was looked into; null where none was.
        top_k: How many chunks retrieval gives; null where neither a number nor a ranking says.
        where: The filter of the search.
    """

    diagnosis: Diagnosis
    answer: str | None
    context: list[str] | None
    retrieved: list[str] | None
    collection: str | None
    top_k: int | None
    where: dict[str, Any] | None


class DiagnosedGroup(Response, frozen=True, kw_only=True, omit_defaults=True):
    """The answers of one class or cause.

    Attributes:
        n: How many there are.
        questions: Their question ids, as far as they have some; in a run the first thousand.
        items: Their places in the batch; left out in a run.
        next_step: What to do about this cause; left out for a class.
    """

    n: int
    questions: list[str]
    items: list[int] = []
    next_step: str | None = None


class DiagnoseBatchResult(Response, frozen=True, kw_only=True):
    """What came of one item: a diagnosis or a problem, never both. `index` is its place in the request."""

    index: int
    diagnosis: Diagnosis | None
    problem: Problem | None


class DiagnoseBatchResponse(Response, frozen=True, kw_only=True):
    """Answer of POST /diagnose/batch, in request order, and the figures over all; causes stand most frequent first."""

    results: list[DiagnoseBatchResult]
    summary: RunSummary
