"""The service in this process, for commands that need its index and find none running."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from befund_client import AsyncClient, ProblemError, Retry

PATIENCE_SECONDS = 600.0
"""Embedding a few megabytes by a slow endpoint takes minutes."""


_ABOUT_REQUEST = frozenset({400, 413, 422})
_ADVICE_TO_CALLERS = re.compile(r"(GET|PUT|POST|DELETE) /[^;.]*(; |\.|$)")


class HereError(ProblemError):
    """What the service in this process refused, said to somebody who made no request: of the data folder."""

    def __init__(self, error: ProblemError, place: str) -> None:
        super().__init__(error.problem)
        self._place = place

    def __str__(self) -> str:
        said = _ADVICE_TO_CALLERS.sub("", self.said).strip()
        return said if self.status in _ABOUT_REQUEST else f"{self._place}: {said}"


@asynccontextmanager
async def service(url: str | None) -> AsyncIterator[AsyncClient]:
    """A client of the service at an address; of one in this process, on the data folder, where there is none.

    Raises:
        ValueError: The address cannot be one.
        SettingsError: The settings do not allow a service here.
        DependencyError: Another process has the data folder.
        HereError: The service in this process refused or failed.
    """
    if url:
        async with AsyncClient(url, timeout=PATIENCE_SECONDS) as client:
            yield client
        return
    import httpx
    import msgspec

    from befund.app import create_app
    from befund.settings import load_settings
    from befund.telemetry import configure_logging

    configure_logging("error")
    settings = msgspec.structs.replace(load_settings(os.environ).settings, api_keys=())
    app: Any = create_app(settings)
    app.claim()
    failure: Exception | None = None
    async with (
        app.app.lifespan(),
        AsyncClient("http://here", retry=Retry(attempts=1), transport=httpx.ASGITransport(app)) as client,
    ):
        try:
            yield client
        except ProblemError as error:
            failure = HereError(error, "the index" if settings.chroma_url else str(settings.data_dir))
        except Exception as error:  # raised below: the lifespan would wrap it in a group
            failure = error
    if failure is not None:
        raise failure
