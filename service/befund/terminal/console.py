"""Where reports are printed."""

import io
import sys

from rich.console import Console


def console() -> Console:
    """Make the console of standard output, which takes text as it is, whatever it holds."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that knows ASCII alone still gets its tables
    return Console(markup=False, emoji=False, highlight=False)
