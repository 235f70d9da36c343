"""What right answers state, as callers send it."""

from collections.abc import Sequence
from typing import Protocol

from befund.core.empty import is_wordless
from befund.core.errors import ContradictionError


class Expecting(Protocol):
    """An answer or a question that says what is expected."""

    @property
    def expected_facts(self) -> Sequence[str] | None:
        """All must be stated."""

    @property
    def reference_answers(self) -> Sequence[str] | None:
        """Any one suffices."""


def refuse_wordless(sent: Expecting) -> None:
    """Refuse expected texts that nobody could state, as "..." or a space.

    Raises:
        ContradictionError: `blank-expectation`, naming the first of them.
    """
    named = {"expected_facts": sent.expected_facts, "reference_answers": sent.reference_answers}
    for field, texts in named.items():
        for i, text in enumerate(texts or ()):
            if is_wordless(text):
                detail = f"Nobody can state {text!r}. Say what is right, or leave it out."
                raise ContradictionError.at(f"/{field}/{i}", "blank-expectation", detail)
