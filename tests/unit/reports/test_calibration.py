"""The page of a calibration, read as a browser and a screen reader would."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from befund.contract import (
    CalibrationResponse,
    Confusion,
    DimensionCalibration,
    Disagreement,
    JudgeBatchResult,
    JudgeInfo,
    Problem,
    RiskAtCoverage,
    Usage,
)
from befund.reports.calibration import calibration_page

RISK = [
    RiskAtCoverage(confidence=0.9, coverage=0.5, risk=0.0),
    RiskAtCoverage(confidence=0.6, coverage=0.9, risk=0.25),
]
CASE = Disagreement(
    index=4,
    question_id="Q5",
    question="<script>alert(1)</script>",
    answer='She said "72" & left',
    human=True,
    judged=False,
    confidence=0.93,
    reason="The figure differs.",
)
PROBLEM = Problem(
    type="/problems/judge-deadline",
    title="Deadline passed",
    status=504,
    detail="No verdict within 60 s.",
    instance="/judge/calibration",
    request_id="r",
)


def dimension(**changes: Any) -> DimensionCalibration:
    values: dict[str, Any] = {
        "n": 20,
        "scored": 18,
        "coverage": 0.9,
        "accuracy": 0.75,
        "balanced_accuracy": 0.77,
        "sensitivity": 0.7,
        "specificity": 0.84,
        "kappa": 0.5,
        "kappa_ci": (0.1, 0.8),
        "confusion": Confusion(true_positive=7, false_positive=1, true_negative=7, false_negative=3),
        "disagreements": [4],
        "indicative": True,
        "intervals": {"accuracy": (0.6, 0.9), "sensitivity": (0.5, 0.9), "specificity": (0.6, 0.95)},
        "risk_coverage": RISK,
        "worst": [CASE],
    }
    return DimensionCalibration(**values | changes)


NONE_LABELLED = dimension(n=0, scored=0, coverage=0.0, disagreements=[], worst=[])


def page(failed: int = 0, **dimensions: DimensionCalibration) -> str:
    found = CalibrationResponse(
        name="by-hand",
        judge=JudgeInfo(name="rules", model=None, rubric="2026-11", fingerprint="sha256:abc"),
        dimensions={"correct": dimension(), "faithful": NONE_LABELLED, "behaved": NONE_LABELLED} | dimensions,
        failed=[JudgeBatchResult(index=place, judgment=None, problem=PROBLEM) for place in range(failed)],
        usage=Usage(cost_usd=0.0),
        groups=20,
    )
    return calibration_page(found).decode()


class Elements(HTMLParser):
    """Every element with its attributes; fails where one is closed that is not open."""

    VOID = frozenset({"meta", "path", "use", "circle"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.seen if name == tag]


def test_it_loads_nothing_and_runs_nothing() -> None:
    elements = Elements(page())
    assert elements.named("script") + elements.named("link") + elements.named("img") + elements.named("iframe") == []
    every = [pair for _, attributes in elements.seen for pair in attributes.items()]
    addresses = [value for name, value in every if name in ("src", "href")]
    assert addresses
    assert all(address is not None and address.startswith("#") for address in addresses)
    assert "@import" not in page()


def test_text_of_others_is_text() -> None:
    said = page()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in said
    assert "She said &quot;72&quot; &amp; left" in said


def test_every_plot_has_a_title_and_a_description() -> None:
    said = page()
    plots = Elements(said).named("svg")
    assert len(plots) == 4
    for plot in plots:
        assert plot["role"] == "img"
        for reference in (plot["aria-labelledby"], plot["aria-describedby"]):
            found = re.search(rf'id="{reference}">([^<]+)<', said)
            assert found is not None


def test_no_name_stands_twice() -> None:
    both = page(faithful=dimension())
    ids = [attributes["id"] for _, attributes in Elements(both).seen if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_plots_have_the_colours_of_the_page_alone() -> None:
    drawn = "".join(re.findall(r"<svg.*?</svg>", page(), re.DOTALL))
    assert re.findall(r"(?:fill|stroke): #\w+", drawn) == []
    assert "var(--agree)" in drawn


def test_figures_stand_in_a_table_with_headings() -> None:
    elements = Elements(page())
    assert [head["scope"] for head in elements.named("th")] == ["col"] * 8 + ["row"]
    assert len(elements.named("caption")) == 1


def test_a_dimension_that_people_did_not_look_at_is_left_out() -> None:
    assert 'id="faithful"' not in page()
    assert 'id="faithful"' in page(faithful=dimension())


def test_few_answers_are_called_indicative() -> None:
    assert "Under 100 scored answers on “correct”" in page()
    assert "Under 100 scored answers" not in page(correct=dimension(indicative=False))


def test_what_a_verdict_is_worth_is_said() -> None:
    assert "When the judge says “correct” (8 times), people agree in 87.5% of the cases." in page()


@pytest.mark.parametrize(
    ("risk", "said"),
    [(None, "does not say of each verdict how sure it is"), (RISK[-1:], "Every verdict is equally sure here")],
)
def test_where_nothing_can_be_ranked_the_plot_gives_way_to_the_reason(risk: Any, said: str) -> None:
    found = page(correct=dimension(risk_coverage=risk))
    assert said in found
    assert len(Elements(found).named("svg")) == 3


def test_one_kind_of_answer_says_nothing_of_rates() -> None:
    found = page(correct=dimension(specificity=None, balanced_accuracy=None, intervals={}))
    assert "People call none of the scored answers “not correct”" in found
    assert "It takes answers of both kinds" in found


def test_a_judge_no_better_than_chance_is_called_that() -> None:
    assert "no better than chance" in page(correct=dimension(sensitivity=0.4, specificity=0.5))


def test_nothing_scored_is_said() -> None:
    nothing = dimension(
        scored=0, coverage=0.0, accuracy=None, balanced_accuracy=None, sensitivity=None, specificity=None, kappa=None,
        kappa_ci=None, confusion=Confusion(true_positive=0, false_positive=0, true_negative=0, false_negative=0),
        disagreements=[], worst=[], intervals={}, risk_coverage=None,
    )  # fmt: skip
    found = page(correct=nothing)
    assert "There is no answer on which both people and the judge have a verdict." in found
    assert Elements(found).named("svg") == []


def test_what_was_not_judged_is_listed() -> None:
    found = page(failed=51)
    assert "No verdict within 60 s." in found
    assert "And 1 more." in found


def test_the_same_calibration_gives_the_same_page() -> None:
    assert page() == page()
