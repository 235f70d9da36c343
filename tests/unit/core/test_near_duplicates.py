from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from befund.core.near_duplicates import NEAR_DUPLICATE_JACCARD, jaccard, near_duplicates, words_of


def test_questions_with_most_of_their_words_in_common_are_found() -> None:
    texts = {
        "Q1": "How long are failed webhooks retried in Orbit 3.0?",
        "Q2": "Which scope lets a key send data?",
        "Q3": "How long are webhooks retried in Orbit 3.0",
        "Q4": "What does the weather do?",
    }
    assert list(near_duplicates(texts)) == [("Q1", "Q3", 8 / 9)]


def test_versions_are_words() -> None:
    assert words_of("Orbit 3.0, v2.4.1.") == {"orbit", "3.0", "v2.4.1"}


def test_texts_without_a_word_are_the_same() -> None:
    assert jaccard(frozenset(), frozenset()) == 1.0
    assert list(near_duplicates({"Q1": "?", "Q2": "word"})) == []


@given(st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1).map(" ".join), max_size=12))
def test_no_pair_is_overlooked(listed: list[str]) -> None:
    texts = {str(number): text for number, text in enumerate(listed)}
    shares = {
        (one, other): jaccard(words_of(texts[one]), words_of(texts[other])) for one, other in combinations(texts, 2)
    }
    expected = {pair for pair, share in shares.items() if share >= NEAR_DUPLICATE_JACCARD}
    assert {(one, other) for one, other, _ in near_duplicates(texts)} == expected
