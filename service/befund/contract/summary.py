"""A run in figures."""

from typing import Any

from befund.contract.base import Estimate, Finding, Response, Usage


class RunSummary(Response, frozen=True, kw_only=True):
    """A run in figures. Judged rates are over every judged question, retrieval metrics over those eligible for it.

    Attributes:
        questions: How many questions the run holds.
        rates: `correct`, `faithful`, `faithful_given_claims`, `behaved`.
        correct_by_faithful: Questions that are correct and faithful (`tt`), correct and not faithful (`tf`), ...
        behavior: Expected behaviour, then observed behaviour, to questions.
        metrics: Means of the retrieval metrics; `unscored` are eligible questions without the metric.
        diagnoses: By diagnosis a `DiagnosedGroup`, those that went wrong first.
        causes: By cause the same, the most frequent first, each with what to do about it.
        usage: What judging used.
        corrected: The first, second and last rate corrected for the judge's error, (p + spec − 1) / (sens + spec − 1),
            where all who judged have a stored calibration; the interval counts in how sure rate, sensitivity and
            specificity are. Null, with the method `uninformative`, where sens + spec ≤ 1.
        timings: `judge_ms` and `generation_ms`, each with `mean` and `max`, where they are known.
        findings: What a reader should know before trusting the figures.
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
    corrected: dict[str, Estimate] = {}
    findings: list[Finding] = []
