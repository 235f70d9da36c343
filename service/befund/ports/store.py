"""Where data sets, runs and answers are kept."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from befund.contract import JudgeCalibration
from befund.core.datasets import Edition, Selection, StoredVersion
from befund.core.runs import Identity, Record, Run
from befund.ports.answered import Answered
from befund.ports.jobs import JobQueue
from befund.ports.monitors import Monitors


class DatasetWritten(Struct, frozen=True):
    """A stored version, and whether it is new under its name."""

    stored: StoredVersion
    is_new: bool


class DatasetRemoved(Struct, frozen=True):
    """Hashes of the versions that a name lost, and of those among them that stay since runs need them."""

    versions: list[str]
    kept_for_runs: list[str]


class RunPage(Struct, frozen=True):
    """Some runs, and the cursor of the next page; None on the last."""

    runs: list[Run]
    next: str | None


class RunWrite(Struct, frozen=True, kw_only=True):
    """One write to a run, all of it or nothing.

    Attributes:
        name: The run.
        identity: What it is; a stored run must be the same, or `replace`d.
        dataset_name: What its data set is called; None for one sent inline.
        edition: The data set version to store where the store does not hold it; None where it must hold it.
        records: What was found, in portions; a question's record replaces an earlier one. Read once.
        replace: Begin the run anew.
        created: When it was first written, for one that comes from elsewhere.
    """

    name: str
    identity: Identity
    dataset_name: str | None
    edition: Edition | None
    records: Iterable[Sequence[Record]]
    replace: bool = False
    created: datetime | None = None


class Store(Protocol):
    """Data sets, runs and jobs. What a call wrote is safe when the call returns.

    Every method raises DependencyError `store-unavailable` where the store does not answer. References to data sets
    are `name` (its newest version), `name@HASH` or `name@PREFIX`; one that names nothing is NotFoundError
    `unknown-dataset`, an unknown run NotFoundError `unknown-run`.
    """

    @property
    def jobs(self) -> JobQueue:
        """Its jobs."""
        ...

    @property
    def monitors(self) -> Monitors:
        """Its monitors."""
        ...

    async def open(self) -> None:
        """Make ready: connect, bring the tables up to date."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...

    async def ask(self) -> None:
        """Raise where the store does not answer."""
        ...

    async def put_dataset(self, name: str, edition: Edition) -> DatasetWritten:
        """Store a version and let the name stand for it."""
        ...

    async def datasets(self) -> dict[str, list[StoredVersion]]:
        """Every data set's versions by name, the one the name stands for first."""
        ...

    async def dataset(self, reference: str) -> Edition:
        """One data set version with its questions."""
        ...

    async def dataset_version(self, version: str) -> Edition:
        """The version of this hash, whatever it is called."""
        ...

    async def selection(self, reference: str, question_ids: Sequence[str]) -> Selection:
        """Some questions of one data set version; ids it does not have are passed over."""
        ...

    async def selection_of_version(self, version: str, question_ids: Sequence[str]) -> Selection:
        """The same of the version of this hash, whatever it is called."""
        ...

    async def delete_dataset(self, reference: str) -> DatasetRemoved:
        """Take a name from all of its versions, or from a fixed one; what no run needs is deleted."""
        ...

    async def write_run(
        self, write: RunWrite | None, *, answered: Answered | None = None, measured_test_of: str | None = None
    ) -> None:
        """Write to a run, remember the answer, count a measurement of a test split: all of it, or nothing.

        Raises:
            ConflictError: The stored run is another (`run-conflict`), or the answer to this key was remembered
                meanwhile (`answered-meanwhile`).
        """
        ...

    async def runs(self, *, limit: int, before: str | None = None) -> RunPage:
        """A page of runs, the last written first."""
        ...

    async def run(self, name: str) -> Run:
        """One run without its records."""
        ...

    async def records(self, run: Run, *, after: int | None = None, limit: int) -> list[Record]:
        """Records of so many questions of a run, in the order of the data set, from behind a position.

        Raises:
            NotFoundError: The run was deleted, or begun anew, and nothing is left behind that position.
        """
        ...

    async def delete_run(self, name: str) -> None:
        """Delete a run and its records."""
        ...

    async def delete_question(self, name: str, question_id: str) -> None:
        """Delete what a run holds about one question (NotFoundError `unknown-question`)."""
        ...

    async def answered(self, caller: str, key: str) -> Answered | None:
        """The answer to an earlier request, for a day."""
        ...

    async def test_measurements(self, dataset: str) -> int:
        """How often the test split of a data set was measured."""
        ...

    async def put_calibration(self, name: str, fingerprint: str, found: Mapping[str, JudgeCalibration]) -> None:
        """Keep how a judge agrees with people, by dimension, in place of what has this name."""
        ...

    async def calibrations(self, fingerprints: Sequence[str]) -> dict[str, dict[str, JudgeCalibration]]:
        """The newest calibration of each of these judges that has one."""
        ...

    async def prune(self, *, before: datetime) -> int:
        """Delete the runs whose last write is older; how many these were."""
        ...
