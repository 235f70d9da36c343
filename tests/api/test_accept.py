"""Which form of an answer is given."""

import pytest
from litestar.datastructures import Headers

from befund.api.accept import form_asked_for

FORMS = ["application/json", "text/markdown", "application/xml", "text/html"]
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("image/png", "application/json"),
        ("text/html", "text/html"),
        ("TEXT/HTML;charset=utf-8", "text/html"),
        ("application/xml", "application/xml"),
        ("text/*", "text/markdown"),
        ("application/*", "application/json"),
        (BROWSER, "text/html"),
        ("text/html, */*", "text/html"),
        ("text/markdown;q=0.2, text/html;q=0.8", "text/html"),
        ("text/html;q=0.1, application/json", "application/json"),
        ("application/json, text/html", "application/json"),
        ("text/html, application/json", "text/html"),
        ("text/html;q=0", "application/json"),
        ("text/html; Q=0.000", "application/json"),
        ("text/html;q=0, */*", "application/json"),
        ("text/html;q=0, text/*;q=0.5", "text/markdown"),
        ("*/*, application/json;q=0", "text/markdown"),
        ("application/*;q=0, text/html;q=0.1", "text/html"),
        ("*/*;q=0", "application/json"),
        ("text/html, */*;q=0", "text/html"),
        ("text/html;q=nan", "application/json"),
        ("text/html;q=2", "application/json"),
        ("text/html;q=", "application/json"),
        (",;,q=1", "application/json"),
    ],
)
def test_the_form_that_is_preferred(accept: str, form: str) -> None:
    assert form_asked_for(Headers({"accept": accept}), FORMS) == form


def test_without_the_header_it_is_the_first() -> None:
    assert form_asked_for(Headers({}), FORMS) == "application/json"


def test_the_header_may_come_in_parts() -> None:
    headers = Headers([(b"accept", b"application/json;q=0"), (b"accept", b"text/markdown")])
    assert form_asked_for(headers, FORMS) == "text/markdown"
