"""What turns texts into vectors and counts tokens."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""One row a text."""


class EmbedderIdentity(Struct, frozen=True):
    """What must be the same when a collection is written and when it is searched.

    Attributes:
        name: The embedder and its model, as `wordllama/l2_supercat/256`.
        dimension: Length of its vectors.
    """

    name: str
    dimension: int


class Embedder(Protocol):
    """Texts to vectors."""

    async def identity(self) -> EmbedderIdentity:
        """What a collection made with it records; the first call of an embedding service asks it for a vector.

        Raises:
            DependencyError: As `embed`.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 a text, in order.

        Raises:
            ContradictionError: `blank-text`: a text has nothing to embed; the place is its position, as `/3`.
            DependencyError: The embedding service cannot be reached or answers unusably.
        """
        ...


class Tokenizer(Protocol):
    """Counts what a text costs a model."""

    @property
    def name(self) -> str:
        """What counts."""
        ...

    async def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        ...
