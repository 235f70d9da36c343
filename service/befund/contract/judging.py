"""POST /judge and /judge/batch."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from befund.contract.base import DatasetReference, Id, Name, Request, Response, Usage
from befund.contract.problems import Problem
from befund.contract.questions import ExpectedBehavior
from befund.contract.summary import RunSummary

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
    force_verdict: bool = False
    dataset: DatasetReference | None = None
    run: Name | None = None
    replace_run: bool = False
    monitor: Name | None = None
    config: dict[str, Any] = {}


class JudgeRequest(JudgeItem, frozen=True, kw_only=True):
    """One answer, and how it is to be judged.

    Attributes:
        judge: Who judges.
        votes: Independent samples, of which the majority counts, dimension by dimension.
        use_cache: Whether an earlier verdict on exactly the same may be given.
        force_verdict: Decide even where the signal is weak, instead of abstaining; the judge `rules` alone can. Forced
            and not forced are two judges: their fingerprints differ, and no run mixes them.
        dataset: Where the question with `question_id` stands; without it that of the run.
        run: Name to store the judgment under; needs `question_id`.
        replace_run: Begin the run anew where it exists and differs.
        monitor: Name to append the judgment to instead of a run; needs no question id.
        config: What was measured: any JSON object.
    """

    judge: JudgeName = "default"
    votes: Votes = 1
    use_cache: bool = True
    force_verdict: bool = False
    dataset: DatasetReference | None = None
    run: Name | None = None
    replace_run: bool = False
    monitor: Name | None = None
    config: dict[str, Any] = {}


class JudgeBatchOptions(JudgeOptions, frozen=True, kw_only=True):
    """What holds for every item of a batch; the fields mean what they mean for one answer.

    Attributes:
        max_cost_usd: No item is begun that would probably cost more than is left of this, in US dollars.
        canary: Send an answer along whose verdicts are known. A judge that misses it is the finding `CANARY_FAILED` of
            the summary; no verdict is changed.
    """

    max_cost_usd: Annotated[float, Meta(gt=0)] | None = None
    canary: bool = False


class JudgeBatchRequest(JudgeBatchOptions, frozen=True, kw_only=True):
    """Many answers, judged alike."""

    items: Annotated[list[JudgeBatchItem], Meta(min_length=1)]


class JudgedFact(Response, frozen=True, kw_only=True):
    """One expected fact.

    `verdict` is null where the judge abstained, `quote` is from the answer, `rule` decided it; `confidence` as in
    `Judgment`; `seen` is what the name of the rule does not tell, as "1 of 3 content words found in the answer".
    """

    fact: str
    verdict: FactVerdict | None
    quote: str | None
    rule: str | None = None
    confidence: float | None = None
    seen: str | None = None


class JudgedClaim(Response, frozen=True, kw_only=True):
    """One claim of the answer and whether the context supports it.

    `verdict` is null where the judge abstained. `quote` is from the chunk named; `quote_verified` says whether it
    stands there (whitespace and case folded), null without a quote. A support whose quote is not there does not count.
    `confidence` is that of a `Judgment`, `seen` as of a `JudgedFact`.
    """

    claim: str
    verdict: ClaimVerdict | None
    chunk_id: str | None
    quote: str | None
    quote_verified: bool | None
    rule: str | None = None
    confidence: float | None = None
    seen: str | None = None


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


class Confidence(Response, frozen=True, kw_only=True):
    """How sure a judge is of each verdict; null where it does not say, or gives no verdict."""

    correct: float | None = None
    faithful: float | None = None
    behaved: float | None = None


class JudgeCalibration(Response, frozen=True, kw_only=True):
    """How a judge agreed with people on one dimension, over `n` answers that both scored.

    Attributes:
        sensitivity: Share of the answers people call true that the judge calls true; null where there were none.
        specificity: Share of the answers people call false that the judge calls false.
        n: How many answers that was measured on.
        positives: Those among them that people call true; null for what was stored before this was counted.
        negatives: Those that people call false.
    """

    sensitivity: float | None
    specificity: float | None
    n: int
    positives: int | None = None
    negatives: int | None = None


class JudgeInfo(Response, frozen=True, kw_only=True):
    """Who judged.

    Attributes:
        name: Its configured name.
        model: The model asked; null for rules, and where several are asked.
        models: Every model that may be asked: several for a jury or a cascade, none for rules.
        rubric: The version of the rubric; null for rules.
        fingerprint: Changes with everything that can change a verdict, as `sha256:...`.
        calibration: By dimension; null while never calibrated.
    """

    name: str
    model: str | None
    rubric: str | None
    fingerprint: str
    models: list[str] = []
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
        confidence: From 0 to 1. Of the rules judge the probability that its fitted model gives the verdict, 0.8 where a
            rule decides alone; of several votes the share for it; null where one model is asked once.
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
    confidence: Confidence | None = None


class JudgeBatchResult(Response, frozen=True, kw_only=True):
    """What came of one item: a judgment or a problem, never both. `index` is its place in the request."""

    index: int
    judgment: Judgment | None
    problem: Problem | None


class JudgeBatchResponse(Response, frozen=True, kw_only=True):
    """Answer of POST /judge/batch, in request order, and the figures over all."""

    results: list[JudgeBatchResult]
    summary: RunSummary
