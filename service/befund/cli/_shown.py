"""Commands as a demonstration shows them: to be copied, from the current folder."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

COLUMNS = 78


def wrapped(start: Sequence[str], options: dict[str, str]) -> str:
    """Write a shell command, broken between options where the line is full."""
    lines = [shlex.join(start)]
    for option in map(shlex.join, options.items()):
        if len(lines[-1]) + len(option) < COLUMNS:
            lines[-1] += f" {option}"
        else:
            lines.append(f"  {option}")
    return " \\\n".join(lines)


def near(path: Path) -> str:
    """Write a path as somebody in the current folder would."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def own_name() -> str:
    """How this command is called from here."""
    if shutil.which("befund"):
        return "befund"
    script = Path(sys.executable).with_name("befund")
    return shlex.quote(near(script)) if script.exists() else f"{shlex.quote(near(Path(sys.executable)))} -m befund"
