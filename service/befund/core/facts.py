"""Whether a text states what a question expects, told by its words alone."""

import re
from collections.abc import Sequence


def fold(text: str) -> str:
    """A text as facts are looked for in it; folded once, it can be searched for many."""
    return text.casefold()


class ExpectedFacts:
    r"""Facts of one question, to be found word for word; case and spacing do not matter.

    Args:
        facts: What a text must state; blank ones say nothing and are passed over.

    >>> facts = ExpectedFacts(["72 Hours"])
    >>> facts.stated_in(fold("Retried for\n72 hours.")), facts.stated_in(fold("Retried for 172 hours."))
    (True, False)
    """

    def __init__(self, facts: Sequence[str]) -> None:
        self._facts = [_Fact(fold(fact)) for fact in facts if fact.strip()]

    def stated_in(self, folded: str) -> bool:
        """Whether the folded text states every one of them; of none there is nothing to state."""
        for fact in self._facts:
            if not fact.stands_in(folded):
                return False
        return bool(self._facts)


class _Fact:
    def __init__(self, folded: str) -> None:
        self._words = folded.split()
        self._pattern: re.Pattern[str] | None = None

    def stands_in(self, folded: str) -> bool:
        # Most texts lack one of the words, and neither making the pattern nor searching for it is worth it for them.
        for word in self._words:
            if word not in folded:
                return False
        if self._pattern is None:
            words = r"\s+".join(map(re.escape, self._words))
            self._pattern = re.compile(rf"(?<!\w){words}(?!\w)")
        return self._pattern.search(folded) is not None
