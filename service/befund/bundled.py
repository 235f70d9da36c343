"""The data that comes with Befund: the corpus, and what the demonstration measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_PACKAGE = Path(__file__).parent
FOLDERS = (_PACKAGE / "data", _PACKAGE.parents[1] / "data")
"""Where it lies: in the package (an installed wheel), else beside the code (a checkout)."""


class MissingDataError(Exception):
    """This installation does not hold the bundled data."""


def bundled(*paths: str, folders: Sequence[Path] = FOLDERS) -> Path:
    """Find the first folder that holds all these paths.

    Raises:
        MissingDataError: There is none.
    """
    for folder in folders:
        if all((folder / path).exists() for path in paths):
            return folder
    sought = " nor in ".join(map(str, folders))
    raise MissingDataError(f"{', '.join(paths)} neither in {sought}: install Befund anew, or run it from its checkout")
