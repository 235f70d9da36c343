"""A file's text, the place in it that an error names, and the notes a reader should see."""

from __future__ import annotations

import gzip
import io
import math
import os
import zlib
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from befund_client._errors import FileError
from befund_client._files import json_text

T = TypeVar("T")

GZIP = b"\x1f\x8b"
UNREADABLE = {
    b"\x04\x22\x4d\x18": "is compressed with lz4, which is not read: unpack it (lz4 -d) or save it as JSON or TREC",
    b"PAR1": "is a Parquet file, which is not read: save it as JSON or CSV (pandas: read_parquet, then to_csv)",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd, which is not read: unpack it (zstd -d) or use gzip",
    b"BZh": "is compressed with bzip2, which is not read: unpack it (bunzip2) or use gzip",
    b"\xfd7zXZ": "is compressed with xz, which is not read: unpack it (unxz) or use gzip",
    GZIP: "is gzipped twice: unpack it once (gunzip)",
    b"PK\x03\x04": "is a zip archive or a spreadsheet, which is not read: unpack it, or save the sheet as CSV",
    b"\xff\xfe": "is UTF-16 text, which is not read: save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text, which is not read: save it as UTF-8",
}
LARGEST_FILE = 1024**3
"""How many bytes of a file are read at most, counted unpacked: a small gzip file can unpack to any size."""
_CHUNK = 1024**2
MOST_NOTES = 40
LONGEST_SHOWN = 60


class Loaded(msgspec.Struct, Generic[T], frozen=True):
    """What a file held.

    Attributes:
        value: The data set, the rankings or the ids.
        format: The format it was read as.
        notes: What a reader should know: what was skipped, ignored, reordered or filled in.
    """

    value: T
    format: str
    notes: tuple[str, ...] = ()


class Notes:
    """Collects notes; what happens often becomes one note with a count and the first place."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def say(self, note: str) -> None:
        """Add one note."""
        self._said.append(note)

    def count(self, what: str, where: str) -> None:
        """Count one more occurrence of `what`."""
        self._counts[what] = self._counts.get(what, 0) + 1
        self._first.setdefault(what, where)

    def lines(self) -> tuple[str, ...]:
        """All notes, bounded."""
        counted = [f"{what}: {count} (first: {self._first[what]})" for what, count in self._counts.items()]
        lines = self._said + counted
        left_out = len(lines) - MOST_NOTES
        return tuple(lines[:MOST_NOTES] + ([f"and {left_out} more notes"] if left_out > 0 else []))


class Source(msgspec.Struct, frozen=True):
    """A file that has been read: its path and its bytes, which are UTF-8 without a byte order mark."""

    path: Path
    data: bytes

    @property
    def text(self) -> str:
        """The whole text."""
        return self.data.decode()

    @property
    def extension(self) -> str:
        """The extension in lower case, without `.gz`."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        return next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")

    def error(self, reason: str, line: int | None = None) -> FileError:
        """Make an error of this file."""
        return FileError(self.path, reason, line)

    def json(self, text: str, *, first_line: int = 1) -> object:
        """Decode JSON that begins at a line of this file."""
        try:
            return json_text.decode(text)
        except json_text.BrokenJsonError as error:
            raise self.error(error.reason, error.line + first_line - 1) from error


class Spot(msgspec.Struct, frozen=True):
    """A place in a file: a line, or a path into its JSON, whose line is looked up only for an error."""

    source: Source
    line: int | None = None
    path: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return f"line {self.line}" if self.line is not None else json_text.written(self.path)

    def at(self, *steps: str | int) -> Spot:
        """Make a spot further inside the same JSON value."""
        return Spot(self.source, self.line, self.path + steps)

    def found_line(self) -> int | None:
        """The line of this spot."""
        return self.line if self.line is not None else json_text.line_of(self.source.text, self.path)

    def error(self, reason: str) -> FileError:
        """Make an error that names this spot."""
        return self.source.error(reason, self.found_line())


def open_source(path: str | os.PathLike[str], *, largest: int = LARGEST_FILE) -> Source:
    """Read a file, unpack gzip, drop a byte order mark, and make sure that it is UTF-8 text.

    Args:
        path: A file, or anything else that can be read to its end, such as a pipe.
        largest: How many bytes it may hold, unpacked.

    Raises:
        FileError: It cannot be read, holds more, or is no text.
    """
    place = Path(path)
    data = _read(place, largest)
    for magic, reason in UNREADABLE.items():
        if data.startswith(magic):
            raise FileError(place, reason)
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(place, f"byte {data[error.start]:#04x} is not UTF-8: save the file as UTF-8", line) from error
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise FileError(place, "holds a NUL byte, so it is no UTF-8 text: save it as UTF-8 text, not UTF-16", line)
    if not data.strip():
        raise FileError(place, "is empty")
    return Source(place, data)


def _read(place: Path, largest: int) -> bytes:
    try:
        with place.open("rb") as file:
            if not file.peek(len(GZIP)).startswith(GZIP):
                return _read_all(file, place, largest, "bytes")
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _read_all(unpacked, place, largest, "bytes unpacked")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(place, f"is damaged gzip ({error}): copy it again") from error
    except OSError as error:
        raise FileError(place, f"cannot be read ({error.strerror or error})") from error
    except ValueError as error:  # a NUL in the path
        raise FileError(place, f"cannot be read ({error})") from error


def _read_all(file: io.BufferedIOBase, place: Path, largest: int, what: str) -> bytes:
    read = bytearray()
    while chunk := file.read(_CHUNK):
        read += chunk
        if len(read) > largest:
            raise FileError(place, f"holds more than {largest:,} {what}, which is the limit: split it")
    return bytes(read)


def shown(value: object) -> str:
    """Write a value from a file into an error, shortened."""
    written = repr(value)
    return written if len(written) <= LONGEST_SHOWN else f"{written[:LONGEST_SHOWN]}…"


def finite(value: object) -> float | None:
    """Take a JSON value as a finite number; None for anything else, true and false included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def parsed(text: str) -> float | None:
    """Read a finite number out of a column; None for anything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    # Python alone reads 1_000 as a number.
    return number if math.isfinite(number) and "_" not in text else None
