"""Tokens by position; before the first and behind the last there is nothing."""

from collections.abc import Sequence

from befund.core.rules.words import Token


class Cursor:
    """Reads at a position, and looks at most a few tokens ahead."""

    def __init__(self, found: Sequence[Token]) -> None:
        self.found = found

    def text(self, at: int) -> str:
        """The folded text at a position."""
        return self.found[at].text if 0 <= at < len(self.found) else ""

    def kind(self, at: int) -> str:
        """The kind of token at a position."""
        return self.found[at].kind if 0 <= at < len(self.found) else ""
