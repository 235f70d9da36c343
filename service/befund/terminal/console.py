"""Where reports are printed."""

import io
import sys
from typing import Any

from rich.console import Console


def console() -> Console:
    """Make the console of standard output, which takes text as it is, whatever it holds."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that knows ASCII alone still gets its tables
    return _Console(markup=False, emoji=False, highlight=False)


class _Console(Console):
    """Leaves out the blanks that pad lines to their width, except on a terminal, where nobody sees them."""

    def print(self, *objects: Any, **options: Any) -> None:
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as captured:
            super().print(*objects, **options)
        self.file.write("\n".join(line.rstrip(" ") for line in captured.get().split("\n")))
