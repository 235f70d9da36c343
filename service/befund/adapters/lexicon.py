"""Language data for the rules judge, all from installed packages: nothing is downloaded."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from threading import Lock

import numpy as np
import sentencex  # type: ignore[import-untyped]
import simplemma
from numpy.typing import NDArray

from befund.adapters.static_vectors import DIMENSION, static_vectors
from befund.core.rules.language import Tongue

_KEPT_WORDS = 100_000
"""Words whose lemma and vector stay in memory: a megabyte for every thousand."""
_LONGEST_WORD = 60
_FIRST_ROWS = 1_024


class InstalledLexicon:
    """Lemmas of simplemma, static vectors of wordllama, sentence boundaries of sentencex."""

    def __init__(self) -> None:
        self._static = static_vectors()
        self._places: dict[str, int] = {}
        self._vectors = np.zeros((_FIRST_ROWS, DIMENSION), np.float32)
        self._lock = Lock()
        self.lemma("Wörter")

    @staticmethod
    @lru_cache(maxsize=_KEPT_WORDS)
    def lemma(word: str) -> str:
        """The dictionary form, by the German dictionary first."""
        return simplemma.lemmatize(word, lang=("en", "de")) if len(word) <= _LONGEST_WORD else word

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Mean of the vectors of a word's pieces; zero for a word that has none."""
        with self._lock:
            places = [self._places.get(word, -1) for word in words]
            if -1 in places:
                unknown = [word for word in dict.fromkeys(words) if word not in self._places]
                self._learn(unknown if len(self._places) <= _KEPT_WORDS else self._forgotten(words))
                places = [self._places[word] for word in words]
            return np.asarray(self._vectors[places])

    def _forgotten(self, words: Sequence[str]) -> list[str]:
        """Forget all words, so that all of these are unknown."""
        self._places.clear()
        return list(dict.fromkeys(words))

    def _learn(self, words: Sequence[str]) -> None:
        cut = [word[:_LONGEST_WORD] for word in words]
        encoded = self._static.tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        known = len(self._places)
        if known + len(words) > len(self._vectors):
            larger = np.zeros((2 * (known + len(words)), DIMENSION), np.float32)
            larger[:known] = self._vectors[:known]
            self._vectors = larger
        for place, (word, pieces) in enumerate(zip(words, encoded, strict=True), start=known):
            self._vectors[place] = self._static.table[pieces.ids].mean(axis=0) if pieces.ids else 0.0
            self._places[word] = place

    def sentences(self, text: str, tongue: Tongue) -> Iterable[str]:
        """The text, cut at sentence boundaries."""
        cut: list[str] = list(sentencex.segment(tongue or "en", text))
        return cut
