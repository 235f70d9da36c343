"""How near vectors are to questions, measured as Chroma measures it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from befund.ports import Vectors

AT_ONCE = 256
"""Questions compared with a page of vectors at a time, so that little is held."""
CLOSE = 1e-6
"""Distances that differ by less are those of equals, added up in another order."""

Distances = NDArray[np.floating]


class Field:
    """Questions, each with the chunk that is looked for.

    Args:
        space: `cosine`, `l2` or `ip`.
        questions: One row a question.
        chunks: One row a question: its chunk's vector.

    Attributes:
        questions: The questions as they came.
        own: How far each question's chunk is from it.
    """

    def __init__(self, space: str, questions: Vectors, chunks: Vectors) -> None:
        self._space = space
        self.questions = questions
        self._prepared = _of_length_one(questions) if space == "cosine" else questions
        self.own = np.array(
            [self.distances([row], chunks[row : row + 1])[0, 0] for row in range(len(questions))], dtype=np.float32
        )

    def distances(self, rows: Sequence[int], vectors: Vectors) -> Distances:
        """From these questions (rows) to these vectors (columns); smaller is nearer."""
        wanted = self._prepared[list(rows)]
        found: Distances = wanted @ (_of_length_one(vectors) if self._space == "cosine" else vectors).T
        if self._space != "l2":
            return np.asarray(np.subtract(1, found, out=found))
        found *= -2
        found += (wanted * wanted).sum(axis=1)[:, None]
        found += (vectors * vectors).sum(axis=1)[None, :]
        return found


def count_nearer(field: Field, rows: Sequence[int], vectors: Vectors) -> NDArray[np.int64]:
    """For each of these questions how many of the vectors are nearer than its chunk, and how many as near."""
    found = np.zeros((len(rows), 2), dtype=np.int64)
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        found[start : start + AT_ONCE] = tallied(field.distances(some, vectors), field.own[list(some)][:, None])
    return found


def tallied(distances: Distances, own: Distances) -> NDArray[np.int64]:
    """By row how many distances are smaller than the chunk's own, and how many the same but for rounding."""
    close = CLOSE * (1 + np.abs(own))
    nearer = (distances < own - close).sum(axis=1)
    return np.stack([nearer, (distances <= own + close).sum(axis=1) - nearer], axis=1)


def _of_length_one(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))
