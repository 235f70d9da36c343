"""Where chunks and their vectors are."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.ports.embedding import EmbedderIdentity, Vectors

Metadata = Mapping[str, str | int | float | bool | Sequence[str]]
"""What a chunk says of itself. Under `roles` stands who may read it: a list, or names with commas between."""


class Collection(Struct, frozen=True):
    """A collection of the index and how it was made.

    Attributes:
        name: Its name.
        count: How many chunks it holds.
        embedder: What made its vectors; None where nobody recorded it (not made by Befund).
        dimension: Length of its vectors; None while it is empty.
        chunking: How its documents were cut, as `markdown/700/0`; None where not recorded.
        corpus: Hash over the documents in it, as `sha256:...`; None where not recorded.
        uses_roles: Whether any chunk says who may read it; a chunk that does not is then denied to all.
        space: How distances are measured: `cosine`, `l2` or `ip`.
        damaged: Whether its vectors are lost or unreadable; it must be ingested anew.
    """

    name: str
    count: int
    embedder: EmbedderIdentity | None
    dimension: int | None
    chunking: str | None
    corpus: str | None
    uses_roles: bool
    space: str = "cosine"
    damaged: bool = False


class IndexedChunk(Struct, frozen=True, gc=False):
    """A chunk as the index holds it."""

    id: str
    text: str | None
    metadata: Metadata


class Hit(Struct, frozen=True, gc=False):
    """One search result; a smaller distance is nearer."""

    id: str
    distance: float


class Index(Protocol):
    """Collections of chunks with their vectors.

    Every method that names a collection raises NotFoundError `unknown-collection` where there is none, and
    DependencyError where the index is down (`index-down`), damaged (`index-damaged`), or owned by another process
    (`index-in-use`).
    """

    async def collections(self) -> list[Collection]:
        """Every collection, by name."""
        ...

    async def collection(self, name: str) -> Collection:
        """One collection."""
        ...

    async def search(
        self, name: str, vectors: Vectors, *, top_k: int, where: Mapping[str, Any] | None = None
    ) -> list[list[Hit]]:
        """The nearest chunks of each vector, nearest first: at most `top_k`, fewer where the collection holds fewer.

        Raises:
            ConflictError: `dimension-mismatch`.
            ContradictionError: The filter cannot be read.
        """
        ...

    async def held(self, name: str, ids: Sequence[str]) -> frozenset[str]:
        """Which of these chunks the collection holds."""
        ...

    async def chunks(self, name: str, ids: Sequence[str] | None = None, *, texts: bool = True) -> list[IndexedChunk]:
        """These chunks, those that exist (all of them where `ids` is None), with their texts or without."""
        ...

    async def create(
        self, name: str, *, embedder: EmbedderIdentity, chunking: str, corpus: str | None = None
    ) -> Collection:
        """Make a collection, or give the one that exists.

        Raises:
            ConflictError: It exists and was made by another embedder (`embedder-mismatch`).
            ContradictionError: The index does not take the name (`bad-collection-name`).
        """
        ...

    async def write(self, name: str, chunks: Sequence[IndexedChunk], vectors: Vectors) -> None:
        """Add chunks, or replace those with the same ids.

        Raises:
            ConflictError: `dimension-mismatch`.
            ContradictionError: An id stands twice, or a vector is zero or not finite.
        """
        ...

    async def delete(self, name: str, ids: Sequence[str]) -> None:
        """Take chunks out; ids it does not hold are passed over."""
        ...

    async def describe(self, name: str, *, chunking: str, corpus: str | None) -> None:
        """Record how the collection was made: its corpus once all chunks are written, None while they are not."""
        ...

    async def drop(self, name: str) -> None:
        """Delete the collection, a damaged one too."""
        ...

    async def ready(self) -> None:
        """Return if the index can be asked.

        Raises:
            DependencyError: It cannot, or not yet.
        """
        ...


class ProbedChunk(Struct, frozen=True):
    """A chunk with the vector it is found by."""

    chunk: IndexedChunk
    vector: NDArray[np.float32]


class Contest(Struct, frozen=True):
    """A chunk whose rank is asked for: the question's vector, the chunk's, and the filter it has passed."""

    question: NDArray[np.float32]
    chunk: NDArray[np.float32]
    where: Mapping[str, Any] | None = None


class Standing(Struct, frozen=True):
    """Where a chunk stands: its rank, and the last of the ranks it shares with chunks just as near."""

    rank: int
    last: int


class IndexProbe(Protocol):
    """Looks into a collection for why a chunk does not come back. Every method raises as those of `Index` do."""

    async def look_at(self, name: str, ids: Sequence[str]) -> dict[str, ProbedChunk]:
        """These chunks, those that exist, with texts, metadata and vectors."""
        ...

    async def of_documents(self, name: str, documents: Sequence[str]) -> list[IndexedChunk]:
        """Every chunk of these documents."""
        ...

    async def check_filter(self, name: str, where: Mapping[str, Any]) -> None:
        """Return if the filter can be carried out.

        Raises:
            ContradictionError: `bad-filter`.
        """
        ...

    async def ranks(self, name: str, contests: Sequence[Contest], *, deepest: int) -> list[Standing]:
        """For each contest where its chunk stands among those that pass the filter, the nearest to the question first.

        Args:
            name: The collection.
            contests: The chunks and questions.
            deepest: The last rank of interest; whatever lies beyond is `deepest` + 1.
        """
        ...
