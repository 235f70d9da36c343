"""Whether a text states what a question expects, told by its words alone."""

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"\w+")


def stating_all(texts: Iterable[tuple[str, str]], facts: Sequence[str]) -> list[str]:
    r"""Names of those texts in which every fact stands word for word; case and spacing do not matter.

    Args:
        texts: Names with their texts.
        facts: What each text must state; blank ones say nothing and are passed over, and of none there is nothing to
            state.

    >>> stating_all([("a", "Retried for\n72 hours."), ("b", "Retried 172 hours")], ["72 Hours"])
    ['a']
    """
    wanted = [_Fact(fact) for fact in facts if fact.strip()]
    if not wanted:
        return []
    return [name for name, text in texts if _states(text.casefold(), wanted)]


class _Fact:
    """A fact, ready to be looked for in many texts."""

    def __init__(self, fact: str) -> None:
        folded = fact.casefold()
        # Looked for first: a plain search is far faster than the pattern, and most texts do not have it.
        self.rarest = max(_WORD.findall(folded) or folded.split(), key=len)
        words = r"\s+".join(map(re.escape, folded.split()))
        self.pattern = re.compile(rf"(?<!\w){words}(?!\w)")


def _states(folded: str, facts: list[_Fact]) -> bool:
    return all(fact.rarest in folded and fact.pattern.search(folded) for fact in facts)
