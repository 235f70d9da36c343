"""POST /compare."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from befund.contract.base import Cutoff, DatasetReference, Estimate, Finding, Id, Name, Request, Response, Tag
from befund.contract.questions import Dataset
from befund.contract.retrieval import Level, Ranking

Verdict = Literal["pass", "fail", "inconclusive"]
PairedTest = Literal["mcnemar_exact", "fisher_randomization"]
DifferenceMethod = Literal["newcombe", "bootstrap", "student", "too_few"]
GateTest = Literal["max_drop", "min", "max", "max_share", "max_increase_percent", "max_regressions"]
MetricName = Annotated[str, Meta(min_length=1, max_length=64)]


class GateQuestions(Request, frozen=True, kw_only=True):
    """Which questions a gate looks at; what is given must all hold.

    Attributes:
        critical: Those that are (true) or are not (false) critical.
        tags: Those with at least one of these tags.
        ids: These. One that neither side measured is missing data.
        split: Those of this split.
    """

    critical: bool | None = None
    tags: Annotated[list[Tag], Meta(min_length=1, max_length=1_000)] | None = None
    ids: Annotated[list[Id], Meta(min_length=1, max_length=100_000)] | None = None
    split: Tag | None = None


class Gate(Request, frozen=True, kw_only=True):
    """One condition on a comparison: a metric and exactly one threshold.

    Attributes:
        metric: A retrieval metric (`hit_rate`, at each side's own cutoff, or `hit_rate@5`), `correct`, `faithful`,
            `faithful_given_claims`, `behaved`, a part of the budget (`tokens_per_question`), or `acl_leaks`,
            `known_false_positives`, `unscored`.
        max_drop: How far the mean may fall.
        min: What the candidate's mean must reach.
        max: What the candidate may reach: a mean of the budget, or a number of questions.
        max_share: Which share of the candidate's questions it may be.
        max_increase_percent: How far a mean of the budget may rise.
        max_regressions: How many questions may be worse than before.
        bound: With `lower`, `max_drop` and `min` test the lower limit of the interval.
        questions: Only these questions.
        repeats: How often the deciding questions near the threshold are judged anew before the gate speaks.
    """

    metric: MetricName
    max_drop: Annotated[float, Meta(ge=-1, le=1)] | None = None
    min: Annotated[float, Meta(ge=0, le=1)] | None = None
    max: Annotated[float, Meta(ge=0)] | None = None
    max_share: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_increase_percent: Annotated[float, Meta(ge=-100)] | None = None
    max_regressions: Annotated[int, Meta(ge=0)] | None = None
    bound: Literal["lower"] | None = None
    questions: GateQuestions | None = None
    repeats: Annotated[int, Meta(ge=0, le=25)] = 0


class CompareOptions(Request, frozen=True, kw_only=True):
    """Everything a comparison can be told besides its sides and the data set of inline rankings.

    Attributes:
        metrics: Only these, beside those that gates name; null means all that were measured.
        level: `chunk` or `evidence`; null takes the level both runs were measured at.
        alpha: Level of the tests; intervals are at 1 - alpha.
        seed: Seed of resamples and sign flips; the same request with the same seed gives the same figures.
        strict: Whether sides that cannot be compared on everything are refused (409).
        gates: What decides the verdict; null takes the service's own gates, if it has some.
    """

    metrics: Annotated[list[MetricName], Meta(min_length=1, max_length=200)] | None = None
    level: Level | None = None
    alpha: Annotated[float, Meta(ge=1e-6, le=0.5)] = 0.05
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 7
    strict: bool = False
    gates: Annotated[list[Gate], Meta(max_length=200)] | None = None


class SideOptions(Request, frozen=True, kw_only=True):
    """What can be said of one side.

    Attributes:
        run: A stored run; instead of `rankings`.
        k: Its cutoff: how much of each ranking reaches the generator. Null takes the largest it was measured at.
        config: For inline rankings, how they came about.
    """

    run: Name | None = None
    k: Cutoff | None = None
    config: dict[str, Any] = {}


class CompareSide(SideOptions, frozen=True, kw_only=True):
    """One side: a stored run, or rankings by question id."""

    rankings: dict[Id, Ranking] | None = None


class CompareRequest(CompareOptions, frozen=True, kw_only=True):
    """Two measurements of the same questions.

    Attributes:
        baseline: What was.
        candidate: What is to be.
        dataset: What inline rankings are measured on; null takes the data set of the other side's run.
    """

    baseline: CompareSide
    candidate: CompareSide
    dataset: DatasetReference | Dataset | None = None


class GateResult(Response, frozen=True, kw_only=True):
    """What one gate says.

    Attributes:
        test: Its threshold's name.
        observed: What was tested: the mean difference for `max_drop`; null without data.
        threshold: What it was tested against.
        detail: Why, in a sentence.
        questions: Those behind it: regressed, leaking, unscored.
        n: On how many questions `observed` rests.
        repeated: Questions that were judged anew for it.
    """

    metric: str
    test: GateTest
    status: Verdict
    observed: float | None
    threshold: float
    detail: str
    questions: list[str]
    n: int
    repeated: list[str] = []


class ConfigDifference(Response, frozen=True, kw_only=True):
    """One thing in which the sides differ; null where a side says nothing.

    Attributes:
        field: Which, as `config.chunking`.
        blocking: Whether metrics cannot be compared because of it.
        blocks: Which: `retrieval`, `judgments` (all metrics of that kind), or the name of a metric.
    """

    field: str
    baseline: Any
    candidate: Any
    blocking: bool
    blocks: list[str] = []


class Comparability(Response, frozen=True, kw_only=True):
    """Whether the sides can be compared on everything, and all in which they differ."""

    ok: bool
    differences: list[ConfigDifference]


class ComparedQuestions(Response, frozen=True, kw_only=True):
    """Every question accounted for.

    Attributes:
        shared: How many are compared.
        only_baseline: Those the candidate does not have.
        only_candidate: Those the baseline does not have.
        changed_gold: Those whose text, facts or gold changed; left out.
        unscored_baseline: Those without a score there on something that is scored, or was to be, on the other side.
        unscored_candidate: The same for the candidate.
        excluded: Those neither side can score on retrieval, by reason.
    """

    shared: int
    only_baseline: list[str]
    only_candidate: list[str]
    changed_gold: list[str]
    unscored_baseline: list[str]
    unscored_candidate: list[str]
    excluded: dict[str, list[str]] = {}


class MetricSide(Response, frozen=True, kw_only=True):
    """One side of a compared metric.

    Attributes:
        k: Its cutoff; null where the metric has none.
        value: The mean over the questions scored on both sides.
        corrected: The rate corrected for the judge's error; null without a calibration.
    """

    k: int | None
    value: float | None
    corrected: Estimate | None = None


class MetricComparison(Response, frozen=True, kw_only=True):
    """One metric, question by question. See docs/comparison.md for the tests.

    Attributes:
        delta: Candidate minus baseline.
        ci: Interval of the difference at 1 - alpha; null under ten questions.
        ci_method: How it was made.
        p_value: Of `test`; null where the sides cannot be compared on it.
        p_adjusted: By Holm's method over the metrics that gates name; null for the others.
        significant: Whether the (adjusted) p-value is at most alpha.
        p_value_t: Of the paired t test, as a cross-check.
        minimum_detectable_delta: What these questions would show with 80 % power; null where no question changed.
        fewest_flips: For yes/no metrics, how many questions must change one way to be significant; null beyond n.
        n: Questions scored on both sides.
        improved: Those that are better.
        regressed: Those that are worse.
        decreased: Those lowered by the longer cut alone.
        unchanged: How many are neither.
        regression_possible: False where every baseline list is the beginning of the candidate's.
        cut_short: True where the lists of a side were cut before its cutoff, so that it says nothing.
        comparable: False where a blocking difference touches it.
    """

    metric: str
    baseline: MetricSide
    candidate: MetricSide
    delta: float | None
    ci: tuple[float, float] | None
    ci_method: DifferenceMethod
    p_value: float | None
    p_adjusted: float | None
    significant: bool
    test: PairedTest
    p_value_t: float | None
    minimum_detectable_delta: float | None
    fewest_flips: int | None
    n: int
    improved: list[str]
    regressed: list[str]
    decreased: list[str]
    unchanged: int
    regression_possible: bool
    cut_short: bool = False
    comparable: bool = True


class SliceMetric(Response, frozen=True, kw_only=True):
    """One metric over the questions of one tag."""

    baseline: float | None
    candidate: float | None
    delta: float | None
    n: int
    improved: int
    regressed: int


class ComparedSlice(Response, frozen=True, kw_only=True):
    """The questions of one tag: how many are compared, and each metric."""

    n: int
    metrics: dict[str, SliceMetric]


class BudgetPart(Response, frozen=True, kw_only=True):
    """What a question costs on either side, as means over the questions that both sides know; null where none do."""

    baseline: float | None
    candidate: float | None
    increase_percent: float | None
    n: int


class ChangedQuestion(Response, frozen=True, kw_only=True):
    """One question that changed on some metric: its value before and after, by metric."""

    id: str
    baseline: dict[str, float]
    candidate: dict[str, float]


class CompareResponse(Response, frozen=True, kw_only=True):
    """Answer of POST /compare.

    Attributes:
        verdict: Fail before inconclusive before pass; null without gates.
        slices: By tag.
        budget: `chunks_per_question`, `tokens_per_question`, `latency_ms`, `cost_usd`.
        per_question: The questions that changed, the first thousand.
        alpha: Level of the tests.
        seed: Seed of resamples and sign flips.
        names: What the sides are called.
    """

    verdict: Verdict | None
    gates: list[GateResult]
    comparable: Comparability
    questions: ComparedQuestions
    metrics: list[MetricComparison]
    slices: dict[str, ComparedSlice]
    budget: dict[str, BudgetPart]
    findings: list[Finding]
    per_question: list[ChangedQuestion] = []
    alpha: float
    seed: int
    names: tuple[str, str]
