"""Content hashes: two data sets with the same content have the same hash, however they are written down."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from befund.core.retrieval.envelope import NO_OBJECT, Grades, LazyQuestion, metadata_of


class ContentHash:
    """Collects questions; the hash depends on what they say, not on their order or formatting."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    def add(self, question: LazyQuestion, grades: Grades) -> None:
        """Take in one question."""
        rest = msgspec.structs.replace(question, relevant=NO_OBJECT, metadata=NO_OBJECT)
        metadata = {} if question.metadata is NO_OBJECT else metadata_of(question)
        graded = grades if isinstance(grades, dict) else dict.fromkeys(grades, 1.0)
        self._digests[question.id] = sha256(_ENCODER.encode((rest, graded, metadata))).digest()

    def of(self, question: str) -> str:
        """The hash of one question that was taken in, as `sha256:...`."""
        return f"sha256:{self._digests[question].hex()}"

    def hexdigest(self) -> str:
        """The hash of all questions, as `sha256:...`."""
        return _total(self._digests)


def total_hash(hashes: Mapping[str, str]) -> str:
    """The hash of all questions, from that of each by id."""
    return _total({question: bytes.fromhex(each.removeprefix("sha256:")) for question, each in hashes.items()})


def hash_of(value: Any) -> str:
    """The hash of any JSON value, as `sha256:...`; keys in any order give the same."""
    return f"sha256:{sha256(_ENCODER.encode(value)).hexdigest()}"


def _total(digests: Mapping[str, bytes]) -> str:
    total = sha256()
    for question in sorted(digests):
        total.update(digests[question])
    return f"sha256:{total.hexdigest()}"


_ENCODER = msgspec.json.Encoder(order="deterministic")
