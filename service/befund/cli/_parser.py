"""How the command line is read: a mistake is named by itself, below the usage of the command it was made in."""

import argparse
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

USAGE_ERROR = 3
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


class Parser(argparse.ArgumentParser):
    """Exits as every usage error does; argparse's own 2 means "not measurable" here.

    An option that does not exist is refused before anything that is missing: it is the likely reason. argparse would
    name what is missing, or leave the option to the parser of `befund`, which knows nothing of the command's usage.
    """

    def parse_known_args(  # type: ignore[override] # its overloads say the same
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """Parse; nothing is left over."""
        given = list(sys.argv[1:] if args is None else args)
        unknown = next((name for name in self._options_in(given) if not self._knows(name)), None)
        if unknown is not None:
            self.error(f"unknown option {unknown}{self._meant(unknown)}")
        namespace, left = super().parse_known_args(given, namespace)
        if left:
            self.error(f"one argument too many: {left[0]!r}")
        return namespace, left

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong, and exit."""
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")

    def _options_in(self, given: Sequence[str]) -> list[str]:
        """The options given to this parser: those behind the name of a command are its own."""
        found = []
        for word in given:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                break
            if len(word) > 1 and word.startswith("-") and " " not in word and not _NUMBER.fullmatch(word):
                found.append(word.partition("=")[0])
        return found

    def _knows(self, name: str) -> bool:
        if name.startswith("--"):
            return any(option.startswith(name) for option in self._option_string_actions)
        return name[:2] in self._option_string_actions

    def _meant(self, name: str) -> str:
        close = get_close_matches(name, self._option_string_actions, n=1)
        return f"; did you mean {close[0]}?" if close else ""
