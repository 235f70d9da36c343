"""Whether a text states what a question expects, told by its words alone."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


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
        return bool(self._facts) and all(fact.stands_in(folded) for fact in self._facts)


class _Fact:
    def __init__(self, folded: str) -> None:
        self._words = folded.split()
        self._longest = max(_WORD.findall(folded) or self._words, key=len)

    def stands_in(self, folded: str) -> bool:
        # Most texts do not have the longest word, and neither searching nor making the pattern is worth it for them.
        return self._longest in folded and re.search(self._pattern(), folded) is not None

    def _pattern(self) -> str:
        words = r"\s+".join(map(re.escape, self._words))
        return rf"(?<!\w){words}(?!\w)"
