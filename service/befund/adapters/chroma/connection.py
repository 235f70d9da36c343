"""Two ways to a Chroma client: in this process, or to a server. Chroma is imported when one is opened (half a second).

Both take a piece of work as a function of the client. The client's methods have the same names on both sides; those of
the server's client are coroutines, so a piece of work makes one call and leaves what it returns to the connection.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from befund.adapters.chroma.folder import (
    DATABASE,
    FolderLock,
    has_whole_vectors,
    refuse_broken,
    remove_deleted,
    unreadable,
)
from befund.core.errors import DependencyError

Work = Callable[[Any], Any]
"""One call of a client."""


class Connection(Protocol):
    """A Chroma client wherever it is.

    Attributes:
        written_at_once: How many chunks one call may write.
    """

    written_at_once: int

    async def call(self, work: Work) -> Any:
        """Make one call; errors of Chroma come through as they are.

        Raises:
            DependencyError: There is no client to call.
        """
        ...

    async def has_whole_vectors(self, collection_id: str) -> bool:
        """Whether a collection's vectors can be opened, as far as can be seen from outside."""
        ...

    async def remove_deleted(self) -> None:
        """Remove what Chroma leaves of collections that were deleted."""
        ...

    async def ready(self) -> None:
        """Return if calls can be made; raises as `call` does."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class EmbeddedChroma:
    """Chroma in this process. Everything is done in one thread, since its calls wait for disk and for locks.

    Args:
        folder: Where it keeps its files. Held from `claim` or `open` to `close`.
        on_demand: Whether the first call opens it where `open` has not.
    """

    written_at_once = 32  # Chroma lets no other thread run while it writes

    def __init__(self, folder: Path, *, on_demand: bool = False) -> None:
        self._folder = folder
        self._on_demand = on_demand
        self._lock: FolderLock | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="chroma")
        self._opened: Future[Any] | None = None

    def claim(self) -> None:
        """Take the folder.

        Raises:
            DependencyError: Another process has it, or it cannot be written.
        """
        if self._lock is None:
            self._lock = FolderLock(self._folder)

    def open(self) -> None:
        """Take the folder at once, and begin to open it; what is asked meanwhile waits. Raises as `claim` does."""
        self.claim()
        self._opened = self._thread.submit(_open_folder, self._folder)

    async def call(self, work: Work) -> Any:
        """Do the work in the thread, after all that was asked before."""
        if self._opened is None and self._on_demand:
            self.open()
        opened = self._opened
        if opened is None:
            raise DependencyError("index-down", "The index is not open.")
        return await asyncio.wrap_future(self._thread.submit(lambda: work(opened.result())))

    async def has_whole_vectors(self, collection_id: str) -> bool:
        """Look at the sizes of the files; what is broken ends the process when Chroma opens it."""
        whole: bool = await self.call(lambda _: has_whole_vectors(self._folder, collection_id))
        return whole

    async def remove_deleted(self) -> None:
        """Remove their files."""
        await self.call(lambda _: remove_deleted(self._folder))

    async def ready(self) -> None:
        """Look at the state without waiting for the thread, which a long search may hold."""
        if self._opened is None or not self._opened.done():
            raise DependencyError("index-down", "The index is being opened. Try again shortly.", retry_after=1)
        self._opened.result()
        refuse_broken(self._folder)
        if not (self._folder / DATABASE).exists():
            raise DependencyError("index-damaged", f"The index's database in {self._folder} is gone.")

    async def close(self) -> None:
        """Close the client, then let go of the folder."""
        if self._lock is None:
            return
        await asyncio.to_thread(self._close)
        self._lock.release()
        self._lock = self._opened = None

    def _close(self) -> None:
        if self._opened is not None and self._opened.exception() is None:
            self._thread.submit(self._opened.result().close).result()
        self._thread.shutdown(cancel_futures=True)


class ServedChroma:
    """A Chroma server.

    Args:
        url: Its address, as `http://chroma:8000`.
        call_seconds: How long one call may take.
        ready_seconds: How long the server may take to say that it is there.
    """

    written_at_once = 1_000

    def __init__(self, url: str, *, call_seconds: float = 30.0, ready_seconds: float = 2.0) -> None:
        self._url = url.rstrip("/")
        self._call_seconds = call_seconds
        self._ready_seconds = ready_seconds
        self._opening = asyncio.Lock()
        self._client: Any = None

    async def call(self, work: Work) -> Any:
        """Make the call, connecting first where that has not succeeded yet."""
        try:
            async with asyncio.timeout(self._call_seconds):
                return await work(await self._connected())
        except TimeoutError as error:
            raise self._down(f"did not answer within {self._call_seconds:g} s") from error
        except httpx.TransportError as error:
            raise self._down("cannot be reached") from error

    async def has_whole_vectors(self, collection_id: str) -> bool:
        """The server sees to its files."""
        return True

    async def remove_deleted(self) -> None:
        """The server sees to its files."""

    async def ready(self) -> None:
        """Ask whether the server is there."""
        try:
            async with httpx.AsyncClient(timeout=self._ready_seconds) as client:
                answer = await client.get(f"{self._url}/api/v2/heartbeat")
        except httpx.HTTPError as error:
            raise self._down("cannot be reached") from error
        if answer.status_code != httpx.codes.OK:
            raise self._down(f"answered {answer.status_code}")

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client._server._cleanup()  # Chroma's asynchronous client has no public way
            self._client = None

    async def _connected(self) -> Any:
        async with self._opening:
            if self._client is None:
                await self.ready()  # Chroma keeps what it made for a client that could not connect
                self._client = await _connect(self._url)
        return self._client

    def _down(self, what: str) -> DependencyError:
        return DependencyError(
            "index-down",
            f"The Chroma server at {self._url} {what}. Check BEFUND_CHROMA_URL and the server.",
            retry_after=5,
        )


def _open_folder(folder: Path) -> Any:
    refuse_broken(folder)
    import chromadb
    from chromadb.errors import ChromaError

    try:
        client = chromadb.PersistentClient(str(folder), settings=_quiet())
        remove_deleted(folder)
    except (ChromaError, sqlite3.Error) as error:
        raise unreadable(folder, error) from error
    return client


async def _connect(url: str) -> Any:
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    chromadb: Any = await asyncio.to_thread(_import_chromadb)
    return await chromadb.AsyncHttpClient(
        host=parts.hostname,
        port=parts.port or (443 if is_tls else 80),
        ssl=is_tls,
        settings=_quiet(chroma_server_ssl_verify=True),
    )


def _import_chromadb() -> Any:
    import chromadb

    return chromadb


def _quiet(**more: Any) -> Any:
    """Chroma's settings: nothing is reported anywhere, and a `.env` of something else is not read."""
    from chromadb.config import Settings

    settings: Any = Settings
    return settings(_env_file=None, anonymized_telemetry=False, **more)
