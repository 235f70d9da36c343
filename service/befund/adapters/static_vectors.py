"""The static word vectors that ship with wordllama: loaded once a process; nothing is downloaded."""

from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

MODEL = "l2_supercat"
DIMENSION = 256
_LOADING = Lock()


class StaticVectors(Struct, frozen=True):
    """Pieces of words and their vectors.

    Attributes:
        tokenizer: Cuts texts into pieces, without padding, so that a text's pieces do not depend on those beside it.
        table: One row a piece.
    """

    tokenizer: Any
    table: NDArray[np.float32]


def static_vectors() -> StaticVectors:
    """The one loaded table; the first call takes about a second."""
    with _LOADING:
        return _load()


@lru_cache(maxsize=1)
def _load() -> StaticVectors:
    import wordllama  # slow to import

    # The wheel lays the tokenizer where only a search in the package's own folder finds it.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(MODEL, cache_dir=folder, dim=DIMENSION, disable_download=True)
    model.tokenizer.no_padding()
    return StaticVectors(model.tokenizer, np.asarray(model.embedding, dtype=np.float32))
