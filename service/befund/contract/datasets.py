"""Stored data sets and their versions."""

from datetime import datetime

from befund.contract.base import Content, Response


class DatasetVersion(Response, frozen=True, kw_only=True):
    """One version of a stored data set.

    Attributes:
        version: Hash over everything below that says what the data set is, as `sha256:...`.
        questions_hash: Hash over the questions, in any order.
        mapping_hash: Hash over the evidence mapping.
        generated: Whether the questions were generated rather than written.
        questions: How many there are.
        splits: How many by split; those without one are not counted here.
        behaviors: How many by expected behaviour.
        content: Whether its texts are kept (`full`), or ids, gold, tags and hashes alone (`ids`).
        created: When it was first stored, in UTC.
    """

    version: str
    questions_hash: str
    mapping_hash: str
    generated: bool
    questions: int
    splits: dict[str, int]
    behaviors: dict[str, int]
    content: Content
    created: datetime


class StoredDataset(Response, frozen=True, kw_only=True):
    """A stored data set: its versions, the one its name stands for first."""

    name: str
    versions: list[DatasetVersion]


class DatasetList(Response, frozen=True, kw_only=True):
    """Every stored data set, by name."""

    datasets: list[StoredDataset]


class DatasetPut(Response, frozen=True, kw_only=True):
    """Answer of PUT /datasets/{name}. `created` says whether this content is new under this name."""

    name: str
    created: bool
    version: DatasetVersion


class DatasetDeleted(Response, frozen=True, kw_only=True):
    """What was deleted, and the versions (with their texts) that stay because runs were measured on them."""

    name: str
    versions: list[str]
    kept_for_runs: list[str]
