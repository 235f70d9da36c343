"""The wire: everything that knows httpx. Imported when a client is made, since httpx takes most of the import time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx

from befund_client._exchange import Answer, Call, Failure, Outcome
from befund_client._settings import Settings


class Connection:
    """A pool of connections to one service."""

    def __init__(self, settings: Settings, transport: httpx.BaseTransport | None) -> None:
        _check(settings)
        self._settings = settings
        self._http = httpx.Client(timeout=_timeout(settings), headers=settings.headers(), transport=transport)

    def send(self, call: Call[Any], headers: dict[str, str]) -> Outcome:
        """Make one attempt."""
        try:
            response = self._http.request(
                call.method, self._settings.url + call.path, content=call.content, headers=headers
            )
        except httpx.RequestError as error:
            return _failure(self._settings, error)
        return _answer(response)

    def wait(self, seconds: float) -> None:
        """Let time pass between two attempts."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close the pool."""
        self._http.close()


class AsyncConnection:
    """The same for asyncio."""

    def __init__(self, settings: Settings, transport: httpx.AsyncBaseTransport | None) -> None:
        _check(settings)
        self._settings = settings
        self._http = httpx.AsyncClient(timeout=_timeout(settings), headers=settings.headers(), transport=transport)

    async def send(self, call: Call[Any], headers: dict[str, str]) -> Outcome:
        """Make one attempt."""
        try:
            response = await self._http.request(
                call.method, self._settings.url + call.path, content=call.content, headers=headers
            )
        except httpx.RequestError as error:
            return _failure(self._settings, error)
        return _answer(response)

    async def wait(self, seconds: float) -> None:
        """Let time pass between two attempts."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Close the pool."""
        await self._http.aclose()


def _check(settings: Settings) -> None:
    """Find out before the first call what httpx cannot use as an address, a host name of impossible letters say."""
    try:
        httpx.URL(settings.url)
    except httpx.InvalidURL as error:
        raise ValueError(f"{settings.url!r} is no address of a service ({error})") from error


def _timeout(settings: Settings) -> httpx.Timeout:
    return httpx.Timeout(settings.timeout, connect=min(settings.timeout, 10.0))


def _answer(response: httpx.Response) -> Answer:
    # httpx.Headers compares names without case; a plain dict of lower-case names keeps httpx out of the core.
    return Answer(response.status_code, dict(response.headers), response.content)


def _failure(settings: Settings, error: httpx.RequestError) -> Failure:
    where = settings.url
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Failure(f"no connection to {where} ({_first_line(error)})", "is the service running there?", True, error)
    if isinstance(error, httpx.TimeoutException):
        # Asking again would double the load of a service that is already too slow.
        advice = "allow more time, or send fewer questions at once"
        return Failure(f"no answer from {where} within {settings.timeout:g} s", advice, False, error)
    retryable = isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
    advice = "look for the request in the service's log, then try again"
    return Failure(f"the connection to {where} broke ({_first_line(error)})", advice, retryable, error)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
