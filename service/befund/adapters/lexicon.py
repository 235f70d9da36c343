"""Language data for the rules judge, all from installed packages: nothing is downloaded."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import sentencex  # type: ignore[import-untyped]
import simplemma
import wordllama
from numpy.typing import NDArray
from wordllama import WordLlama

from befund.core.rules.language import Tongue

_KEPT_WORDS = 100_000
"""Words whose lemma and vector stay in memory: a megabyte for every thousand."""
_LONGEST_WORD = 60


class InstalledLexicon:
    """Lemmas of simplemma, static vectors of wordllama, sentence boundaries of sentencex."""

    def __init__(self) -> None:
        model = WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()  # else a word's vector would depend on the words it is asked for with
        self._embedding = np.asarray(model.embedding, dtype=np.float32)
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.lemma("Wörter")

    @staticmethod
    @lru_cache(maxsize=_KEPT_WORDS)
    def lemma(word: str) -> str:
        """The dictionary form, by the German dictionary first."""
        return simplemma.lemmatize(word, lang=("en", "de")) if len(word) <= _LONGEST_WORD else word

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Mean of the vectors of a word's pieces; zero for a word that has none."""
        unknown = [word for word in dict.fromkeys(words) if word not in self._vectors]
        if unknown:
            if len(self._vectors) > _KEPT_WORDS:
                self._vectors.clear()
                unknown = list(dict.fromkeys(words))
            encoded = self._tokenizer.encode_batch_fast(
                [word[:_LONGEST_WORD] for word in unknown], add_special_tokens=False
            )
            for word, pieces in zip(unknown, encoded, strict=True):
                self._vectors[word] = (
                    self._embedding[pieces.ids].mean(axis=0)
                    if pieces.ids
                    else np.zeros(self._embedding.shape[1], np.float32)
                )
        if not words:
            return np.zeros((0, self._embedding.shape[1]), np.float32)
        return np.stack([self._vectors[word] for word in words])

    def sentences(self, text: str, tongue: Tongue) -> Iterable[str]:
        """The text, cut at sentence boundaries."""
        cut: list[str] = list(sentencex.segment(tongue or "en", text))
        return cut
