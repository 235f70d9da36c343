"""The service in this process, for commands that need what it keeps and are told of none that runs."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx

from befund_client import AsyncClient, Client, ProblemError, Retry

if TYPE_CHECKING:
    from befund.settings import Settings

PATIENCE_SECONDS = 600.0
"""Embedding a few megabytes by a slow endpoint takes minutes."""

_ADVICE_TO_CALLERS = re.compile(r"(GET|PUT|POST|DELETE) /[^;.]*(; |\.|$)")
_OTHER_OWNER = "/problems/index-in-use"
_UNKNOWN = 404


class HereError(ProblemError):
    """What the service in this process refused, said to somebody who made no request."""

    def __init__(self, error: ProblemError, place: str) -> None:
        super().__init__(error.problem)
        self._place = place

    def __str__(self) -> str:
        said = _ADVICE_TO_CALLERS.sub("", self.said).strip()
        if self.problem.type == _OTHER_OWNER:
            return f"{said} With --url (or BEFUND_URL) the work goes to the service that has it."
        if self.status == _UNKNOWN:
            return f"{said} Looked for in {self._place}, since no service is named (--url, BEFUND_URL)."
        return said


def service_url(given: str | None) -> str | None:
    """The address of the service a command is to ask; None where it is to do the work itself."""
    return given or os.environ.get("BEFUND_URL") or None


def data_folder() -> Path:
    """The folder that is worked on where no service is named.

    Raises:
        SettingsError: A setting cannot be used.
    """
    from befund.settings import load_settings

    return load_settings(os.environ).settings.data_dir.absolute()


@asynccontextmanager
async def service(url: str | None, *, stores: bool = True) -> AsyncIterator[AsyncClient]:
    """A client of the service at an address; of one in this process, on the data folder, where there is none.

    Args:
        url: The address.
        stores: Whether something may be stored; if not, no data folder is made where there is none.

    Raises:
        ValueError: The address cannot be one.
        SettingsError: The settings do not allow a service here.
        DependencyError: The store cannot be opened.
        HereError: The service in this process refused or failed.
    """
    if url:
        async with AsyncClient(url, timeout=PATIENCE_SECONDS) as client:
            yield client
        return
    failure: Exception | None = None
    async with (
        _running(stores=stores) as here,
        AsyncClient("http://here", retry=Retry(attempts=1), transport=httpx.ASGITransport(here.app)) as client,
    ):
        try:
            yield client
        except Exception as error:  # raised below: the lifespan would wrap it in a group
            failure = here.told(error)
    if failure is not None:
        raise failure


@contextmanager
def waiting_service(url: str | None, *, stores: bool = True) -> Iterator[Client]:
    """As `service`, for code that waits for each answer."""
    if url:
        with Client(url) as client:
            yield client
        return
    from anyio.from_thread import start_blocking_portal

    failure: Exception | None = None
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_running(stores=stores)) as here,
        Client("http://here", retry=Retry(attempts=1), transport=_Waiting(here.app, portal.call)) as client,
    ):
        try:
            yield client
        except Exception as error:  # raised below, as above
            failure = here.told(error)
    if failure is not None:
        raise failure


class _Here:
    """A service in this process, and where it keeps things."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self.app = app
        self._place = "the index" if settings.chroma_url else f"the data folder {settings.data_dir.absolute()}"

    def told(self, error: Exception) -> Exception:
        """The error as somebody should read it who sent no request."""
        return HereError(error, self._place) if isinstance(error, ProblemError) else error


class _Waiting(httpx.BaseTransport):
    """Has an event loop in another thread carry out each request, and waits for its answer."""

    def __init__(self, app: Any, call: Callable[..., httpx.Response]) -> None:
        self._transport = httpx.ASGITransport(app)
        self._call = call

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._call(self._answer, request)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._transport.handle_async_request(request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


@asynccontextmanager
async def _running(*, stores: bool) -> AsyncIterator[_Here]:
    import msgspec

    from befund.app import create_app
    from befund.settings import load_settings
    from befund.telemetry import configure_logging

    configure_logging("error")
    settings = msgspec.structs.replace(load_settings(os.environ).settings, api_keys=())
    with ExitStack() as stack:
        used = settings
        if not stores and not settings.data_dir.exists():
            used = msgspec.structs.replace(settings, data_dir=Path(stack.enter_context(TemporaryDirectory())))
        app: Any = create_app(used, for_one_command=True)
        async with app.app.lifespan():
            yield _Here(app, settings)
