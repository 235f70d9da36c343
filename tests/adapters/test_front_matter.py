from datetime import date

import pytest

from befund.adapters.front_matter import read_front_matter
from befund.core.corpus import MetadataError

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def document(front_matter: str) -> str:
    return f"---\n{front_matter}\n---\n# Title\n\nText."


def test_it_is_read() -> None:
    text = document('id: D003\nversion: "3.0"\nvalid_from: 2026-03-02\nvalid_to: null\nroles: [partner, staff]')
    assert read_front_matter(text) == {
        "id": "D003",
        "version": "3.0",
        "valid_from": date(2026, 3, 2),
        "valid_to": None,
        "roles": ["partner", "staff"],
    }


@pytest.mark.parametrize(
    "text", ["", "# Title\n\nText.", "---\n---\nText.", "---\n# only a comment\n---\n", "--- \nText."]
)
def test_a_document_without_it_says_nothing(text: str) -> None:
    assert read_front_matter(text) == {}


def test_a_byte_order_mark_and_windows_line_ends_do_not_hide_it() -> None:
    assert read_front_matter("\ufeff---\r\nid: D1\r\n---\r\nText.") == {"id": "D1"}


def test_it_ends_where_its_fence_closes() -> None:
    assert read_front_matter("---\nid: D1\n---\nText\n---\nmore: text\n---\n") == {"id": "D1"}


@pytest.mark.parametrize(
    ("front_matter", "complaint"),
    [
        ("title: [a", "not YAML"),
        ("title: a: b", "not YAML: mapping values are not allowed .*, line 2"),
        ("just text", "no map"),
        ("- a\n- b", "no map"),
        ("title: !!python/object/apply:os.system [ls]", "not YAML"),
        ("when: 2026-13-40", "not YAML"),
        ("? [a, b]\n: c\n? {x: y}\n: z", "not YAML"),
        ("a: \x01", "not YAML"),
        ("[" * 20_000, "not YAML"),
        ("x: " + "y" * 65_536, "longer than 65536 characters"),
        ("a: &a [1]\nb: *a", "aliases"),
        (BOMB, "aliases"),
    ],
)
def test_what_cannot_be_read_is_said(front_matter: str, complaint: str) -> None:
    with pytest.raises(MetadataError, match=complaint):
        read_front_matter(document(front_matter))
