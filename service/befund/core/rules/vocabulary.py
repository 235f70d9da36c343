"""Lists of words, written as text."""


def listed(text: str) -> frozenset[str]:
    """The words of a text.

    >>> sorted(listed("not no"))
    ['no', 'not']
    """
    return frozenset(text.split())
