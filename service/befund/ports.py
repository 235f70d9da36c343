"""What the service needs from outside, each as a Protocol: adapters implement them, app.py chooses."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

from befund.contract import JobState, JudgeCalibration, Usage
from befund.core.datasets import Edition, Selection, StoredVersion
from befund.core.jobs import Job, JobAbout, JobCounts, JobItem
from befund.core.judged import Judged
from befund.core.judging import Item
from befund.core.monitors import Entry, Group, KeptEntry, Monitor, Period
from befund.core.runs import Identity, Record, Run

CallOutcome = Literal[
    "ok", "unusable", "truncated", "refused", "context_exceeded", "rejected", "limited", "unavailable", "cancelled"
]
"""How one request to a model ended; `rejected`: the endpoint does not take it as it is; `cancelled`: the deadline
passed, or nobody waits for it any more."""

Vectors = NDArray[np.float32]
"""One row a text."""

Metadata = Mapping[str, str | int | float | bool | Sequence[str]]
"""What a chunk says of itself. Under `roles` stands who may read it: a list, or names with commas between."""


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


class Answered(Struct, frozen=True):
    """A request that was answered and may come again.

    Attributes:
        caller: Who sent it.
        key: Its Idempotency-Key.
        request: Hash of its body.
        answer: The answer; None where it was too long to keep, so that a repetition is carried out again.
    """

    caller: str
    key: str
    request: str
    answer: bytes | None


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
    def jobs(self) -> "JobQueue":
        """Its jobs."""
        ...

    @property
    def monitors(self) -> "Monitors":
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


class EntryPage(Struct, frozen=True):
    """Some entries of a monitor, and the cursor of the next page; None on the last."""

    entries: list[KeptEntry]
    next: str | None


class Monitors(Protocol):
    """Judgments of online traffic by name and time. What a call wrote is safe when the call returns.

    Every method raises DependencyError `store-unavailable` where the store does not answer; those that name a monitor
    NotFoundError `unknown-monitor` where there is none.
    """

    async def append(self, name: str, entries: Sequence[Entry], *, answered: Answered | None = None) -> None:
        """Append entries to a monitor, which is made if it does not exist, and remember the answer: all, or nothing.

        Raises:
            ContradictionError: `too-many-monitors`.
            ConflictError: `answered-meanwhile`.
        """
        ...

    async def every(self) -> list[Monitor]:
        """Every monitor, by name."""
        ...

    async def one(self, name: str) -> Monitor:
        """One monitor."""
        ...

    async def groups(self, name: str, period: Period) -> list[Group]:
        """The entries of a period, counted by window and shape."""
        ...

    async def entries(self, name: str, period: Period, *, limit: int, before: str | None = None) -> EntryPage:
        """A page of the entries of a period, the newest first."""
        ...

    async def delete(self, name: str) -> None:
        """Delete a monitor and its entries."""
        ...

    async def prune(self, *, before: datetime | None, most: int) -> int:
        """Delete entries that are older, and the oldest of monitors that hold more; how many these were."""
        ...


class NewJob(Struct, frozen=True, kw_only=True):
    """A job to be stored; `key` and `request` (a hash) tell a repetition of what the caller sent before."""

    id: str
    caller: str
    key: str | None
    request: str
    about: JobAbout
    items: Sequence[Raw]


class JobQueue(Protocol):
    """Work in the background, which outlives the process that does it.

    Every method raises DependencyError `store-unavailable` where the store does not answer; those that name a job
    NotFoundError `unknown-job`.
    """

    async def put(self, new: NewJob) -> Job:
        """Store a job; the same request with the same key again gives the job that there is.

        Raises:
            ContradictionError: The key came with another request before.
        """
        ...

    async def job(self, job_id: str) -> Job:
        """One job."""
        ...

    async def items(self, job_id: str, *, first: int = 0, most: int | None = None) -> list[JobItem]:
        """Its answers from the `first` place on, in order, `most` of them, with what is known of them."""
        ...

    async def take(self, owner: str) -> Job | None:
        """The oldest job nobody works on, which is the owner's for a while; None where there is none."""
        ...

    async def keep(self, job_id: str, owner: str) -> bool:
        """Go on holding a job; whether it is still the owner's, and still wanted."""
        ...

    async def release(self, job_id: str, owner: str) -> None:
        """Let another one go on with a job."""
        ...

    async def put_result(self, job_id: str, place: int, result: bytes, *, failed: bool, cost: float) -> None:
        """Keep what came of one answer, in US dollars what it cost; the first that comes stays."""
        ...

    async def end(self, job_id: str, state: JobState, outcome: bytes | None) -> Job:
        """End a job, unless it has ended; what was to be judged is deleted."""
        ...

    async def counts(self) -> JobCounts:
        """How many jobs there are."""
        ...

    async def prune(self, *, before: datetime) -> int:
        """Delete the jobs that ended before; how many these were."""
        ...


class Judge(Protocol):
    """Looks at answers. A judge that fails raises; another one never takes its place unasked."""

    @property
    def name(self) -> str:
        """Its configured name."""
        ...

    @property
    def model(self) -> str | None:
        """The model it asks; None for rules, and where it asks several."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """Every model it may ask; none for rules, several for a jury or a cascade."""
        ...

    @property
    def rubric(self) -> str | None:
        """The version of its rubric; None for rules."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes with everything that can change a verdict, as `sha256:...`."""
        ...

    @property
    def concurrency(self) -> int:
        """How many items it makes sense to have with it at the same time."""
        ...

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        """Judge one answer.

        Args:
            item: The answer, with all that may be looked at.
            sample: Which of several independent samples; a judge without chance gives the same for each.
            use_cache: Whether an earlier result for exactly the same may be given.

        Raises:
            JudgeUnusableError: What it says cannot be used, also not on asking again.
            JudgeUnavailableError: It is down or limits us.
            JudgeDeadlineError: It did not answer in time.
        """
        ...

    async def ready(self) -> None:
        """Return if it can be asked.

        Raises:
            JudgeUnavailableError: It has been failing and is left alone for a while.
        """
        ...


class Judges(Protocol):
    """Every configured judge."""

    def named(self, name: str, *, forced: bool = False) -> Judge:
        """The judge of this name; `default` is the one that judges where a request names none.

        Args:
            name: Its name.
            forced: Whether that one of it is meant that decides where it would abstain.

        Raises:
            ContradictionError: `unknown-judge`; `cannot-force`, of one that decides for itself when it abstains.
        """
        ...

    def label(self, name: str) -> str | None:
        """The configured name that is meant; None where there is no such judge."""
        ...


class Cache(Protocol):
    """Remembers what was worked out before. It may forget at any time."""

    async def get(self, key: str) -> bytes | None:
        """What was put under this key, if it is still held."""
        ...

    async def put(self, key: str, value: bytes) -> None:
        """Remember a value."""
        ...


class JudgeMeter(Protocol):
    """Counts what judges do."""

    def called(self, outcome: CallOutcome, *, judge: str, model: str, seconds: float) -> None:
        """One request to a model ended."""
        ...

    def used(self, usage: Usage, *, judge: str, model: str) -> None:
        """One reply used so much; a part that is None is counted as unknown."""
        ...

    def retried(self, judge: str) -> None:
        """A request is sent once more for the same answer."""
        ...

    def looked_up(self, *, found: bool) -> None:
        """The cache was asked."""
        ...

    def in_flight(self, change: int) -> None:
        """One request more (1) or less (-1) is under way."""
        ...
