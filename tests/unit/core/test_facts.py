import pytest

from befund.core.facts import ExpectedFacts, fold


@pytest.mark.parametrize(
    ("facts", "text", "stated"),
    [
        (["72 hours"], "It is retried for 72 Hours.", True),
        (["72  hours"], "for 72\n\thours", True),
        (["72 hours"], "for 172 hours", False),
        (["72 hours"], "for 72 hoursglass", False),
        (["72 hours"], "for 72, hours", False),
        (["72 hours", "three times"], "72 hours, three times", True),
        (["72 hours", "three times"], "72 hours", False),
        (["€ 5"], "costs € 5 a month", True),
        (["-5"], "between -5 and 5", True),
        (["$"], "costs $", True),
        (["a.b"], "a+b axb", False),
        (["STRASSE"], "die Straße", True),
        (["72 hours", "  "], "72 hours", True),
        ([], "anything", False),
        ([""], "anything", False),
        (["x"], "", False),
    ],
)
def test_a_text_states_facts_word_for_word(facts: list[str], text: str, stated: bool) -> None:
    assert ExpectedFacts(facts).stated_in(fold(text)) is stated
