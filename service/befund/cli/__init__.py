"""The command `befund`."""

import argparse
from collections.abc import Callable, Sequence

from befund.cli import retrieve_eval


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="befund")
    retrieve_eval.register(parser.add_subparsers(metavar="COMMAND", required=True))
    arguments = parser.parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    return run(arguments)
