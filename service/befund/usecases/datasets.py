"""Stored data sets: put, read, listed, deleted, and the bundled one."""

import msgspec
from msgspec import Raw, Struct

from befund.bundled import bundled
from befund.contract import Content, DatasetDeleted, DatasetList, DatasetPut, DatasetVersion, StoredDataset
from befund.core.datasets import Edition, StoredVersion, edition_of
from befund.core.decoding import decode
from befund.core.names import read_name, read_reference
from befund.core.repeated import refuse_repeated_fields, without
from befund.core.retrieval.envelope import LazyDataset
from befund.ports import Store

BUNDLED = "teralune"
_DATASET = msgspec.json.Decoder(LazyDataset)


class Datasets(Struct, frozen=True):
    """What can be done with stored data sets; `content` says whether texts are kept."""

    store: Store
    content: Content

    def read(self, body: bytes) -> Edition:
        """Check a data set that is to be stored, and take from it what is kept.

        Raises:
            MalformedRequestError: It does not decode, or names a field twice.
            ContradictionError: It contradicts itself.
        """
        dataset = decode(body, _DATASET)
        refuse_repeated_fields(without(body, dataset.questions, [dataset.evidence_mapping]), LazyDataset)
        return edition_of(dataset, content=self.content)

    async def put(self, name: str, edition: Edition) -> DatasetPut:
        """Store a version under a name, which stands for it from now on."""
        written = await self.store.put_dataset(read_name(name), edition)
        return DatasetPut(name=name, created=written.is_new, version=described(written.stored))

    async def every(self) -> DatasetList:
        """All of them with all of their versions."""
        found = await self.store.datasets()
        return DatasetList(
            datasets=[StoredDataset(name=name, versions=list(map(described, each))) for name, each in found.items()]
        )

    async def get(self, reference: str) -> Edition:
        """One version with its questions."""
        return await self.store.dataset(read_reference(reference))

    async def delete(self, reference: str) -> DatasetDeleted:
        """Delete every version of a name, or a fixed one; versions that runs were measured on stay for them."""
        removed = await self.store.delete_dataset(read_reference(reference))
        name, _, _ = reference.partition("@")
        return DatasetDeleted(name=name, versions=removed.versions, kept_for_runs=removed.kept_for_runs)

    async def put_bundled(self) -> None:
        """Store the data set that comes with Befund where it is not stored yet."""
        edition = edition_of(bundled_dataset(), content=self.content)
        stored = (await self.store.datasets()).get(BUNDLED, [])
        if edition.version.hash not in {each.version.hash for each in stored}:
            await self.store.put_dataset(BUNDLED, edition)


def bundled_dataset() -> LazyDataset:
    """The data set that comes with Befund."""
    folder = bundled(f"{BUNDLED}/questions.jsonl", f"{BUNDLED}/evidence_mapping.json") / BUNDLED
    lines = (folder / "questions.jsonl").read_bytes().splitlines()
    return LazyDataset(
        questions=[Raw(line) for line in lines if line.strip()],
        name=BUNDLED,
        evidence_mapping=Raw((folder / "evidence_mapping.json").read_bytes()),
    )


def described(stored: StoredVersion) -> DatasetVersion:
    """A version as callers see it."""
    version = stored.version
    return DatasetVersion(
        version=version.hash,
        questions_hash=version.questions_hash,
        mapping_hash=version.mapping_hash,
        generated=version.generated,
        questions=version.questions,
        splits=version.splits,
        behaviors=version.behaviors,
        content=version.content,
        created=stored.created,
    )
