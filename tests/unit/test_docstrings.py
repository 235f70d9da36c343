from befund.api.docstrings import attributes_of, summary_of


class Base:
    """A base.

    Attributes:
        kept: Said by the base.
        changed: Said by the base too.
    """


class Derived(Base):
    """What it is.

    And more of it: in two paragraphs.

    Attributes:
        changed: Said anew,
            in two lines.
        own: Its own: with a colon.
    """


class Silent(Derived):
    pass


def test_the_summary_stops_before_the_attributes() -> None:
    assert summary_of(Derived) == "What it is.\n\nAnd more of it: in two paragraphs."


def test_attributes_are_inherited_and_said_anew() -> None:
    assert attributes_of(Derived) == {
        "kept": "Said by the base.",
        "changed": "Said anew, in two lines.",
        "own": "Its own: with a colon.",
    }


def test_a_type_without_a_docstring_says_what_its_bases_say() -> None:
    assert summary_of(Silent) == ""
    assert attributes_of(Silent) == attributes_of(Derived)
