"""Names with characters that act unseen, in every form of a comparison."""

import io
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from rich.console import Console
from tests.unit.core.comparison.sides import compare, questions, ranked

from befund.contract import CompareResponse
from befund.reports.comparison import comparison_page
from befund.reports.comparison_junit import comparison_junit
from befund.reports.comparison_markdown import comparison_markdown
from befund.reports.markup import element
from befund.reports.visible import visible
from befund.terminal.comparison import report

UNSEEN = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff",
]
IDS = [f"Q{place}{character}end" for place, character in enumerate(UNSEEN)]
GATE = {"metric": "hit_rate@1", "max_regressions": 0}


def terminal(answer: CompareResponse) -> bytes:
    out = Console(file=io.StringIO(), width=200)
    for part in report(answer, width=200):
        out.print(part)
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    return text.encode()


FORMS = {
    "page": comparison_page,
    "markdown": comparison_markdown,
    "junit": comparison_junit,
    "terminal": terminal,
}


def answer_about(name: str) -> CompareResponse:
    """A comparison in which a name stands wherever names of callers can."""
    asked = questions(name, "A", "B", tags=[name])
    before = ranked(asked, {name: ["gold"], "A": ["gold"], "B": ["x"]}, name=f"main{name}", config={"prompt": name})
    after = ranked(asked, {name: ["x"], "A": ["gold"]}, name=f"pr-42{name}", config={"prompt": f"{name}!"})
    return compare(before, after, GATE, {"metric": "hit_rate@1", "min": 0.5, "questions": {"ids": [name, f"no{name}"]}})


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_nothing_that_acts_unseen_stands_in_any_form(form: Callable[[CompareResponse], bytes]) -> None:
    text = form(answer_about("".join(UNSEEN) + "end")).decode()
    assert [each for each in UNSEEN if each in text and each != "\n"] == []


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    ("name", "shown"), [("a\x00b", "a\\x00b"), ("a\nb", "a\\nb"), ("a\u202eb", "a\\u202eb"), ("a\x9bb", "a\\x9bb")]
)
def test_it_is_written_out(form: Callable[[CompareResponse], bytes], name: str, shown: str) -> None:
    text = form(answer_about(name)).decode().replace("\\\\", "\\")  # Markdown doubles backslashes
    assert shown in text


@pytest.mark.parametrize("place", range(len(UNSEEN)))
def test_junit_is_xml_with_each_of_them(place: int) -> None:
    document = ElementTree.fromstring(comparison_junit(answer_about(IDS[place])).decode())  # noqa: S314 - our own
    failure = document[0][0][0]
    assert visible(IDS[place]) in (failure.text or "")


def test_no_two_of_them_are_shown_alike() -> None:
    assert len({visible(each) for each in IDS}) == len(IDS)


@pytest.mark.parametrize("name", ["grün", "日本", "שלום", "👩\u200d🚀", "a\u00a0b", "\\x00"])
def test_other_text_stays_as_it_is(name: str) -> None:
    assert visible(name) == name


def test_text_of_several_lines_keeps_them_on_a_page_and_nothing_else() -> None:
    assert element("p", "one\r\n\ttwo\x1b") == "<p>one\r\n\ttwo\\x1b</p>"
    assert element("p", title="\u202eevil") == '<p title="\\u202eevil"></p>'
