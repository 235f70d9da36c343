"""The forms of a comparison, with names that would like to be something else."""

import io
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from tests.unit.core.comparison.sides import compare, judged, questions, ranked

from befund.contract import CompareResponse
from befund.reports.comparison import comparison_page
from befund.reports.comparison_junit import comparison_junit
from befund.reports.comparison_markdown import LONGEST, comparison_markdown
from befund.reports.comparison_plots import accounts_plot, deltas_plot
from befund.terminal.comparison import report

NASTY = [
    "<script>alert(1)</script>",
    "a|b *c*",
    "@you #12",
    "bell \x07",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
]


def compared(*gates: dict[str, Any], ids: list[str] = NASTY) -> CompareResponse:
    asked = questions(*ids, tags=["<b>tag</b>"])
    before = ranked(asked, {each: ["gold"] for each in ids}, name="<i>main</i>")
    after = ranked(asked, {each: ["x"] for each in ids}, name="pr-42")
    return compare(before, after, *gates)


FAILING = {"metric": "hit_rate@1", "max_regressions": 0}


def test_markdown_shows_names_and_never_acts_on_them() -> None:
    text = comparison_markdown(compared(FAILING)).decode()
    assert "<script>" not in text
    assert "\\<script\\>" in text
    assert "a\\|b \\*c\\*" in text
    assert "@you" not in text
    assert "#12" not in text


def test_a_markdown_comment_fits_its_place() -> None:
    ids = [f"question-{i}-{'x' * 400}" for i in range(400)]
    text = comparison_markdown(compared(FAILING, ids=ids)).decode()
    assert len(text) < LONGEST + 200


def test_markdown_marks_no_rise_that_a_longer_list_could_not_but_bring() -> None:
    ids = [f"Q{i}" for i in range(20)]
    lists = {each: ["x", "y", "z", "gold", "c"] for each in ids}
    other = {each: ["gold", "x", "y", "z", "c"] for each in ids}
    before, longer, better = (
        ranked(questions(*ids), rankings, k=k) for rankings, k in ((lists, 3), (lists, 5), (other, 3))
    )
    assert "| +1.000 |" in comparison_markdown(compare(before, longer, metrics=["recall"])).decode()
    assert "| **+1.000** |" in comparison_markdown(compare(before, better, metrics=["recall"])).decode()


def test_markdown_names_the_questions_beside_the_gate_they_fail() -> None:
    text = comparison_markdown(compared(FAILING, ids=["A", "B"])).decode()
    assert "| 2 questions of 2 regressed; 0 allowed. A, B |" in text


def test_markdown_begins_with_the_verdict() -> None:
    assert comparison_markdown(compared(FAILING)).decode().startswith("## ❌ Befund: fail")
    assert comparison_markdown(compared()).decode().startswith("## ℹ️ Befund: no gates")


def test_junit_is_xml_whatever_the_names() -> None:
    suite = ElementTree.fromstring(comparison_junit(compared(FAILING)).decode())[0]  # noqa: S314 - our own
    assert "<script>alert(1)</script>" in (suite[0][0].text or "")
    assert "bell" in (suite[0][0].text or "")


def test_without_gates_junit_has_no_test_case() -> None:
    suite = ElementTree.fromstring(comparison_junit(compared()).decode())[0]  # noqa: S314 - our own
    assert (suite.get("tests"), len(suite)) == ("0", 0)


def test_the_page_shows_names_and_never_acts_on_them() -> None:
    text = comparison_page(compared(FAILING)).decode()
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<i>main" not in text
    assert "<b>tag" not in text


def test_the_page_has_its_plots_and_words_for_them() -> None:
    text = comparison_page(compared(FAILING)).decode()
    titles = re.findall(r"<svg[^>]*><title[^>]*>([^<]*)</title><desc[^>]*>([^<]*)</desc>", text)
    assert [title for title, _ in titles] == [
        "Change of each metric",
        "hit_rate@1 before and after",
        "recall@1 before and after",
        "Every question accounted for",
        "What a question costs",
    ]
    assert all(words for _, words in titles)


@pytest.mark.parametrize("gates", [(), (FAILING,)])
def test_a_comparison_in_which_nothing_changed_is_a_page_too(gates: tuple[Any, ...]) -> None:
    side = ranked(questions("A", "B"), {"A": ["gold"], "B": ["gold"]})
    text = comparison_page(compare(side, side, *gates)).decode()
    assert "No question changed on any metric." in text


def risen(better: int) -> CompareResponse:
    """So many of twenty questions better, the others as they were: twelve are significant, two are not."""
    ids = [f"Q{place:02}" for place in range(20)]
    before = ranked(questions(*ids), {each: ["x"] for each in ids})
    after = ranked(questions(*ids), {each: ["gold" if each < f"Q{better:02}" else "x"] for each in ids})
    return compare(before, after, metrics=["hit_rate@1"])


def on_a_terminal(answer: CompareResponse, **how: Any) -> str:
    out = Console(file=io.StringIO(), width=120, **how)
    for part in report(answer, width=120):
        out.print(part)
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    return text


class TestSignificance:
    """What is significant is marked, and nothing else."""

    def test_on_the_page(self) -> None:
        assert '<span class="agrees">+0.600</span>' in comparison_page(risen(12)).decode()
        assert "<span>+0.100</span>" in comparison_page(risen(2)).decode()

    def test_in_the_plot(self) -> None:
        telling, other = deltas_plot("t", risen(12).metrics), deltas_plot("t", risen(2).metrics)
        assert telling is not None
        assert other is not None
        dot = re.compile(r'<use [^>]*style="(fill[^;]*); stroke: var\(--agree\)')
        assert dot.findall(telling.svg) == ["fill: var(--agree)"]
        assert dot.findall(other.svg) == ["fill-opacity: 0"]

    def test_on_a_terminal(self) -> None:
        colours = {"force_terminal": True, "color_system": "standard", "no_color": False}
        assert "\x1b[1m+0.600" in on_a_terminal(risen(12), **colours)
        assert "\x1b[1m+0.100" not in on_a_terminal(risen(2), **colours)
        assert "+0.100" in on_a_terminal(risen(2), **colours)


def test_questions_that_are_not_scored_are_counted_beside_those_compared() -> None:
    before = judged({"A": True, "B": True, "C": "failed", "D": True})
    after = judged({"A": True, "B": "abstained", "C": "failed", "D": True})
    said = "4 questions compared, 2 of them not scored on both sides"
    for text in (comparison_page, comparison_markdown):
        assert said in text(compare(before, after)).decode()
    assert said in on_a_terminal(compare(before, after))


def test_the_plot_of_questions_adds_up() -> None:
    before = judged({"A": True, "B": True, "C": "failed", "D": True})
    after = judged({"A": True, "B": "abstained", "C": "failed", "D": True})
    svg = accounts_plot("t", compare(before, after)).svg
    assert "2 questions scored on both sides. 1 question unscored in the baseline. 2 questions unscored in the" in svg


def test_what_puts_the_figures_in_doubt_stands_before_them() -> None:
    side = judged({"A": True, "B": True})
    page = comparison_page(compare(side, side)).decode()
    assert page.index("IDENTICAL_SIDES") < page.index("How far it moved") < page.index("CONFIG_INCOMPLETE")
    comment = comparison_markdown(compare(side, side)).decode()
    assert comment.index("IDENTICAL\\_SIDES") < comment.index("| metric |") < comment.index("<details>")
    said = on_a_terminal(compare(side, side))
    assert said.index("IDENTICAL_SIDES") < said.index("Metrics, with") < said.index("CONFIG_INCOMPLETE")


def test_what_would_show_is_explained_where_it_stands() -> None:
    page = comparison_page(risen(2)).decode()
    assert page.index("How far it moved") < page.index("minimum detectable delta") < page.index(">would show from<")


def test_a_finding_names_only_so_many_metrics() -> None:
    short = {each: ["x", *(f"c{place}" for place in range(9))] for each in "AB"}
    longer = {each: [*ranking, "gold"] for each, ranking in short.items()}
    before, after = (ranked(questions(*"AB"), lists, k=None) for lists in (short, longer))
    nested = next(each for each in compare(before, after).findings if each.code == "NESTED_RANKINGS")
    assert "hit_rate@1, hit_rate@3" in nested.message
    assert "and 10 other metrics cannot fall" in nested.message
