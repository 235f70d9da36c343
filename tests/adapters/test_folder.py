import os
import unicodedata
from pathlib import Path

import pytest

from befund.adapters.folder import LARGEST_FILE, FolderError, read_folder

DOCUMENTS = Path(__file__).resolve().parents[2] / "data" / "teralune" / "documents"


def write(folder: Path, **files: str) -> Path:
    """Write files; `__` in a name stands for a slash, a name without a suffix is one of Markdown."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def ids(folder: Path) -> list[str]:
    return [file.id for file in read_folder(folder).files]


def reasons(folder: Path) -> list[str]:
    return [reason for _, reason in read_folder(folder).skipped]


def test_the_bundled_corpus_is_36_documents_and_12_other_files() -> None:
    read = read_folder(DOCUMENTS)
    assert [file.id for file in read.files] == [f"D{number:03d}" for number in range(1, 37)]
    assert read.skipped == []
    assert read.others == {".csv": 2, ".html": 3, ".json": 2, ".pdf": 1, ".txt": 2, ".yaml": 2}


def test_the_id_is_the_front_matters_else_the_path(tmp_path: Path) -> None:
    folder = write(tmp_path, guide__setup="Text.", limits="---\nid: D1\n---\nText.", number="---\nid: 7\n---\nText.")
    (folder / "UPPER.MD").write_text("Text.")
    (folder / "other.markdown").write_text("Text.")
    assert ids(folder) == ["UPPER", "guide/setup", "D1", "7", "other"]


def test_the_text_is_read_when_it_is_needed_without_a_byte_order_mark(tmp_path: Path) -> None:
    (file,) = read_folder(write(tmp_path, one="\ufeff# Title\r\n\r\nText.")).files
    document = file.document()
    assert (document.id, document.text) == ("one", "# Title\r\n\r\nText.")


def test_a_file_that_is_gone_by_then_is_said(tmp_path: Path) -> None:
    (file,) = read_folder(write(tmp_path, one="Text.")).files
    file.path.unlink()
    with pytest.raises(FolderError, match="changed while it was read"):
        file.document()


def test_hidden_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "description.md").write_text("Text.")
    (tmp_path / ".hidden.md").write_text("Text.")
    assert ids(write(tmp_path, shown="Text.")) == ["shown"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xfet\x00", "zero bytes"),
        (b"one\ntwo\nthree \xe9", "line 3"),
        (b"---\ntitle: [a\n---\nText.", "the front matter is not YAML"),
        (b"---\nid: [a]\n---\nText.", "not a single value"),
        (b"---\nid: ''\n---\nText.", "its id is empty"),
        (b'---\nid: "a\\nb"\n---\nText.', "cannot be printed"),
        (b"---\nid: " + b"x" * 513 + b"\n---\nText.", "longer than 512"),
        (b"x" * (LARGEST_FILE + 1), "larger than 10 MiB"),
    ],
)
def test_a_file_that_is_no_document_is_skipped_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    write(tmp_path, fine="Text.")
    (tmp_path / "broken.md").write_bytes(content)
    assert ids(tmp_path) == ["fine"]
    assert reason in reasons(tmp_path)[0]


def test_a_link_to_a_file_outside_the_folder_is_said_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path, outside="Text.", docs__one="Text.")
    (tmp_path / "docs" / "out.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "same").symlink_to(tmp_path / "docs")
    read = read_folder(tmp_path / "same")
    assert [file.id for file in read.files] == ["one"]
    assert [reason for _, reason in read.skipped] == ["it is a link to a file outside the folder"]


def test_links_to_folders_are_counted_and_not_followed_so_that_a_loop_ends(tmp_path: Path) -> None:
    write(tmp_path, sub__one="Text.")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    (tmp_path / "link.md").symlink_to(tmp_path / "sub" / "one.md")
    (tmp_path / "broken.md").symlink_to(tmp_path / "nowhere")
    read = read_folder(tmp_path)
    assert [file.id for file in read.files] == ["link", "sub/one"]
    assert read.others == {"links to folders": 1}
    assert [reason for _, reason in read.skipped] == ["it is no file, or a link to nothing"]


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, one="Text.")
    os.mkfifo(tmp_path / "pipe.md")
    assert reasons(tmp_path) == ["it is no file, or a link to nothing"]


def test_a_name_that_is_not_utf8_is_said(tmp_path: Path) -> None:
    write(tmp_path, one="Text.")
    (tmp_path / os.fsdecode(b"b\xff.md")).write_text("Text.")
    assert ids(tmp_path) == ["one"]
    assert "its name is not UTF-8" in reasons(tmp_path)[0]


def test_a_name_gives_the_same_id_however_its_letters_are_composed(tmp_path: Path) -> None:
    write(tmp_path, **{unicodedata.normalize("NFD", "über"): "Text."})
    assert ids(tmp_path) == [unicodedata.normalize("NFC", "über")]


def test_two_documents_with_one_id_are_an_error_that_names_both(tmp_path: Path) -> None:
    write(tmp_path, a="---\nid: D1\n---\nText.", sub__b="---\nid: D1\n---\nText.")
    with pytest.raises(FolderError, match=r"a\.md and .*sub/b\.md have the same id 'D1'"):
        read_folder(tmp_path)


def test_a_path_and_an_id_may_collide_too(tmp_path: Path) -> None:
    write(tmp_path, a="---\nid: b\n---\nText.", b="Text.")
    with pytest.raises(FolderError, match="the same id 'b'"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "it is empty"),
        ({"a.txt": b"x", "b.pdf": b"x"}, r"it has 2 other files. Only .markdown and .md are read"),
        ({"a.md": b"\xff", "b.md": b"\xff"}, r"a.md: it is not text in UTF-8 \(line 1\) \(and 1 more\)"),
    ],
)
def test_a_folder_without_a_document_says_what_is_in_it(tmp_path: Path, files: dict[str, bytes], said: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FolderError, match=said):
        read_folder(tmp_path)


def test_what_is_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="is no folder"):
        read_folder(tmp_path / "nowhere")
