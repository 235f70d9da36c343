"""Markdown files of a folder, as documents with an id each."""

import os
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from befund.adapters.front_matter import read_front_matter
from befund.contract import IngestDocument
from befund.core.corpus import MetadataError

MARKDOWN = frozenset({".md", ".markdown"})
LARGEST_FILE = 10 * 1024 * 1024
LONGEST_ID = 512
LINKS = "links to folders"


class FolderError(Exception):
    """A folder cannot be read as documents; the message says what to do."""


class File(Struct, frozen=True):
    """A Markdown file and the id of its document."""

    path: Path
    id: str

    def document(self) -> IngestDocument:
        """Read it.

        Raises:
            FolderError: It was there and cannot be read any more.
        """
        try:
            return IngestDocument(id=self.id, text=_text(self.path))
        except (_UnreadableError, OSError) as error:
            raise FolderError(f"{self.path} changed while it was read ({error}): try again") from error


class Folder(Struct, frozen=True):
    """What a folder holds.

    Attributes:
        files: Its Markdown files, by path; ids are different.
        skipped: Markdown files that cannot be read as documents, with the reason.
        others: How many files of other suffixes there are, and links to folders.
    """

    files: list[File]
    skipped: list[tuple[Path, str]]
    others: dict[str, int]


def read_folder(folder: Path) -> Folder:
    """Look at every file below a folder, in the order of their paths; hidden files and folders are passed over.

    A document's id is the `id` of its front matter, else its path in the folder without the suffix. Links to folders
    are not followed, nor are links to files elsewhere.

    Raises:
        FolderError: There is no such folder, it has no Markdown file that can be read, or two documents have one id.
    """
    if not folder.is_dir():
        raise FolderError(f"{folder} is no folder: give the folder that holds your Markdown files")
    files: dict[str, File] = {}
    skipped: list[tuple[Path, str]] = []
    others: Counter[str] = Counter()
    inside = Path(os.path.realpath(folder))
    for path in _paths(folder, skipped, others):
        if path.suffix.lower() not in MARKDOWN:
            others[path.suffix.lower()] += 1
            continue
        if not Path(os.path.realpath(path)).is_relative_to(inside):
            skipped.append((path, "it is a link to a file outside the folder"))
            continue
        try:
            file = File(path, _id(path, folder))
        except (_UnreadableError, MetadataError) as error:
            skipped.append((path, str(error)))
            continue
        except OSError as error:
            skipped.append((path, f"it cannot be read ({error.strerror})"))
            continue
        if file.id in files:
            raise FolderError(
                f"{files[file.id].path} and {path} have the same id {file.id!r}: give one of them another `id:` in "
                "its front matter, or another name"
            )
        files[file.id] = file
    if not files:
        raise FolderError(f"{folder} holds no Markdown file that can be read{_instead(skipped, others)}")
    return Folder(list(files.values()), skipped, dict(sorted(others.items())))


class _UnreadableError(Exception):
    """Why a file is no document."""


def _paths(folder: Path, skipped: list[tuple[Path, str]], others: Counter[str]) -> Iterator[Path]:
    """Every file below a folder that is not hidden, in the order of their paths."""

    def unreadable(error: OSError) -> None:
        skipped.append((Path(error.filename), f"the folder cannot be read ({error.strerror})"))

    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=unreadable):
        here = Path(place)
        shown = [name for name in folders if not name.startswith(".")]
        folders[:] = [name for name in shown if not (here / name).is_symlink()]
        others.update([LINKS] * (len(shown) - len(folders)))
        found += [here / name for name in names if not name.startswith(".")]
    return iter(sorted(found))


def _id(path: Path, folder: Path) -> str:
    given = read_front_matter(_text(path)).get("id")
    if isinstance(given, dict | list | set):
        raise MetadataError("the id in its front matter is not a single value")
    name = path.relative_to(folder).with_suffix("").as_posix()
    # A name may be written in several ways that look the same; it should not depend on the machine which.
    identity = unicodedata.normalize("NFC", name) if given is None else str(given)
    if not 1 <= len(identity) <= LONGEST_ID:
        raise MetadataError(f"its id is empty or longer than {LONGEST_ID} characters")
    if not identity.isprintable():
        raise MetadataError("its id has characters that cannot be printed, or its name is not UTF-8")
    return identity


def _text(path: Path) -> str:
    if not path.is_file():
        raise _UnreadableError("it is no file, or a link to nothing")
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise _UnreadableError(f"it is larger than {LARGEST_FILE // 1024**2} MiB: split it")
    data = path.read_bytes()
    if b"\0" in data:
        raise _UnreadableError("it is not text in UTF-8 (it has zero bytes)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _UnreadableError(f"it is not text in UTF-8 (line {line})") from error


def _instead(skipped: list[tuple[Path, str]], others: Counter[str]) -> str:
    if skipped:
        path, reason = skipped[0]
        return f": {path}: {reason}" + (f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else "")
    if others:
        return f"; it has {others.total()} other files. Only {' and '.join(sorted(MARKDOWN))} are read"
    return ": it is empty"
