"""HTML, written as nested calls: text is escaped and its unseen characters written out, markup stands as it is."""

from __future__ import annotations

from html import escape

from befund.reports.visible import visible


class Markup(str):
    """HTML that stands as it is."""

    __slots__ = ()


Content = str | None
"""Text to be escaped, or `Markup`; None is left out."""


def element(tag: str, *contents: Content, **attributes: str | bool | None) -> Markup:
    """An element with contents. Attributes lose a trailing underscore; False and None leave them out.

    >>> element("p", "a < b ", element("em", "so"), class_="lead", hidden=False)
    '<p class="lead">a &lt; b <em>so</em></p>'
    """
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    written = "".join(
        f" {name}" if value is True else f' {name}="{_text(str(value))}"'
        for name, value in named.items()
        if value is not None and value is not False
    )
    return Markup(f"<{tag}{written}>{joined(*contents)}</{tag}>")


def joined(*contents: Content) -> Markup:
    """Contents one after the other.

    >>> joined("1 < 2", None, Markup("<br>"))
    '1 &lt; 2<br>'
    """
    return Markup("".join(each if isinstance(each, Markup) else _text(each) for each in contents if each is not None))


def _text(text: str) -> str:
    return escape(visible(text, breaks=True))
