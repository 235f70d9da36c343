"""What a collection says of itself, in the metadata of Chroma, and what chunks look like there."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from befund.ports import EmbedderIdentity, Metadata

EMBEDDER = "befund_embedder"
DIMENSION = "befund_dimension"
CHUNKING = "befund_chunking"
CORPUS = "befund_corpus"
USES_ROLES = "befund_uses_roles"
ROLES = "roles"


class Record(Struct, frozen=True):
    """What Befund wrote down about a collection it made; all empty for another's.

    Attributes:
        embedder: What made its vectors.
        chunking: How its documents were cut.
        corpus: Hash over its documents.
        uses_roles: Whether a chunk with roles was ever written; None where others wrote it.
    """

    embedder: EmbedderIdentity | None = None
    chunking: str | None = None
    corpus: str | None = None
    uses_roles: bool | None = None


def read_record(metadata: Mapping[str, Any] | None) -> Record:
    """Read it; what is not of the kind we write counts as not there."""
    given = metadata or {}
    embedder, dimension = given.get(EMBEDDER), given.get(DIMENSION)
    made_here = isinstance(embedder, str) and isinstance(dimension, int)
    return Record(
        embedder=EmbedderIdentity(str(embedder), int(str(dimension))) if made_here else None,
        chunking=_text(given.get(CHUNKING)),
        corpus=_text(given.get(CORPUS)),
        uses_roles=given.get(USES_ROLES) is True if made_here or USES_ROLES in given else None,
    )


def changed(metadata: Mapping[str, Any] | None, **values: Any) -> dict[str, Any]:
    """The metadata with these values; without the setting of the distance, which Chroma takes for a change of it."""
    kept = {key: value for key, value in (metadata or {}).items() if not key.startswith("hnsw:")}
    return kept | {key: value for key, value in values.items() if value is not None}


def space_of(configuration: Mapping[str, Any]) -> str:
    """How the collection measures distances; Chroma's default where it does not say."""
    for kind in ("hnsw", "spann"):
        of_kind = configuration.get(kind) or {}
        if "space" in of_kind:
            return str(of_kind["space"])
    return "l2"


def written_metadata(metadata: Metadata, before: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A chunk's metadata as Chroma takes it: keys it had before are taken away, which Chroma would otherwise keep.

    Chroma knows no empty lists; roles that name nobody become an empty text.
    """
    gone: dict[str, Any] = dict.fromkeys(before or {})
    values = {key: _storable(value) for key, value in metadata.items()}
    return gone | values or None


def _storable(value: object) -> object:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value) or ""
    return value


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
