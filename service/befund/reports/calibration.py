"""How a judge agrees with people, as a page: whether to trust it, by how much, and where it goes wrong."""

from __future__ import annotations

from collections.abc import Iterator

from befund.contract import CalibrationResponse, DimensionCalibration, Disagreement, JudgeBatchResult
from befund.reports.calibration_plots import confusion_plot, figures_plot, rate_plot, risk_plot
from befund.reports.markup import Content, Markup, element, joined
from befund.reports.page import (
    facts,
    figure,
    figures,
    instead_of_figure,
    note,
    page,
    paragraphs,
    quotation,
    section,
    table,
)

WORDS = {
    "correct": ("correct", "not correct"),
    "faithful": ("faithful", "not faithful"),
    "behaved": ("as expected", "not as expected"),
}
"""What true and false are called on each dimension."""
MOST_FAILED = 50
"""Answers without a judgment that are listed."""


def calibration_page(found: CalibrationResponse) -> bytes:
    """The page of one calibration, as POST /judge/calibration answers it."""
    seen = {name: each for name, each in found.dimensions.items() if each.n}
    return page(
        f"How far does the judge “{found.judge.name}” agree with people?",
        section("At a glance", _about(found), *_overview(found, seen)),
        *(_dimension(name, each, found) for name, each in seen.items()),
        _not_judged(found.failed) if found.failed else None,
        _reading_it(found),
        kind=f"judge calibration “{found.name}”",
        lead=_lead(seen),
    )


def percent(value: float | None) -> str:
    """A share as a reader sees it.

    >>> percent(0.8333), percent(None)
    ('83.3%', '–')
    """
    return "–" if value is None else f"{value:.1%}"


def _lead(seen: dict[str, DimensionCalibration]) -> Content:
    if not any(each.scored for each in seen.values()):
        return "There is no answer on which both people and the judge have a verdict."
    parts = [
        f"{percent(each.accuracy)} of {each.scored:,} on “{WORDS[name][0]}”"
        for name, each in seen.items()
        if each.scored
    ]
    return f"Where it gave a verdict, it agreed with people on {', '.join(parts)}."


def _about(found: CalibrationResponse) -> Markup:
    judge, cost = found.judge, found.usage.cost_usd
    return facts(
        {
            "Judge": judge.name,
            "Model": judge.model or "none",
            "Rubric or rules": judge.rubric or "–",
            "Groups": "–" if found.groups is None else f"{found.groups:,}",
            "Votes an answer": str(found.votes),
            "Cost": "not known" if cost is None else f"${cost:,.4f}" if cost else "nothing",
            "Fingerprint": judge.fingerprint.removeprefix("sha256:")[:16],
        }
    )


def _overview(found: CalibrationResponse, seen: dict[str, DimensionCalibration]) -> Iterator[Content]:
    header = [
        "dimension",
        "answers",
        "with a verdict",
        "accuracy",
        "balanced accuracy",
        "sensitivity",
        "specificity",
        "kappa",
    ]
    rows = [
        [
            WORDS[name][0],
            f"{each.n:,}",
            joined(f"{each.scored:,}", element("span", f"{each.coverage:.0%} covered", class_="interval")),
            *(_share(each, figure) for figure in ("accuracy", "balanced_accuracy", "sensitivity", "specificity")),
            _with_interval("–" if each.kappa is None else f"{each.kappa:.2f}", each.kappa_ci, "{:.2f}"),
        ]
        for name, each in seen.items()
    ]
    yield table(f"Agreement with people, with {found.confidence:.0%} intervals (bootstrap over groups)", header, rows)
    few = [WORDS[name][0] for name, each in seen.items() if each.indicative]
    if few:
        yield note(
            f"Under 100 scored answers on {', '.join(f'“{name}”' for name in few)}: these figures are indicative. "
            "Label more answers before a gate relies on them.",
            warns=True,
        )


def _dimension(name: str, found: DimensionCalibration, whole: CalibrationResponse) -> Markup:
    yes, no = WORDS[name]
    return section(
        yes[0].upper() + yes[1:],
        paragraphs(*_what_it_means(found, yes, no)),
        figures(*_figures(found, yes, no)) if found.scored else None,
        _disagreements(found, yes, no),
        id_=name,
    )


def _what_it_means(found: DimensionCalibration, yes: str, no: str) -> Iterator[str]:
    counts = found.confusion
    said_yes, said_no = counts.true_positive + counts.false_positive, counts.false_negative + counts.true_negative
    if said_yes:
        yield (
            f"When the judge says “{yes}” ({said_yes:,} times), people agree in "
            f"{percent(counts.true_positive / said_yes)} of the cases."
        )
    if said_no:
        yield (
            f"When it says “{no}” ({said_no:,} times), people agree in {percent(counts.true_negative / said_no)} "
            "of the cases."
        )
    if found.scored < found.n:
        yield f"It gave no verdict on {found.n - found.scored:,} of {found.n:,} answers ({1 - found.coverage:.0%})."
    if found.sensitivity is None or found.specificity is None:
        side = no if found.specificity is None else yes
        yield f"People call none of the scored answers “{side}”, so nothing is known of the judge there."
    elif found.sensitivity + found.specificity <= 1:
        yield "Its verdicts carry no information here: they are no better than chance."


def _figures(found: DimensionCalibration, yes: str, no: str) -> Iterator[Markup]:
    yield figure(
        confusion_plot(f"People and judge: {yes}", found, yes=yes, no=no),
        "Counts, shaded by their share of what people said. What is off the diagonal is where they differ.",
    )
    yield figure(
        figures_plot(f"How well, and how surely: {yes}", found),
        "Points with their intervals. Up to the dashed line, balanced accuracy is no better than a coin; kappa 0 is "
        "agreement by chance.",
    )
    yield _risk(found, yes)
    yield _rate(found, yes)


def _risk(found: DimensionCalibration, yes: str) -> Markup:
    title = f"Risk against coverage: {yes}"
    plot = risk_plot(title, found)
    if plot is not None:
        return figure(
            plot,
            "If only its surest verdicts counted. A curve that rises to the right shows that its confidence is worth "
            "something; the dashed line is the risk of all its verdicts. The left end rests on few of them.",
        )
    if found.risk_coverage is None:
        return instead_of_figure(
            title,
            "This judge does not say of each verdict how sure it is, so its verdicts cannot be ranked. Several votes "
            "(votes = 5) or a jury give an agreement that can.",
        )
    return instead_of_figure(
        title, "Every verdict is equally sure here (a rule decides, or all votes agree), so there is nothing to rank."
    )


def _rate(found: DimensionCalibration, yes: str) -> Markup:
    title = f"What a measured rate means: {yes}"
    plot = rate_plot(title, found, yes=yes)
    if plot is None:
        return instead_of_figure(title, "It takes answers of both kinds to know how the judge bends a rate.")
    return figure(
        plot,
        "The share the judge would report for any true share, with the uncertainty of this calibration. On the dashed "
        "line it would report the truth; the flatter its own line, the less a change shows.",
    )


def _disagreements(found: DimensionCalibration, yes: str, no: str) -> Markup | None:
    total = len(found.disagreements)
    if not total:
        return element("p", "People and judge agree on all scored answers.") if found.scored else None
    shown = len(found.worst)
    order = "the surest first" if any(each.confidence is not None for each in found.worst) else "wrongly passed first"
    heading = f"Where they differ: {total:,} answers" if total > 1 else "Where they differ: 1 answer"
    return joined(
        element("h3", heading),
        element("p", f"In words {shown:,} of them, {order}." if shown < total else f"All of them, {order}."),
        element("ol", *(_case(each, yes, no) for each in found.worst), class_="cases"),
    )


def _case(case: Disagreement, yes: str, no: str) -> Markup:
    sure = "" if case.confidence is None else f" ({case.confidence:.0%} sure)"
    named = f"/items/{case.index}" + (f" · {case.question_id}" if case.question_id is not None else "")
    return element(
        "li",
        element(
            "p",
            element("span", named, class_="label"),
            "people: ",
            element("span", yes if case.human else no, class_="agrees"),
            " · judge: ",
            element("span", f"{yes if case.judged else no}{sure}", class_="differs"),
        ),
        element("p", element("span", "Question", class_="label"), quotation(case.question)),
        element("p", element("span", "Answer", class_="label"), quotation(case.answer or "(empty)")),
        element("p", element("span", "The judge’s reason", class_="label"), quotation(case.reason or "none given")),
    )


def _not_judged(failed: list[JudgeBatchResult]) -> Markup:
    rows = [
        [f"/items/{each.index}", each.problem.title, each.problem.detail]
        for each in failed[:MOST_FAILED]
        if each.problem
    ]
    more = len(failed) - len(rows)
    return section(
        "Not judged",
        element("p", "These answers got no judgment. They lower the coverage and count in no other figure."),
        table(f"{len(failed):,} answers without a judgment", ["answer", "what", "why"], rows, text=3),
        element("p", f"And {more:,} more.") if more > 0 else None,
    )


def _reading_it(found: CalibrationResponse) -> Markup:
    return section(
        "How to read this",
        facts(
            {
                "Sensitivity": "Share of what people call true that the judge calls true. Low: good answers look bad.",
                "Specificity": "Share of what people call false that the judge calls false. Low: bad answers pass.",
                "Balanced accuracy": "Their mean. 50% is a coin, however rare one kind of answer is.",
                "Kappa": "Agreement beyond chance: 0 is chance, 1 is perfect.",
                "Coverage": "Share of answers on which the judge gave a verdict; on the rest it abstained, or failed.",
                "Confidence": "Of the rules judge the probability that its fitted model gives the verdict, 80% where "
                "a rule decides alone; of several votes the share for it.",
            }
        ),
        element(
            "p",
            "The figures hold for answers like these. The answers of another system, language or domain need a "
            "calibration of their own.",
        ),
    )


def _share(found: DimensionCalibration, name: str) -> Markup:
    return _with_interval(percent(getattr(found, name)), found.intervals.get(name), "{:.1%}")


def _with_interval(said: str, limits: tuple[float, float] | None, form: str) -> Markup:
    if limits is None:
        return joined(said)
    between = " to ".join(form.format(limit) for limit in limits)
    return joined(said, element("span", between, class_="interval"))
