"""A comparison as a page: what decided, how far each metric moved, which questions moved it, what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from befund.contract import CompareResponse, Finding, GateResult, MetricComparison, MetricSide
from befund.reports.comparison_plots import accounts_plot, budget_plot, deltas_plot, questions_plot
from befund.reports.comparison_words import (
    SAYS,
    budget_rows,
    change,
    corrected,
    counted,
    difference_row,
    figure,
    first_and_last,
    gate_name,
    interval,
    is_telling,
    observed,
    p_value,
    some,
    summary,
    threshold,
)
from befund.reports.markup import Content, Markup, element, joined
from befund.reports.page import figure as framed
from befund.reports.page import figures, instead_of_figure, note, page, paragraphs, section, table
from befund.reports.visible import all_visible

MOST_SLICES = 30
MOST_QUESTIONS = 60
SHOWN = ("hit_rate", "recall", "mrr", "ndcg", "precision", "correct", "faithful", "behaved")
"""What is shown first where there is no room for all."""

READING = """\
A change is the candidate's mean minus the baseline's, over the questions both sides scored. The p-value says how \
likely so large a change would be if nothing had changed: McNemar's exact test for yes/no metrics, Fisher's \
randomisation test for the others; where gates name several metrics it is adjusted by Holm's method. That a change is \
not significant does not say that there is none: see what these questions could have shown. Corrected rates take the \
judge's error out, as its calibration knows it; tests and gates are on the raw ones."""
SHOWS = """\
“Would show from” is the smallest true difference that so many questions show as significant in four of five \
comparisons (minimum detectable delta). A smaller one may be there unseen: more questions bring it down. “–” where it \
cannot be told."""
GATES = """\
A gate passes only if it would with every unscored question at its worst, and fails only if it would with every one \
at its best. What is missing or changed never lets one pass."""


def comparison_page(answer: CompareResponse) -> bytes:
    """The page of one comparison, as POST /compare answers it."""
    answer = all_visible(answer)
    before, after = answer.names
    first, last = first_and_last(answer)
    return page(
        f"{after} against {before}",
        _gates(answer.gates) if answer.gates else None,
        section("Read this first", *_findings(first, warn=True)) if first else None,
        section("How far it moved", *_movement(answer)),
        section("Question by question", *_questions(answer)),
        section("Which questions count, and what they cost", *_accounts(answer)),
        section("By tag", _slices(answer)) if answer.slices else None,
        section("What differs", *_differences(answer)),
        section("Findings", *_findings(last)) if last else None,
        section("How to read this", *_reading(answer)),
        kind=f"comparison: {SAYS[answer.verdict]}",
        lead=joined(_badge(answer.verdict), " ", summary(answer)) if answer.verdict else summary(answer),
    )


def _badge(status: str) -> Markup:
    return element("strong", status, class_={"pass": "agrees", "fail": "differs"}.get(status, "undecided"))


def _gates(gates: Sequence[GateResult]) -> Markup:
    rows = [
        (
            _badge(gate.status),
            joined(element("strong", gate_name(gate)), element("div", gate.detail), _behind(gate)),
            observed(gate),
            threshold(gate),
        )
        for gate in gates
    ]
    return section("Gates", table("What decides", ("says", "gate", "observed", "asked"), rows, text=2), note(GATES))


def _behind(gate: GateResult) -> Content:
    return None if gate.status == "pass" else _named(gate.questions)


def _named(questions: Sequence[str]) -> Content:
    if not questions:
        return None
    shown, more = some(questions)
    return element("span", f"{', '.join(shown)}{more}", class_="interval")


def _movement(answer: CompareResponse) -> Iterator[Content]:
    plot = deltas_plot("Change of each metric", _by_weight(answer))
    level = f"{1 - answer.alpha:.0%}"
    if plot is None:
        yield instead_of_figure("Change of each metric", "No metric was scored on both sides.")
    else:
        yield figures(
            framed(plot, f"Bars are {level} intervals, none under ten questions. Filled dots are significant.")
        )
    rows = [_metric_row(metric) for metric in answer.metrics]
    header = ("metric", *answer.names, "change", "p", "n", "better", "worse", "would show from")
    if any(metric.minimum_detectable_delta is not None for metric in answer.metrics):
        yield note(SHOWS)
    yield table(f"Means over the questions scored on both sides, {level} intervals", header, rows)


def _metric_row(metric: MetricComparison) -> tuple[Content, ...]:
    own = metric.candidate.k is not None and "@" not in metric.metric
    cut = element("span", f"at {metric.baseline.k} → {metric.candidate.k}", class_="interval") if own else None
    lowered = f" + {len(metric.decreased)} by the cut" if metric.decreased else ""
    return (
        joined(metric.metric, cut, None if metric.comparable else element("span", "not comparable", class_="interval")),
        _rate(metric.baseline),
        _rate(metric.candidate),
        joined(_signed(metric), element("span", interval(metric.ci), class_="interval")),
        p_value(metric),
        f"{metric.n:,}",
        str(len(metric.improved)),
        f"{len(metric.regressed)}{lowered}",
        figure(metric.minimum_detectable_delta),
    )


def _rate(side: MetricSide) -> Markup:
    return joined(figure(side.value), element("span", corrected(side), class_="interval"))


def _signed(metric: MetricComparison) -> Markup:
    delta = metric.delta or 0.0
    kind = None if not is_telling(metric) else "agrees" if delta > 0 else "differs"
    return element("span", change(metric.delta), class_=kind)


def _questions(answer: CompareResponse) -> Iterator[Content]:
    moved = [metric for metric in _by_weight(answer) if metric.improved or metric.regressed or metric.decreased]
    plots = [questions_plot(f"{metric.metric} before and after", metric, answer.per_question) for metric in moved[:2]]
    drawn = [framed(plot, "Each line is one question that changed.") for plot in plots if plot is not None]
    if not drawn:
        yield instead_of_figure("Before and after", "No question changed on any metric.")
        return
    yield figures(*drawn)
    names = [metric.metric for metric in moved][:6]
    rows = [
        (each.id, *(_before_after(each.baseline.get(name), each.candidate.get(name)) for name in names))
        for each in answer.per_question[:MOST_QUESTIONS]
        if any(each.baseline.get(name) != each.candidate.get(name) for name in names)
    ]
    more = len(answer.per_question) - MOST_QUESTIONS
    yield table("Questions that changed, before → after", ("question", *names), rows)
    if more > 0:
        yield note(f"{counted(more, 'more question')} changed; the JSON form lists them.")


def _by_weight(answer: CompareResponse) -> list[MetricComparison]:
    """Metrics, those that gates name first, then those a reader looks for first."""
    gated = {gate.metric for gate in answer.gates}
    order = {name: place for place, name in enumerate(SHOWN)}

    def weight(metric: MetricComparison) -> tuple[bool, int, bool, float]:
        graded = metric.test == "fisher_randomization"
        family = metric.metric.partition("@")[0]
        return metric.metric not in gated, order.get(family, len(order)), not graded, -(metric.candidate.k or 0)

    return sorted(answer.metrics, key=weight)


def _before_after(before: float | None, after: float | None) -> Content:
    if before is None and after is None:
        return "–"
    text = figure(before) if before == after else f"{figure(before)} → {figure(after)}"
    if before is None or after is None or before == after:
        return text
    return element("span", text, class_="agrees" if after > before else "differs")


def _accounts(answer: CompareResponse) -> Iterator[Content]:
    budget = budget_plot("What a question costs", answer)
    yield figures(
        framed(accounts_plot("Every question accounted for", answer), "Grey: neither side can be scored on it."),
        framed(budget, "Means over the questions both sides know it of.")
        if budget
        else instead_of_figure(
            "What a question costs", "Neither chunks, tokens, time nor cost are known on both sides."
        ),
    )
    said = answer.questions
    lists = {
        "Only in the baseline": said.only_baseline,
        "Only in the candidate": said.only_candidate,
        "Text, facts or gold changed": said.changed_gold,
        "Unscored in the baseline": said.unscored_baseline,
        "Unscored in the candidate": said.unscored_candidate,
        **{f"Excluded: {reason}": names for reason, names in said.excluded.items()},
    }
    rows = [(what, str(len(names)), _listed(names)) for what, names in lists.items() if names]
    if rows:
        yield table("Questions that are not compared, or not on everything", ("why", "how many", "which"), rows, text=3)
    known = budget_rows(answer)
    if known:
        yield table("Budget", ("", *answer.names, "change"), known)


def _listed(names: Sequence[str]) -> str:
    shown, more = some(names)
    return ", ".join(shown) + more


def _slices(answer: CompareResponse) -> Markup:
    largest = sorted(answer.slices.items(), key=lambda item: (-item[1].n, item[0]))[:MOST_SLICES]
    names = [metric.metric for metric in _by_weight(answer)][:5]
    rows = [
        (
            tag,
            f"{part.n:,}",
            *(
                _before_after(part.metrics[name].baseline, part.metrics[name].candidate)
                if name in part.metrics
                else "–"
                for name in names
            ),
        )
        for tag, part in largest
    ]
    return table("Means by tag, before → after; small slices say little", ("tag", "n", *names), rows)


def _differences(answer: CompareResponse) -> Iterator[Content]:
    if not answer.comparable.differences:
        yield paragraphs("Nothing in the configurations of both sides differs, as far as they are known.")
        return
    rows = [
        (*difference_row(each), "blocks " + ", ".join(each.blocks) if each.blocking else "")
        for each in answer.comparable.differences
    ]
    yield table("Configuration", ("field", *answer.names, ""), rows, text=4)


def _findings(findings: Sequence[Finding], *, warn: bool = False) -> Iterator[Content]:
    for each in findings:
        yield note(element("strong", each.code), " ", each.message, _named(each.questions), warns=warn)


def _reading(answer: CompareResponse) -> Iterator[Content]:
    yield paragraphs(READING)
    yield paragraphs(
        f"Tests at {answer.alpha:g}, intervals at {1 - answer.alpha:.0%}, seed {answer.seed}: the same request gives "
        "the same figures."
    )
