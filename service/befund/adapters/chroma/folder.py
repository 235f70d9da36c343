"""The folder of an embedded Chroma: one process owns it, and what lies in it must be whole before Chroma opens it.

Two processes writing to one folder lose vectors silently, and Chroma makes a new database where it finds an empty one.
"""

import fcntl
import os
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from uuid import UUID

from befund.core.errors import DependencyError

DATABASE = "chroma.sqlite3"
_LOCK = "befund.lock"
_SQLITE = b"SQLite format 3\0"
_SEGMENT_FILES = ("data_level0.bin", "header.bin", "length.bin", "link_lists.bin")
_HEADER = struct.Struct("<i6QiI3QdQ")
_LINKS = struct.Struct("<I")
_FLOAT_BYTES = 4


class FolderLock:
    """Holds the folder until it is released or the process ends, however it ends: the kernel frees it."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = open(folder / _LOCK, "a+", encoding="ascii")  # noqa: SIM115 - open as long as it is held
        except OSError as error:
            raise DependencyError(
                "index-down",
                f"The index's folder {folder} cannot be written ({error.strerror}). Let BEFUND_DATA_DIR name a folder "
                "that this process may write.",
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = self._owner()
            self._file.close()
            raise DependencyError(
                "index-in-use",
                f"The index's folder {folder} is in use by {owner}. Stop it, send the work to it, or give this one "
                "another BEFUND_DATA_DIR.",
            ) from error
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Let another process have the folder."""
        self._file.close()

    def _owner(self) -> str:
        self._file.seek(0)
        pid = self._file.read(20).strip()
        return f"process {pid}" if pid.isdecimal() else "another process"


def refuse_broken(folder: Path) -> None:
    """Refuse a folder whose database is gone, empty or none.

    Raises:
        DependencyError: `index-damaged`.
    """
    database = folder / DATABASE
    size = database.stat().st_size if database.exists() else 0
    if not size and any(_is_segment(entry) for entry in folder.iterdir()):
        raise _damaged(folder, f"{DATABASE} is {'empty' if database.exists() else 'missing'} beside the vectors")
    if size:
        with database.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                raise _damaged(folder, f"{DATABASE} is no database")


def has_whole_vectors(folder: Path, collection_id: str) -> bool:
    """Whether the files with a collection's vectors hold as many as they say; Chroma dies of some that do not.

    True too where they are all missing: that Chroma notices itself.
    """
    return all(_is_whole(folder / segment) for segment, of in _segments(folder) if of == collection_id)


def remove_deleted(folder: Path) -> None:
    """Remove the vectors of collections that are no more, which Chroma leaves where they are."""
    known = {segment for segment, _ in _segments(folder)}
    for entry in folder.iterdir():
        if _is_segment(entry) and entry.name not in known:
            shutil.rmtree(entry, ignore_errors=True)


def _segments(folder: Path) -> list[tuple[str, str]]:
    """Every segment and the collection it belongs to."""
    with closing(sqlite3.connect(f"{(folder / DATABASE).absolute().as_uri()}?mode=ro", uri=True)) as database:
        return database.execute("SELECT id, collection FROM segments").fetchall()


def _is_whole(segment: Path) -> bool:
    present = [name for name in _SEGMENT_FILES if (segment / name).exists()]
    if len(present) < len(_SEGMENT_FILES):
        return not present
    header = (segment / "header.bin").read_bytes()
    if len(header) != _HEADER.size:
        return False
    _, _, places, vectors, vector_bytes = _HEADER.unpack(header)[:5]
    return (
        vectors <= places
        and (segment / "data_level0.bin").stat().st_size >= vectors * vector_bytes
        and (segment / "length.bin").stat().st_size >= vectors * _FLOAT_BYTES
        and _has_links_of(vectors, (segment / "link_lists.bin").read_bytes())
    )


def _has_links_of(vectors: int, links: bytes) -> bool:
    """Whether there are a length and so many bytes for each vector."""
    at = 0
    for _ in range(vectors):
        if at + _LINKS.size > len(links):
            return False
        at += _LINKS.size + _LINKS.unpack_from(links, at)[0]
    return at <= len(links)


def unreadable(folder: Path, error: Exception) -> DependencyError:
    """The error for a folder that Chroma itself could not open."""
    return _damaged(folder, f"Chroma cannot open it ({error})")


def _is_segment(entry: Path) -> bool:
    try:
        UUID(entry.name)
    except ValueError:
        return False
    return entry.is_dir()


def _damaged(folder: Path, what: str) -> DependencyError:
    return DependencyError(
        "index-damaged",
        f"The index in {folder} is damaged: {what}. Put back a copy of the folder, or move it away and ingest the "
        "documents anew.",
    )
