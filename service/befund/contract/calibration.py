"""POST /judge/calibration."""

from typing import Annotated

from msgspec import Meta

from befund.contract.base import DatasetReference, Id, Name, Request, Response, Usage
from befund.contract.judging import JudgeBatchResult, JudgeInfo, JudgeItem, JudgeName, Votes


class HumanVerdicts(Request, frozen=True, kw_only=True):
    """What people said about one answer; null where they did not say."""

    correct: bool | None = None
    faithful: bool | None = None
    behaved: bool | None = None


class CalibrationItem(JudgeItem, frozen=True, kw_only=True):
    """An answer on which people have a verdict.

    Attributes:
        human: Their verdict; null on a dimension they did not look at.
        group: Items of one group are resampled together; else those with the same `question_id`, or question.
        judge: As in a batch; it must be the judge that is calibrated.
    """

    human: HumanVerdicts
    group: Id | None = None
    judge: JudgeName | None = None


class CalibrationRequest(Request, frozen=True, kw_only=True):
    """Answers with human verdicts, to measure a judge by; stored under `name`. Options are those of a batch."""

    name: Name
    items: Annotated[list[CalibrationItem], Meta(min_length=1, max_length=2_000)]
    judge: JudgeName = "default"
    votes: Votes = 1
    dataset: DatasetReference | None = None
    use_cache: bool = True
    force_verdict: bool = False
    confidence: Annotated[float, Meta(ge=0.5, le=0.999)] = 0.95
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 7


class Confusion(Response, frozen=True, kw_only=True):
    """Answers by human verdict (true or false) and the judge's (positive or negative)."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int


class RiskAtCoverage(Response, frozen=True, kw_only=True):
    """What would be wrong if only verdicts at least so sure counted.

    Attributes:
        confidence: The least confidence that counts.
        coverage: The share of all answers with a human verdict that get one.
        risk: The share of these that people contradict.
    """

    confidence: float
    coverage: float
    risk: float


class Disagreement(Response, frozen=True, kw_only=True):
    """An answer that people and the judge see differently.

    Attributes:
        index: Its place in the request.
        question_id: Its question, where that was named.
        question: What was asked; this and the answer are cut after 1,000 characters.
        answer: What was answered.
        human: What people say.
        judged: What the judge says.
        confidence: How sure the judge is; null where it does not say.
        reason: Its reason.
    """

    index: int
    question_id: str | None
    question: str
    answer: str
    human: bool
    judged: bool
    confidence: float | None
    reason: str


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
        intervals: Of `accuracy`, `balanced_accuracy`, `sensitivity`, `specificity`, by bootstrap over groups; where the
            judge is always right or always wrong, Wilson's over groups. Null under ten groups.
        risk_coverage: From the surest verdicts to all; null where the judge does not say of each how sure it is.
        worst: The disagreements in words, at most 50: first those that the judge is surest of, then those that it lets
            pass and people do not.
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
    intervals: dict[str, tuple[float, float] | None] = {}
    risk_coverage: list[RiskAtCoverage] | None = None
    worst: list[Disagreement] = []


class CalibrationResponse(Response, frozen=True, kw_only=True):
    """Answer of POST /judge/calibration.

    Attributes:
        name: What it is stored under.
        judge: Who was compared with people.
        dimensions: How they agree on `correct`, `faithful` and `behaved`.
        failed: The items that got no judgment, with their problem.
        usage: What judging used.
        groups: How many groups the items fall into.
        confidence: That of the intervals.
        votes: How often the judge was asked for each.
    """

    name: str
    judge: JudgeInfo
    dimensions: dict[str, DimensionCalibration]
    failed: list[JudgeBatchResult]
    usage: Usage
    groups: int | None = None
    confidence: float = 0.95
    votes: int = 1
