"""The frame of every report: one file that needs nothing else, light and dark, for screen, print and screen reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

import befund
from befund.reports.markup import Content, Markup, element, joined
from befund.reports.plots import Plot

MEDIA_TYPE = "text/html"
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Nothing is loaded and no script runs; styles stand in the page."""


def page(title: str, *contents: Content, kind: str, lead: Content) -> bytes:
    """The whole page.

    Args:
        title: Its heading.
        contents: Sections, in order.
        kind: What sort of report it is, in two or three words.
        lead: What it comes to, in a sentence or two.
    """
    style = files("befund.reports").joinpath("page.css").read_text()
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'),
        element("title", f"{title} · Befund"),
        element("style", Markup(style)),
    )
    header = element(
        "header",
        element("p", "Befund · ", kind, class_="kind"),
        element("h1", title),
        element("p", lead, class_="lead"),
    )
    footer = element("footer", element("p", f"Befund {befund.__version__}"))
    body = element("body", header, element("main", *contents), footer)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n".encode(errors="replace")


def section(heading: str, *contents: Content, id_: str | None = None) -> Markup:
    """A part of the page with a heading of its own."""
    return element("section", element("h2", heading), *contents, id_=id_)


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Content]], *, text: int = 1) -> Markup:
    """A table that scrolls sideways where the page is narrow.

    Args:
        caption: What it shows.
        header: A heading a column.
        rows: Its cells; the first of each names the row.
        text: How many columns, from the left, hold text; the others hold figures.
    """
    heads = [element("th", name, scope="col", class_=_kind(i, text)) for i, name in enumerate(header)]
    lines = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(element("td", cell, class_=_kind(i, text)) for i, cell in enumerate(row[1:], start=1)),
        )
        for row in rows
    ]
    inner = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", *heads)),
        element("tbody", *lines),
    )
    # Who has only a keyboard reaches what is scrolled out of sight by its focus.
    return element("div", inner, class_="scrolls", tabindex="0", role="region", aria_label=caption)


def figure(plot: Plot, *caption: Content) -> Markup:
    """A plot under its title, with words that say what it shows."""
    return element("figure", element("h3", plot.title), Markup(plot.svg), element("figcaption", *caption))


def instead_of_figure(title: str, *why: Content) -> Markup:
    """Where a plot would stand if there were anything to plot."""
    return element("figure", element("h3", title), element("figcaption", *why), class_="missing")


def figures(*each: Markup) -> Markup:
    """Figures side by side, as many as there is room for."""
    return element("div", *each, class_="figures")


def facts(named: Mapping[str, Content]) -> Markup:
    """Names with what they stand for."""
    return element("dl", *(element("div", element("dt", name), element("dd", value)) for name, value in named.items()))


def note(*contents: Content, warns: bool = False) -> Markup:
    """A remark set apart."""
    return element("p", *contents, class_="note warns" if warns else "note")


def quotation(text: str) -> Markup:
    """Text of others, in whatever direction it is written."""
    return element("span", text, dir_="auto", class_="quoted")


def paragraphs(*contents: Content) -> Markup:
    """A paragraph each."""
    return joined(*(element("p", each) for each in contents if each is not None))


def _kind(column: int, text: int) -> str | None:
    return None if column < text else "figure"
