"""The context, made ready once to be compared with any number of claims."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.core.rules.alignment import Array, Terms, terms_of
from befund.core.rules.entity import Entity, Key
from befund.core.rules.language import Lexicon
from befund.core.rules.reading import Sentence, Text, read
from befund.core.rules.words import Token

WINDOW = 3
"""Sentences that may support a claim together."""
_LONGEST_REMEMBERED = 12_000
_REMEMBERED = 32
"""Contexts; one of 2.5 KB takes about 0.3 MB, most of it vectors."""


class Evidence(Struct, frozen=True):
    """The context, ready to be compared with claims.

    Attributes:
        texts: The passages, read.
        chunks: Which chunk each sentence is from.
        sentences: All sentences of the context, in order.
        terms: Their distinct words.
        words: Columns of `terms`, sentence after sentence; one past the last stands in a sentence without any.
        begins: Where in `words` each sentence begins.
        provides: For each sentence which keys its entities provide.
        places: For each of these keys the sentences that provide it.
        having: For each word the sentences that have it.
        pairs: Words that stand side by side.
        means: The mean vector of each sentence.
        lines: Words and marks of each sentence, a space before and behind each.
        whole: All lines in a row.
        line_begins: Where each line begins in `whole`.
        rows_of: By chunk its sentences.
        windows: For each sentence the `WINDOW` sentences that begin with it, in its chunk; the last repeats.
    """

    texts: Sequence[Text]
    chunks: Sequence[int]
    sentences: Sequence[Sentence]
    terms: Terms
    words: NDArray[np.intp]
    begins: NDArray[np.intp]
    provides: Sequence[frozenset[Key]]
    places: Mapping[Key, Sequence[int]]
    having: Mapping[str, Sequence[int]]
    pairs: frozenset[tuple[str, str]]
    means: Array
    lines: Sequence[str]
    whole: str
    line_begins: Sequence[int]
    rows_of: Mapping[int, Sequence[int]]
    windows: NDArray[np.intp]

    def of_words(self, alike: Array) -> Array:
        """For each word (row) and sentence (column) the likeness of the likest word in it."""
        padded = np.concatenate([alike, np.zeros((alike.shape[0], 1), np.float32)], axis=1)
        return np.maximum.reduceat(padded[:, self.words], self.begins, axis=1)

    def rows_with(self, line: str) -> Iterator[tuple[int, int]]:
        """The sentences that have this line in theirs, each with where it first stands there."""
        at = self.whole.find(line)
        while at >= 0:
            row = bisect_right(self.line_begins, at) - 1
            yield row, at - self.line_begins[row]
            at = self.whole.find(line, self.line_begins[row] + len(self.lines[row]))

    def rows_having(self, keys: Iterable[str]) -> list[int]:
        """The sentences that have all of these words, in order."""
        first, *others = sorted((self.having.get(key, ()) for key in keys), key=len)
        return sorted(set(first).intersection(*others))

    def of_figures(self, exact: Sequence[Entity]) -> Array:
        """For each entity (row) and sentence (column) whether the sentence states it."""
        found = np.zeros((len(exact), len(self.sentences)), np.float32)
        for row, entity in enumerate(exact):
            for key in entity.wants | entity.near:
                places = self.places.get(key, [])
                if entity.per is not None:
                    places = [place for place in places if self._per(place, key, entity.per)]
                found[row, places] = 1.0
        return found

    def _per(self, place: int, key: Key, per: float) -> bool:
        """Whether a sentence says this of something counted per the same time, or per none that it names."""
        saying = (entity for entity in self.sentences[place].entities if key in entity.provides)
        return any(entity.per is None or entity.per == per for entity in saying)

    def in_windows(self, by_sentence: Array) -> Array:
        """For each row and window the most that a sentence of the window has."""
        return np.asarray(by_sentence[:, self.windows].max(axis=2))


def evidence_of(passages: Sequence[str], lexicon: Lexicon) -> Evidence:
    """Prepare the passages of the context, which often comes again with another answer: short ones are remembered."""
    if sum(map(len, passages)) <= _LONGEST_REMEMBERED:
        return _remembered(tuple(passages), lexicon)
    return _prepared(passages, lexicon)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(passages: tuple[str, ...], lexicon: Lexicon) -> Evidence:
    return _prepared(passages, lexicon)


def _prepared(passages: Sequence[str], lexicon: Lexicon) -> Evidence:
    texts = [read(passage, lexicon) for passage in passages]
    sentences = [sentence for text in texts for sentence in text.sentences]
    chunks = [number for number, text in enumerate(texts) for _ in text.sentences]
    terms = terms_of(sentences, lexicon)
    place = {key: column for column, key in enumerate(terms.keys)}
    words: list[int] = []
    begins: list[int] = []
    having: dict[str, list[int]] = {}
    for row, sentence in enumerate(sentences):
        begins.append(len(words))
        distinct = dict.fromkeys(term.key for term in sentence.terms)
        words.extend([place[word] for word in distinct] or [len(terms.keys)])
        for word in distinct:
            having.setdefault(word, []).append(row)
    provides = [frozenset(key for entity in sentence.entities for key in entity.provides) for sentence in sentences]
    places: dict[Key, list[int]] = {}
    for row, keys in enumerate(provides):
        for key in keys:
            places.setdefault(key, []).append(row)
    pairs = frozenset(pair for sentence in sentences for pair in pairs_of(sentence))
    columns, starts = np.array(words, np.intp), np.array(begins, np.intp)
    means = _means(terms, columns, starts)
    lines = [line_of(sentence.tokens) for sentence in sentences]
    rows_of: dict[int, list[int]] = {}
    for row, chunk in enumerate(chunks):
        rows_of.setdefault(chunk, []).append(row)
    line_begins = [0, *accumulate(len(line) + 1 for line in lines)][: len(lines)]
    return Evidence(
        texts, chunks, sentences, terms, columns, starts, provides, places, having, pairs, means, lines,
        "\n".join(lines), line_begins, rows_of, _windows(chunks),
    )  # fmt: skip


def _means(terms: Terms, words: NDArray[np.intp], begins: NDArray[np.intp]) -> Array:
    """The mean vector of each sentence, at length 1."""
    nothing = np.zeros((1, terms.vectors.shape[1]), np.float32)
    weighted = np.concatenate([terms.weights[:, None] * terms.vectors, nothing])
    return unit_rows(np.add.reduceat(weighted[words], begins, axis=0)) if len(begins) else weighted[:0]


def unit_rows(rows: Array) -> Array:
    """Each row at length 1, or at 0 where it is 0."""
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.maximum(lengths, 1e-9), np.float32)


def _windows(chunks: Sequence[int]) -> NDArray[np.intp]:
    found = np.zeros((len(chunks), WINDOW), np.intp)
    for first in range(len(chunks)):
        last = first
        for at in range(WINDOW):
            if first + at < len(chunks) and chunks[first + at] == chunks[first]:
                last = first + at
            found[first, at] = last
    return found


def line_of(found: Sequence[Token]) -> str:
    """These tokens as one line, a space before and behind each, so that some can be looked for among others."""
    return f" {' '.join([token.text for token in found])} "


def pairs_of(sentence: Sentence) -> list[tuple[str, str]]:
    """Neighbouring words, in order."""
    keys = [term.key for term in sentence.terms]
    return list(pairwise(keys))
