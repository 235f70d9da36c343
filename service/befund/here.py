"""The service in this process, for commands that need its index and find none running."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from befund_client import AsyncClient, Retry

PATIENCE_SECONDS = 600.0
"""Embedding a few megabytes by a slow endpoint takes minutes."""


@asynccontextmanager
async def service(url: str | None) -> AsyncIterator[AsyncClient]:
    """A client of the service at an address; of one in this process, on the data folder, where there is none.

    Raises:
        ValueError: The address cannot be one.
        SettingsError: The settings do not allow a service here.
        DependencyError: Another process has the data folder.
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
        except Exception as error:  # raised below: the lifespan would wrap it in a group
            failure = error
    if failure is not None:
        raise failure
