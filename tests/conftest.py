"""Fixtures shared by all tests: the service as a process of its own."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import hypothesis
import pytest
import structlog
from msgspec import Struct

hypothesis.settings.register_profile("befund", deadline=None)  # how long it takes is the machine's affair
hypothesis.settings.load_profile("befund")

CHECKOUT = Path(__file__).resolve().parents[1]
START_SECONDS = 30
LISTENS = "Befund listens on "


class Process(Struct):
    """A running `befund serve`, where it listens, and how it is stopped."""

    popen: subprocess.Popen[str]
    url: str
    log: IO[str]

    def end(self) -> tuple[int, list[str]]:
        """Wait for the end; give the exit code and the lines logged."""
        code = self.popen.wait(timeout=START_SECONDS)
        self.log.seek(0)
        return code, self.log.read().splitlines()


Serve = Callable[..., "Process"]


@contextmanager
def running_service(*arguments: str, log: IO[Any] | None = None, **settings: str) -> Iterator[Process]:
    """Run `befund serve` on a free port, with these BEFUND_ settings and none of the environment's.

    Its log goes to a file of its own unless another is given.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("BEFUND_")}
    with ExitStack() as stack:
        log = stack.enter_context(tempfile.TemporaryFile("w+")) if log is None else log
        data = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        popen = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "befund", "serve", "--port", "0", *arguments],
            env={**environ, "BEFUND_DATA_DIR": data, **settings},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        stack.callback(popen.communicate)
        stack.callback(popen.kill)
        assert popen.stdout is not None
        line = popen.stdout.readline()
        process = Process(popen, line.removeprefix(LISTENS).strip(), log)
        if not line.startswith(LISTENS):
            pytest.fail(f"befund serve did not start: {line}{process.end()}")
        yield process


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command that a test runs in this process sends the log to a stream that ends with the test."""
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True, scope="session")
def _no_data_in_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands that a test starts itself keep their data elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BEFUND_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        yield


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
