"""The splitter: ids, sizes, front matter, headings. Every text here is small enough to cut by hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from befund.adapters.splitter import SECTION_CHARACTERS, front_matter_length, split_markdown
from befund.core.corpus import DEFAULT_MAX_CHARACTERS, Chunk

DOCUMENTS = Path(__file__).resolve().parents[2] / "data" / "teralune" / "documents"
SENTENCES = "\n\n".join(f"Paragraph {number} says something about number {number}." for number in range(1, 21))


def texts(text: str, *, max_characters: int = DEFAULT_MAX_CHARACTERS, overlap: int = 0) -> list[str]:
    chunks = split_markdown(text, document_id="D001", max_characters=max_characters, overlap=overlap)
    return [chunk.text for chunk in chunks]


def test_a_short_document_is_one_chunk() -> None:
    assert split_markdown("# Limits\n\nTen.", document_id="D001") == [
        Chunk(id="D001-chunk-1", document="D001", text="# Limits\n\nTen.", start=0, end=14)
    ]


def test_ids_count_from_one_in_reading_order() -> None:
    chunks = split_markdown(SENTENCES, document_id="handbook", max_characters=120)
    assert [chunk.id for chunk in chunks] == [f"handbook-chunk-{number}" for number in range(1, len(chunks) + 1)]
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)


def test_nothing_is_lost_without_overlap() -> None:
    assert " ".join(" ".join(texts(SENTENCES, max_characters=90)).split()) == " ".join(SENTENCES.split())


def test_no_chunk_without_headings_exceeds_the_size() -> None:
    assert max(map(len, texts(SENTENCES, max_characters=100))) <= 100


def test_a_word_longer_than_the_size_is_cut() -> None:
    assert texts("x" * 25, max_characters=10) == ["x" * 10, "x" * 10, "x" * 5]


@pytest.mark.parametrize("text", ["", "\n\n", "---\nid: D001\n---\n", "---\nid: D001\n---"])
def test_a_document_without_text_has_no_chunks(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize(
    "front",
    ["---\nid: D001\ntitle: Limits\n---\n", "---\r\nid: D001\r\n---\r\n", "\ufeff---\nid: D001\n---\n", "---\n---\n"],
)
def test_front_matter_is_not_text(front: str) -> None:
    assert texts(front + "Ten devices.") == ["Ten devices."]
    assert front_matter_length(front + "Ten devices.") == len(front)


@pytest.mark.parametrize("text", ["Text first.\n\n---\n\nid: D001\n\n---\n", "---\nNever closed."])
def test_a_rule_that_is_no_front_matter_stays(text: str) -> None:
    assert front_matter_length(text) == 0


def test_offsets_point_into_the_text_as_given() -> None:
    source = "---\nid: D001\n---\n# Grüße\n\n" + SENTENCES
    chunks = split_markdown(source, document_id="D001", max_characters=100)
    assert len(chunks) > 5
    assert [source[chunk.start : chunk.end] for chunk in chunks] == [chunk.text for chunk in chunks]


def test_a_heading_moves_into_the_chunk_it_heads() -> None:
    text = "# Title\n\n## Retries\n\n" + "word " * 19 + "word."
    assert texts(text, max_characters=100) == [text]


def test_a_heading_never_closes_a_chunk() -> None:
    first, second = "Alpha beta gamma delta.", "One two three four five six seven."
    chunks = texts(f"{first}\n\n## Next\n\n{second}", max_characters=36)
    assert chunks == [first, f"## Next\n\n{second}"]


def test_several_headings_in_a_row_move_together() -> None:
    text = "Before it.\n\n# One\n\n## Two\n\n### Three\n\n" + "word " * 9 + "end."
    assert texts(text, max_characters=50) == ["Before it.", text.removeprefix("Before it.\n\n")]


def test_a_heading_at_the_end_of_the_document_stays_behind() -> None:
    assert texts("Some text here.\n\n# Last", max_characters=16) == ["Some text here.\n\n# Last"]


def test_a_document_of_headings_is_kept() -> None:
    assert texts("# One\n\n# Two", max_characters=6) == ["# One\n\n# Two"]


def test_an_underlined_heading_is_a_heading() -> None:
    text = "Limits\n======\n\n" + "word " * 9 + "end."
    assert texts(text, max_characters=50) == [text]


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_comment_in_code_is_no_heading(fence: str) -> None:
    code = f"{fence}sh\n# a comment\n{fence}"
    assert texts(f"{code}\n\n{'word ' * 9}end.", max_characters=50) == [code, "word " * 9 + "end."]


def test_a_hash_without_a_space_is_no_heading() -> None:
    assert texts("#tag\n\n" + "word " * 9 + "end.", max_characters=50) == ["#tag", "word " * 9 + "end."]


def test_overlap_repeats_the_end_of_a_chunk() -> None:
    chunks = split_markdown(SENTENCES, document_id="D001", max_characters=120, overlap=60)
    assert all(later.start < earlier.end for earlier, later in pairwise(chunks))


def test_the_same_text_gives_the_same_chunks() -> None:
    assert texts(SENTENCES, max_characters=77) == texts(SENTENCES, max_characters=77)


@pytest.mark.parametrize(("max_characters", "overlap"), [(0, 0), (-1, 0), (10, 10), (10, -1)])
def test_impossible_sizes_are_refused(max_characters: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="it must be at least"):
        split_markdown("text", document_id="D001", max_characters=max_characters, overlap=overlap)


@pytest.mark.parametrize("overlap", [0, 50])
@pytest.mark.parametrize("max_characters", [150, 300, 700, 1500])
def test_real_documents_lose_nothing_and_no_chunk_closes_with_a_heading(max_characters: int, overlap: int) -> None:
    for path in sorted(DOCUMENTS.glob("*.md")):
        source = path.read_text(encoding="utf-8")
        chunks = split_markdown(source, document_id=path.stem, max_characters=max_characters, overlap=overlap)
        end = front_matter_length(source)
        for chunk in chunks:
            assert not source[end : chunk.start].strip()
            assert not chunk.text.splitlines()[-1].startswith("#")
            end = chunk.end
        assert not source[end:].strip()


@pytest.mark.parametrize(
    "text", ["x" * 250_000, "word " * 50_000, "A line of a list.\n" * 14_000, "A paragraph.\n\n" * 18_000]
)
def test_a_text_longer_than_a_section_is_cut_like_any_other(text: str) -> None:
    assert len(text) > 2 * SECTION_CHARACTERS
    chunks = split_markdown(text, document_id="D001")
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())
    assert all(chunk.text == text[chunk.start : chunk.end] for chunk in chunks)
    assert max(len(chunk.text) for chunk in chunks) <= DEFAULT_MAX_CHARACTERS


def test_a_heading_stays_with_its_text_where_a_section_ends() -> None:
    filler = "A paragraph of no interest.\n\n" * (SECTION_CHARACTERS // 29)
    text = f"{filler[: SECTION_CHARACTERS - 40]}\n\n## Limits\n\nTen devices may be connected to it."
    (holding,) = [chunk.text for chunk in split_markdown(text, document_id="D001") if "## Limits" in chunk.text]
    assert "Ten devices" in holding
