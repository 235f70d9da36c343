"""POST /judge/calibration."""

from typing import Annotated

from msgspec import Meta

from befund.contract.base import DatasetReference, Id, Name, Request, Response, Usage
from befund.contract.judging import JudgeBatchResult, JudgeInfo, JudgeItem, JudgeName


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
    """Answers with human verdicts, to measure a judge by; stored under `name`. Options are those of a batch."""

    name: Name
    items: Annotated[list[CalibrationItem], Meta(min_length=1, max_length=2_000)]
    judge: JudgeName = "default"
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
