import numpy as np

from befund.adapters.lexicon import InstalledLexicon


def test_a_vector_does_not_depend_on_the_words_beside_it() -> None:
    [alone] = InstalledLexicon().vectors(["key"])
    beside, _ = InstalledLexicon().vectors(["key", "Unterauftragsverarbeiter"])
    assert np.array_equal(alone, beside)


def test_a_word_without_pieces_has_no_direction() -> None:
    assert not InstalledLexicon().vectors([""]).any()


def test_words_come_to_their_dictionary_form_in_both_languages() -> None:
    lexicon = InstalledLexicon()
    assert [lexicon.lemma(word) for word in ("deliveries", "Zustellungen")] == ["delivery", "Zustellung"]


def test_abbreviations_end_no_sentence() -> None:
    cut = list(InstalledLexicon().sentences("Das gilt z. B. ab Nr. 5. Danach nicht.", "de"))
    assert [piece.strip() for piece in cut] == ["Das gilt z. B. ab Nr. 5.", "Danach nicht."]


def test_a_vector_stays_the_same_when_many_words_are_learned() -> None:
    lexicon = InstalledLexicon()
    first = lexicon.vectors(["webhook"])
    lexicon.vectors([f"word{number}" for number in range(5_000)])
    assert np.array_equal(lexicon.vectors(["webhook"]), first)
