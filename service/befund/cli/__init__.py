"""The command `befund`.

Each module of this package without an underscore is one command and exposes `register(subparsers)`, which adds its
parser and sets `run`, a function from the parsed arguments to the exit code. Libraries beyond the base installation are
imported inside `run`, so that `befund --help` is quick and works where only the client is installed.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules

import befund
from befund.cli._parser import USAGE_ERROR, Parser

FAILED = USAGE_ERROR
"""Exit code of every usage or service error, of every command."""
BROKEN_PIPE = 141
"""Exit code where the reader of the output went away, as shells give it (128 + SIGPIPE)."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells give it (128 + SIGINT)."""

TWO_WORDS = frozenset({"judge calibrate"})
"""Commands of two words whose first word is a command that takes a file."""

_SERVER_LIBRARIES = frozenset(
    {
        "alembic",
        "h11",
        "litestar",
        "numpy",
        "prometheus_client",
        "semantic_text_splitter",
        "sqlalchemy",
        "structlog",
        "uvicorn",
        "uvloop",
    }
)
_CLI_LIBRARIES = frozenset({"matplotlib", "rich", "yaml"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for name in ("stdout", "stderr"):  # closed by the caller: what is printed goes nowhere
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - stands for the stream until the end
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # products of matrices run in threads of ours, side by side
    arguments = _parser().parse_args(_with_two_words_joined(sys.argv[1:] if argv is None else argv))
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        code = run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # as with head: whoever read has what they wanted
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what was not written must not fail again at exit
        return BROKEN_PIPE
    except OSError as error:
        print(f"befund: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", file=sys.stderr)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what was not written must not fail again at exit
        return FAILED
    except ModuleNotFoundError as error:
        extra = _extra_of((error.name or "").partition(".")[0])
        if extra is None:
            raise
        print(
            f"befund: {error.name} is not installed; run: pip install 'befund[{extra}]' (in a checkout '.[{extra}]')",
            file=sys.stderr,
        )
        return FAILED


def _with_two_words_joined(argv: Sequence[str]) -> list[str]:
    """The arguments, where the two words of a command like `judge calibrate` are one, as argparse has them."""
    words = " ".join(argv[:2])
    return [words, *argv[2:]] if words in TWO_WORDS else list(argv)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="befund", description=befund.__doc__)
    parser.add_argument("--version", action="version", version=f"befund {befund.__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in iter_modules(__path__):
        if not module.name.startswith("_"):
            import_module(f"{__name__}.{module.name}").register(subparsers)
    return parser


def _extra_of(library: str) -> str | None:
    if library in _SERVER_LIBRARIES:
        return "server"
    return "cli" if library in _CLI_LIBRARIES else None
