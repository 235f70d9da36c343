"""Stored runs."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

from befund.contract.base import Id, Name, Request, Response
from befund.contract.datasets import DatasetVersion
from befund.contract.diagnosis import DiagnosisRecord
from befund.contract.judging import Chunk, Generation, JudgeBatchResult, JudgeName, Judgment, Votes
from befund.contract.questions import ExpectedBehavior, Question
from befund.contract.retrieval import Exclusion, RankingEntry
from befund.contract.summary import RunSummary


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
        tokens: Tokens of each chunk of the ranking, after a live search; null where texts are not known.
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
    tokens: list[int] | None = None


class RunRecord(Response, frozen=True, kw_only=True):
    """Everything a run holds about one question. `question_hash` is that of its content in the data set."""

    question_id: str
    question_hash: str
    retrieval: RetrievalRecord | None = None
    judgment: "JudgmentRecord | None" = None
    diagnosis: DiagnosisRecord | None = None


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


class RejudgeRequest(Request, frozen=True, kw_only=True):
    """The answers of a run, judged anew into another run.

    Attributes:
        run: Where the judgments go, with what retrieval found beside them.
        judge: Who judges.
        votes: Independent samples, of which the majority counts.
        use_cache: Whether an earlier verdict on exactly the same may be given.
        questions: Only these; needed where the run has more answers than are judged at once (200).
        replace_run: Begin `run` anew where it exists and differs.
        max_cost_usd: No answer is begun that would probably cost more than is left of this, in US dollars.
    """

    run: Name
    judge: JudgeName = "default"
    votes: Votes = 1
    use_cache: bool = True
    questions: Annotated[list[Id], Meta(min_length=1, max_length=1_000)] | None = None
    replace_run: bool = False
    max_cost_usd: Annotated[float, Meta(gt=0)] | None = None


class RunRejudged(Response, frozen=True, kw_only=True):
    """Answer of POST /runs/{name}/rejudge.

    Attributes:
        run: Where the judgments are.
        judged: How many answers were judged.
        without_answer: Questions whose answer is not kept, or that have none.
        failed: Answers that got no judgment, with their problem; `index` counts the answers.
        summary: The figures of what was judged now.
    """

    run: str
    judged: int
    without_answer: list[str]
    failed: list[JudgeBatchResult]
    summary: RunSummary


class JudgmentRecord(Response, frozen=True, kw_only=True):
    """A judgment as a run holds it, with what was judged; texts are null or empty where the store keeps none.

    Attributes:
        judgment: The judgment.
        answer: What was judged.
        context: The chunks the generator received, by their ids, with texts where they are kept; null where unknown.
        expected_behavior: What should have been done; null where nobody said.
        generation: How the answer came about.
        judged: Hash of all that the judge looked at; null where no texts are kept.
    """

    judgment: Judgment
    answer: str | None
    context: list[Chunk] | None
    expected_behavior: ExpectedBehavior | None
    generation: Generation | None = None
    judged: str | None = None


class RunQuestion(RunRecord, frozen=True, kw_only=True):
    """Answer of GET /runs/{name}/questions/{id}: what the run holds about one question, and the question."""

    name: str
    dataset: RunDataset
    question: Question
