"""Whether a quote stands in a text."""

from befund.core.quotes import stands_in


def test_a_text_of_one_endless_word_is_passed_over_at_once() -> None:
    assert not stands_in("a" * 100_000, "a" * 300_000)


def test_a_quote_stands_behind_words_that_only_begin_like_it() -> None:
    assert stands_in("72 h", "72 hours, 172 h, then 72 h.")
    assert not stands_in("72 h", "72 hours, 172 h.")
