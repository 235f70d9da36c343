"""Connections to the store's database: transactions, the errors they end with, and tables brought up to date.

SQLite gets one writer at a time, WAL, and `synchronous=FULL`: what was committed survives a killed process and, as far
as the disk keeps its word, a power cut. Deleted content is overwritten, not only forgotten.
"""

import asyncio
import errno
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, event, make_url, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from befund.core.errors import DependencyError

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK_SECONDS = 5
RETRY_SECONDS = 5

_SETTINGS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
_CAUSES = {
    "disk is full": "the disk is full: free some space",
    "disk i/o error": "the disk failed to read or write: see its log, free some space",
    "readonly database": "its file or folder may not be written to: check who owns it",
    "unable to open": "its file cannot be opened: check that the folder exists and who may write to it",
    "is locked": f"another process kept it locked for {LOCK_SECONDS} s: let that one finish",
    "not a database": "its file is no SQLite database: put a back-up in its place, or move it away to begin anew",
    "malformed": "its file is damaged: put a back-up in its place",
    "no such table": "its tables are missing: restart the service",
    "unique": "another request wrote the same at the same moment: send it again",
    "connect": "the database does not answer: check that it runs and BEFUND_DATABASE_URL",
}


class Database:
    """One database, from `open` to `close`.

    Args:
        place: The file of a SQLite database, made when it is missing, or the URL of any database.
    """

    def __init__(self, place: Path | str) -> None:
        self._file = place if isinstance(place, Path) else None
        url = URL.create("sqlite+aiosqlite", database=str(place)) if isinstance(place, Path) else make_url(place)
        self._is_sqlite = url.get_backend_name() == "sqlite"
        self._url = url
        self._engine = self._make_engine()
        self._turn = asyncio.Lock()
        self._inode: int | None = None

    async def open(self) -> None:
        """Connect and bring the tables up to date; raises DependencyError where that cannot be."""
        if self._file is not None:
            _make_folder(self._file.parent)
            self._inode = _inode_of_opened(self._file)
        try:
            async with self.writing() as connection:
                await connection.run_sync(_upgrade)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let go of every connection."""
        await self._engine.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that sees one state of the database."""
        with _translated():
            async with self._engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that writes: all of it is safe at its end, or nothing was written."""
        self.refuse_lost_file()
        # SQLite lets one write and the others try again by luck; in this process they queue up instead.
        async with self._turn:
            with _translated():
                async with self._engine.connect() as connection:
                    await connection.execution_options(befund_writes=True)
                    async with connection.begin():
                        yield connection

    def refuse_lost_file(self) -> None:
        """Raise where the file was taken away: SQLite would write on, into what nobody finds again."""
        if self._inode is None or self._file is None:
            return
        try:
            there = self._file.stat().st_ino == self._inode
        except OSError:
            there = False
        if not there:
            raise DependencyError(
                "store-unavailable",
                "The store's file was moved, deleted or replaced while the service runs: put it back, or restart the "
                "service. Nothing was stored.",
            )

    async def forget(self) -> None:
        """Let no copy of what was deleted remain in the write-ahead log.

        The deletion itself is safe already: where this fails, the next checkpoint does it.
        """
        if not self._is_sqlite:
            return
        async with self._turn:
            with suppress(DependencyError), _translated():
                async with self._engine.connect() as connection:
                    await connection.execution_options(isolation_level="AUTOCOMMIT")
                    await connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))

    def _make_engine(self) -> Any:
        try:
            engine = create_async_engine(self._url, hide_parameters=True)
        except ModuleNotFoundError as error:
            raise DependencyError(
                "store-unavailable", f"The store needs {error.name}, which is not installed: pip install {error.name}."
            ) from error
        if self._is_sqlite:
            event.listen(engine.sync_engine, "connect", _configure)
            event.listen(engine.sync_engine, "begin", _begin)
        return engine


def _configure(connection: Any, _: object) -> None:
    """Leave transactions to `_begin`: the driver would begin them too late to keep readers and writers apart."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={LOCK_SECONDS * 1000}")
    for setting in _SETTINGS:
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("befund_writes") else "BEGIN")


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise DependencyError(
            "store-unavailable",
            f"The store was written by another version of Befund ({error}). Run that version, or a newer one.",
        ) from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DependencyError(
            "store-unavailable",
            f"The folder {os.fspath(folder)!r} cannot be made ({error.strerror}): name another in BEFUND_DATA_DIR.",
        ) from error


def _inode_of_opened(file: Path) -> int:
    """Open the file, which makes it where it is missing, and say which it is.

    The driver does not get over a file it cannot open: a thread of its own fails after the event loop has ended.
    """
    with _translated():
        is_new = not file.exists()
        if not is_new and not file.stat().st_size:
            raise DependencyError(
                "store-unavailable",
                f"The store's file {os.fspath(file)!r} is empty: put a back-up in its place, or delete it to begin "
                "anew.",
            )
        with closing(sqlite3.connect(file)) as connection:
            if is_new:
                connection.execute("PRAGMA journal_mode=WAL")  # writes the first page: from now on it is not empty
        return file.stat().st_ino


@contextmanager
def _translated() -> Iterator[None]:
    """Say what a caller and an operator can do about a database that failed."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        said = str(error.orig if isinstance(error, DBAPIError) else error)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            said = "disk is full"
        cause = next((advice for sign, advice in _CAUSES.items() if sign in said.lower()), "see the service's log")
        raise DependencyError(
            "store-unavailable", f"The store failed, {cause}. Nothing was stored.", retry_after=RETRY_SECONDS
        ) from error
