"""How every form of a comparison writes figures and names."""

from __future__ import annotations

from collections.abc import Sequence

from befund.contract import (
    BudgetPart,
    CompareResponse,
    ConfigDifference,
    Finding,
    GateResult,
    MetricComparison,
    MetricSide,
)

SAYS = {"pass": "pass", "fail": "fail", "inconclusive": "inconclusive", None: "no gates"}
MOST_LISTED = 12
IN_DOUBT = frozenset(
    {
        "IDENTICAL_SIDES",
        "NOT_COMPARABLE",
        "UNKNOWN_QUESTIONS",
        "QUESTIONS_DIFFER",
        "GOLD_CHANGED",
        "EVALUABLE_ON_ONE_SIDE",
        "JUDGE_NOISE",
        "CUTOFFS_DIFFER",
        "NESTED_RANKINGS",
        "ANSWERS_NOT_MEASURED",
    }
)
"""Findings that say the figures may not mean what they seem to: a reader should know before looking at them."""

_OF_BUDGET = {
    "chunks_per_question": "chunks a question",
    "tokens_per_question": "tokens a question",
    "latency_ms": "latency, ms",
    "cost_usd": "cost a question, USD",
}


def gate_name(gate: GateResult) -> str:
    """A gate as one would say it."""
    return f"{gate.metric} {gate.test} {gate.threshold:g}"


def figure(value: float | None) -> str:
    """A mean.

    >>> figure(0.76923), figure(None)
    ('0.769', '–')
    """
    return "–" if value is None else f"{value:.3f}"


def corrected(side: MetricSide) -> str:
    """The rate corrected for the judge's error; nothing without a calibration."""
    rate = side.corrected
    if rate is None or rate.value is None:
        return ""
    limits = "" if rate.ci is None else f", {rate.ci[0]:.3f} to {rate.ci[1]:.3f}"
    return f"corrected {rate.value:.3f}{limits}"


def change(value: float | None) -> str:
    """A difference, with its sign.

    >>> change(-0.0718), change(0.0), change(None)
    ('−0.072', '0.000', '–')
    """
    if value is None:
        return "–"
    return "0.000" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", "−")


def interval(limits: tuple[float, float] | None) -> str:
    """The limits of a difference; nothing where there are none."""
    return "" if limits is None else f"{change(limits[0])} to {change(limits[1])}"


def is_telling(metric: MetricComparison) -> bool:
    """Whether a significant change says something: not where it could not fall, or a side was cut short."""
    return metric.significant and metric.regression_possible and not metric.cut_short


def p_value(metric: MetricComparison) -> str:
    """The p-value that decides: adjusted where gates name the metric."""
    p = metric.p_value if metric.p_adjusted is None else metric.p_adjusted
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def observed(gate: GateResult) -> str:
    """What a gate tested."""
    if gate.observed is None:
        return "–"
    match gate.test:
        case "max_drop":
            return change(gate.observed)
        case "min":
            return figure(gate.observed)
        case "max_share":
            return f"{gate.observed:.1%}"
        case "max_increase_percent":
            return f"{gate.observed:+.1f} %".replace("-", "−")
        case _:
            return f"{gate.observed:g}"


def threshold(gate: GateResult) -> str:
    """What it was tested against."""
    match gate.test:
        case "max_drop":
            return f"must rise {-gate.threshold:g}" if gate.threshold < 0 else f"may fall {gate.threshold:g}"
        case "min":
            return f"at least {gate.threshold:g}"
        case "max_share":
            return f"at most {gate.threshold:.1%}"
        case "max_increase_percent":
            return f"at most {gate.threshold:+g} %"
        case _:
            return f"at most {gate.threshold:g}"


def budget_rows(answer: CompareResponse) -> list[tuple[str, str, str, str]]:
    """What is known of the budget: part, before, after, change."""
    return [
        (_OF_BUDGET.get(name, name), _amount(part.baseline), _amount(part.candidate), _rise(part))
        for name, part in answer.budget.items()
        if part.n
    ]


def difference_value(value: object) -> str:
    """A value of a configuration, in short."""
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def difference_row(difference: ConfigDifference) -> tuple[str, str, str]:
    """What differs, before, after."""
    return difference.field, difference_value(difference.baseline), difference_value(difference.candidate)


def some(names: Sequence[str], *, most: int = MOST_LISTED) -> tuple[list[str], str]:
    """The first names, and how many more there are in words."""
    more = len(names) - most
    return list(names[:most]), f" and {more} more" if more > 0 else ""


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "question"), counted(1200, "question")
    ('1 question', '1,200 questions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_and_last(answer: CompareResponse) -> tuple[list[Finding], list[Finding]]:
    """Findings to be read before the figures, and after them."""
    first = [each for each in answer.findings if each.code in IN_DOUBT]
    return first, [each for each in answer.findings if each.code not in IN_DOUBT]


def questions_compared(answer: CompareResponse) -> str:
    """How many questions are compared, and how many of them are not scored on both sides."""
    said = answer.questions
    unscored = len({*said.unscored_baseline, *said.unscored_candidate})
    without = f", {unscored:,} of them not scored on both sides" if unscored else ""
    return f"{counted(said.shared, 'question')} compared{without}"


def summary(answer: CompareResponse) -> str:
    """What the comparison comes to, in a sentence."""
    shared = questions_compared(answer)
    if answer.verdict is None:
        return f"{shared}; no gates were given, so there is no verdict."
    by_status = [(name, sum(gate.status == name for gate in answer.gates)) for name in ("fail", "inconclusive", "pass")]
    parts = [f"{number} {name}" for name, number in by_status if number]
    return f"{shared}; of {counted(len(answer.gates), 'gate')} {', '.join(parts)}."


def _amount(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.4f}" if 0 < abs(value) < 1 else f"{value:,.1f}"


def _rise(part: BudgetPart) -> str:
    if part.increase_percent is None:
        return "from nothing"
    return f"{part.increase_percent:+.1f} %".replace("-", "−")
