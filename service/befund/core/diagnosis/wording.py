"""Words of answers and passages as details show them: on one line, and cut."""

from collections.abc import Iterable

_SHOWN = 160
_MOST = 10


def short(text: str) -> str:
    """One line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def listed(texts: Iterable[str]) -> str:
    """Texts in quotation marks, one after the other; of many the first ones.

    >>> listed(["72 hours", "twice"])
    '"72 hours", "twice"'
    """
    return several(f'"{short(text)}"' for text in texts)


def several(names: Iterable[str]) -> str:
    """Names, one after the other; of many the first ones.

    >>> several(f"c{number}" for number in range(12))
    'c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more'
    """
    every = list(names)
    more = f" and {len(every) - _MOST} more" if len(every) > _MOST else ""
    return ", ".join(every[:_MOST]) + more
