"""From the quotes of evidence to the chunks that hold them, whatever the chunking."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from befund.core.corpus import Chunk

_BETWEEN_DOCUMENTS = "\0"
_WORD = re.compile(r"\S+")


class Quoted(Struct, frozen=True, kw_only=True):
    """A passage to be found; in one document, or anywhere where none is named."""

    id: str
    quote: str
    document: str | None = None


class Mapped(Struct, frozen=True, kw_only=True):
    """Where passages were found.

    Attributes:
        chunks: By evidence id the chunks that hold it, in reading order; only what was found.
        cut: Those of them that no single chunk holds whole.
        missing: Evidence whose quote is in no chunk.
        other_document: Of these, where the quote stands in another document than the one named.
    """

    chunks: dict[str, list[str]]
    cut: list[str]
    missing: list[str]
    other_document: dict[str, str]


def fold(text: str) -> str:
    """Make one blank of every run of whitespace."""
    return " ".join(text.split())


def map_evidence(evidence: Iterable[Quoted], chunks: Iterable[Chunk]) -> Mapped:
    """Find each quote in the chunks, whitespace folded.

    A quote maps to every chunk that holds it whole: several where it stands more than once or chunks overlap. One that
    no chunk holds whole maps to all the neighbours it was cut into.

    >>> halves = [Chunk(id="D1-chunk-1", document="D1", text="retried for 72", start=0, end=14),
    ...           Chunk(id="D1-chunk-2", document="D1", text="hours.", start=15, end=21)]
    >>> map_evidence([Quoted(id="E1", quote="72 hours")], halves).chunks
    {'E1': ['D1-chunk-1', 'D1-chunk-2']}
    """
    texts = _Texts(chunks)
    found: dict[str, list[str]] = {}
    cut, missing, other = [], [], {}
    for each in evidence:
        quote = fold(each.quote)
        whole, parts = texts.holders(quote, each.document) if quote else ([], [])
        if whole or parts:
            found[each.id] = whole or parts
            if not whole:
                cut.append(each.id)
            continue
        missing.append(each.id)
        elsewhere = texts.document_with(quote) if quote and each.document is not None else None
        if elsewhere is not None:
            other[each.id] = elsewhere
    return Mapped(chunks=found, cut=cut, missing=missing, other_document=other)


def fits(evidence: Quoted, chunks: Sequence[Chunk]) -> bool:
    """Whether chunks are a right mapping of a quote: each holds it, or together they hold it and each a part.

    >>> halves = [Chunk(id="D1-chunk-1", document="D1", text="retried for 72", start=0, end=14),
    ...           Chunk(id="D1-chunk-2", document="D1", text="hours.", start=15, end=21)]
    >>> fits(Quoted(id="E1", quote="72 hours"), halves), fits(Quoted(id="E1", quote="72 hours"), halves[:1])
    (True, False)
    """
    return set(map_evidence([evidence], chunks).chunks.get(evidence.id, ())) == {chunk.id for chunk in chunks}


class _Texts:
    """All documents put together again from their chunks, folded, with the place of every chunk."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        of_document: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            of_document.setdefault(chunk.document, []).append(chunk)
        written: list[str] = []
        length = 0
        self._spans: dict[str, tuple[int, int]] = {}
        self._chunks: list[tuple[int, int, str]] = []
        for document, pieces in of_document.items():
            text, places = _together(sorted(pieces, key=lambda piece: (piece.start, piece.end)))
            self._spans[document] = (length, length + len(text))
            self._chunks += [(length + begin, length + end, name) for begin, end, name in places]
            written += (text, _BETWEEN_DOCUMENTS)
            length += len(text) + len(_BETWEEN_DOCUMENTS)
        self._text = "".join(written)
        self._begins = [begin for begin, _, _ in self._chunks]
        self._longest = max((end - begin for begin, end, _ in self._chunks), default=0)

    def holders(self, quote: str, document: str | None) -> tuple[list[str], list[str]]:
        """The chunks with the whole quote, and those the first one that was cut lies in."""
        whole: dict[str, None] = {}
        parts: list[str] = []
        for begin in self._occurrences(quote, document):
            end = begin + len(quote)
            touched = self._touched(begin, end)
            whole.update((name, None) for first, last, name in touched if first <= begin and end <= last)
            parts = parts or [name for _, _, name in touched]
        return list(whole), parts

    def document_with(self, quote: str) -> str | None:
        """A document that has the quote; None where none does."""
        at = self._text.find(quote)
        return next((document for document, (begin, end) in self._spans.items() if begin <= at < end), None)

    def _occurrences(self, quote: str, document: str | None) -> Iterator[int]:
        begin, end = (0, len(self._text)) if document is None else self._spans.get(document, (0, 0))
        at = self._text.find(quote, begin, end)
        while at >= 0:
            yield at
            at = self._text.find(quote, at + 1, end)

    def _touched(self, begin: int, end: int) -> Sequence[tuple[int, int, str]]:
        earliest = bisect_left(self._begins, begin - self._longest)
        latest = bisect_right(self._begins, end - 1)
        return [place for place in self._chunks[earliest:latest] if place[1] > begin]


def _together(pieces: Sequence[Chunk]) -> tuple[str, list[tuple[int, int, str]]]:
    """The folded text of one document, and where each chunk begins and ends in it."""
    text, spans = _joined(pieces)
    words = [(word.start(), word.end()) for word in _WORD.finditer(text)]
    begins, ends = [begin for begin, _ in words], [end for _, end in words]
    folded = list(accumulate((end - begin + 1 for begin, end in words), initial=0))
    places = []
    for (begin, end), piece in zip(spans, pieces, strict=True):
        first, last = bisect_right(ends, begin), bisect_left(begins, end) - 1
        if first <= last:
            at = folded[first] + max(0, begin - begins[first])
            places.append((at, folded[last] + min(end, ends[last]) - begins[last], piece.id))
    return fold(text), places


def _joined(pieces: Sequence[Chunk]) -> tuple[str, list[tuple[int, int]]]:
    """The text of one document, as far as its chunks hold it; what they repeat of each other stands once."""
    written: list[str] = []
    length = 0
    until = 0  # the place in the document where what is written ends
    spans = []
    for piece in pieces:
        if written and piece.start > until:
            written.append(" ")
            length += 1
        repeated = max(0, until - piece.start) if written else 0
        new = piece.text[repeated:]
        spans.append((length - repeated, length - repeated + len(piece.text)))
        written.append(new)
        length += len(new)
        until = max(until, piece.end)
    return "".join(written), spans
