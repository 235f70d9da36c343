"""Markdown to chunks: where the text of a document is cut before it is embedded.

The cutting itself is done by `semantic-text-splitter`, which prefers the largest Markdown unit that fits: section,
paragraph, sentence, word. Two things it leaves to its caller are done here: front matter is no text and is left out,
and a heading stays with what it heads.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from semantic_text_splitter import MarkdownSplitter

from befund.core.corpus import DEFAULT_MAX_CHARACTERS, Chunk

SECTION_CHARACTERS = 100_000
"""Longer texts are cut into such sections first: the time to find a paragraph's end grows with the square of it."""

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?:.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_ATX_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_SETEXT_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def split_markdown(
    text: str, *, document_id: str, max_characters: int = DEFAULT_MAX_CHARACTERS, overlap: int = 0
) -> list[Chunk]:
    r"""Cut a Markdown document into chunks named `{document_id}-chunk-1`, `-2`, … in reading order.

    A chunk holds at most `max_characters` characters, plus the headings that moved into it because they would have
    closed the chunk before. `overlap` characters at most are repeated from one chunk to the next. A document without
    text has no chunks.

    >>> text = "---\nid: D1\n---\n# Limits\n\nTen devices."
    >>> [(chunk.id, chunk.text) for chunk in split_markdown(text, document_id="D1")]
    [('D1-chunk-1', '# Limits\n\nTen devices.')]
    """
    if max_characters < 1:
        raise ValueError(f"max_characters is {max_characters}; it must be at least 1")
    if not 0 <= overlap < max_characters:
        raise ValueError(f"overlap is {overlap}; it must be at least 0 and less than max_characters ({max_characters})")
    offset = front_matter_length(text)
    body = text[offset:]
    splitter = MarkdownSplitter(max_characters, overlap)
    cut = [
        (section + start, section + start + len(piece))
        for section, text_of_section in _sections(body)
        for start, piece in splitter.chunk_indices(text_of_section)
    ]
    spans = _keep_headings_with_text(body, cut)
    return [
        Chunk(
            id=f"{document_id}-chunk-{number}",
            document=document_id,
            text=body[start:end],
            start=offset + start,
            end=offset + end,
        )
        for number, (start, end) in enumerate(spans, start=1)
    ]


def front_matter_length(text: str) -> int:
    """How many characters of `text` are YAML front matter, its closing line included; 0 when there is none."""
    found = _FRONT_MATTER.match(text)
    return found.end() if found else 0


def _sections(body: str) -> Iterator[tuple[int, str]]:
    """The text, in parts that end between paragraphs, else lines, else words; with where each begins."""
    start = 0
    while len(body) - start > SECTION_CHARACTERS:
        middle, limit = start + SECTION_CHARACTERS // 2, start + SECTION_CHARACTERS
        ends = (body.rfind(mark, middle, limit) + len(mark) for mark in ("\n\n", "\n", " "))
        end = next((end for end in ends if end > middle), limit)
        yield start, body[start:end]
        start = end
    yield start, body[start:]


def _keep_headings_with_text(body: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Move headings that close a chunk to the start of the next; at the end of the document they stay behind."""
    headings = _heading_spans(body)
    kept: list[tuple[int, int]] = []
    carried: int | None = None
    for start, end in spans:
        closing = _closing_headings(body, headings, start, end)
        if carried is not None and closing is not None and not body[start:closing].strip():
            continue
        begin = start if carried is None else min(start, carried)
        until = end if closing is None else begin + len(body[begin:closing].rstrip())
        if until > begin:
            kept.append((begin, until))
        carried = closing
    if carried is not None:
        begin = kept.pop()[0] if kept else carried
        kept.append((begin, spans[-1][1]))
    return kept


def _closing_headings(body: str, headings: list[tuple[int, int]], start: int, end: int) -> int | None:
    """Where the headings begin that close the chunk `start:end` with no text after them; None if text closes it."""
    first: int | None = None
    for index in range(bisect_left(headings, (end, end)) - 1, -1, -1):
        begin, until = headings[index]
        if begin < start or body[until : end if first is None else first].strip():
            break
        first = begin
    return first


def _heading_spans(body: str) -> list[tuple[int, int]]:
    """Start and end of every heading outside fenced code, in reading order."""
    spans: list[tuple[int, int]] = []
    fence = ""
    lines: list[tuple[int, str]] = []
    position = 0
    for line in body.splitlines(keepends=True):
        content = line.rstrip()
        marker = _FENCE.match(content)
        if fence:
            closes = marker and marker[1].startswith(fence) and not marker[2].strip()
            content, fence = "", "" if closes else fence
        elif marker:
            content, fence = "", marker[1]
        elif _ATX_HEADING.match(content):
            spans.append((position, position + len(content)))
            content = ""
        lines.append((position, content))
        position += len(line)
    for index, ((first, title), (under, line)) in enumerate(pairwise(lines)):
        alone = index == 0 or not lines[index - 1][1].strip()
        if alone and title.strip() and _SETEXT_UNDERLINE.match(line):
            spans.append((first, under + len(line)))
    return sorted(spans)
