import doctest

import pytest

from befund.terminal import text


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(text).failed == 0


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("grün 日本 \U0001f600", "grün 日本 \U0001f600"),
        ("a\u00a0b\u2028c\td", "a b c d"),
        ("\x00\x7f\x9b31m", "\\x00\\x7f\\x9b31m"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_steers_a_terminal_is_shown(given: str, shown: str) -> None:
    assert text.literal(given) == shown


def test_long_ids_keep_both_ends() -> None:
    shown = text.short_id("begin" + "x" * 600 + "end")
    assert len(shown) <= 40
    assert shown.startswith("begin")
    assert shown.endswith("end")
