"""Words of answers and passages as details show them: on one line, and cut."""

from collections.abc import Iterable

_SHOWN = 160


def short(text: str) -> str:
    """One line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def listed(texts: Iterable[str]) -> str:
    """Texts in quotation marks, one after the other."""
    return ", ".join(f'"{short(text)}"' for text in texts)
