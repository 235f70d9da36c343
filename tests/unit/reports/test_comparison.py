"""The forms of a comparison, with names that would like to be something else."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.unit.core.comparison.sides import compare, questions, ranked

from befund.contract import CompareResponse
from befund.reports.comparison import comparison_page
from befund.reports.comparison_junit import comparison_junit
from befund.reports.comparison_markdown import LONGEST, comparison_markdown

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
