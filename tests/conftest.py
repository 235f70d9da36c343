"""Fixtures shared by all tests: the service as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import pytest
from msgspec import Struct

CHECKOUT = Path(__file__).resolve().parents[1]
START_SECONDS = 30


class Process(Struct):
    """A running `befund serve`, where it listens, and how it is stopped."""

    popen: subprocess.Popen[str]
    url: str
    log: IO[str]

    def end(self) -> tuple[int, list[str]]:
        """Wait for the end; give the exit code and the lines logged."""
        self.popen.communicate(timeout=START_SECONDS)
        self.log.seek(0)
        return self.popen.returncode, self.log.read().splitlines()


Serve = Callable[..., "Process"]


@contextmanager
def running_service(*arguments: str, **settings: str) -> Iterator[Process]:
    """Run `befund serve` on a free port, with these BEFUND_ settings and none of the environment's."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("BEFUND_")}
    with TemporaryFile("w+") as log:  # a pipe that nobody reads would fill up and stop the service
        popen = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "befund", "serve", "--port", "0", *arguments],
            env={**environ, **settings},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert popen.stdout is not None
            line = popen.stdout.readline()
            prefix = "Befund listens on "
            if not line.startswith(prefix):
                popen.communicate()
                log.seek(0)
                pytest.fail(f"befund serve did not start: {line}{log.read()}")
            yield Process(popen, line.removeprefix(prefix).strip(), log)
        finally:
            popen.kill()
            popen.communicate()


@pytest.fixture(scope="session")
def service() -> Iterator[str]:
    """Base URL of a service with default settings, shared by all tests that do not end it."""
    with running_service() as process:
        yield process.url


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start services that a test configures or ends itself."""
    with ExitStack() as stack:
        yield lambda *arguments, **settings: stack.enter_context(running_service(*arguments, **settings))


@pytest.fixture(scope="session")
def reference() -> Path:
    """Files and figures of other tools: BEFUND_REFERENCE/ir, else `shared/reference/ir` beside the checkout."""
    folder = Path(os.environ.get("BEFUND_REFERENCE", CHECKOUT.parent / "shared" / "reference")) / "ir"
    if not folder.is_dir():
        pytest.skip(f"REFERENCE FILES ARE MISSING: no {folder}; set BEFUND_REFERENCE to where they are")
    return folder
