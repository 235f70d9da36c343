"""The two clients. Their verbs are the same; see `_exchange` for what they share."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from befund.contract import (
    CalibrationResponse,
    ChunkingOptions,
    CompareResponse,
    Dataset,
    DatasetDeleted,
    DatasetList,
    DatasetPut,
    DiagnoseBatchResponse,
    Diagnosis,
    EvidenceMappingResponse,
    Health,
    IngestResponse,
    JobAnswer,
    JudgeBatchResponse,
    Judgment,
    MonitorAnswer,
    MonitorEntries,
    MonitorList,
    Readiness,
    RetrievalOptions,
    RetrieveEvalResponse,
    RunAnswer,
    RunImported,
    RunList,
    RunQuestion,
    RunRejudged,
)
from befund_client import _comparing, _diagnosing, _documents, _judging, _monitors, _requests
from befund_client._comparing import CompareKeywords, RejudgeKeywords, SideLike
from befund_client._diagnosing import CaseLike, DiagnoseBatchKeywords, DiagnoseKeywords
from befund_client._documents import DocumentLike, EvidenceLike, Progress
from befund_client._exchange import Call, Exchange, Retry
from befund_client._judging import CalibrateKeywords, CalibrationItemLike, ItemLike, JudgeBatchKeywords, JudgeKeywords
from befund_client._monitors import TimeKeywords
from befund_client._requests import DatasetLike, GivenDataset, RankingsLike, RetrieveEvalKeywords
from befund_client._settings import resolve

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class Client:
    """A caller's view of a Befund service.

    Connections are pooled: make one client, use it from any number of threads, and close it (or use `with`).

    Args:
        url: Address of the service; else BEFUND_URL, else http://127.0.0.1:8080.
        key: API key; else BEFUND_API_KEY, else none.
        timeout: Seconds the service may stay silent before the call fails.
        retry: How connection errors, 429, 502, 503 and 504 are retried.
        transport: An httpx transport in place of the network.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 60.0,
        retry: Retry | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        from befund_client._http import Connection  # httpx is loaded when it is needed, not by the import

        self._retry = retry or Retry()
        self._connection = Connection(resolve(url, key, timeout), transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def retrieve_eval(
        self, dataset: DatasetLike, rankings: RankingsLike | RetrievalOptions, **options: Unpack[RetrieveEvalKeywords]
    ) -> RetrieveEvalResponse:
        """Measure rankings, or a live search, against the gold of a data set.

        Args:
            dataset: The name of a stored data set, a `Dataset`, or the same as plain dicts.
            rankings: By question id: chunk ids in rank order, entries with score and roles, or a map from id to score;
                or `RetrievalOptions(collection="...")`, to search a collection of the service.
            options: `k`, `level`, `run` and the others of `befund.contract.RetrieveEvalOptions`.

        Raises:
            ProblemError: The service refused the request; the problem document says why.
            TransportError: No answer came.
            ResponseError: The answer is not what the contract says.
        """
        return self._carry_out(_requests.retrieve_eval_call(_requests.retrieve_eval_body(dataset, rankings, **options)))

    def judge(self, item: ItemLike, **options: Unpack[JudgeKeywords]) -> Judgment:
        """Judge one answer: whether it is correct, faithful to its context, and the expected behaviour.

        Args:
            item: A `JudgeItem`, or the same as a plain dict: `answer`, and `question`, `context`, `expected_facts`, ...
                or `question_id` with a `dataset`.
            options: `judge`, `dataset`, `run` and the others of `befund.contract.JudgeOptions`.

        Raises:
            ProblemError: The service refused the request, or the judge failed; the problem document says why.
            TransportError: No answer came.
            ResponseError: The answer is not what the contract says.
            TypeError: An option does not exist.
        """
        return self._carry_out(_judging.judge_call(item, **options))

    def judge_batch(self, items: Iterable[ItemLike], **options: Unpack[JudgeBatchKeywords]) -> JudgeBatchResponse:
        """Judge many answers, at most 200; what fails is the problem of its item. See `judge`.

        Args:
            items: The answers.
            options: Those of `judge`, and `max_cost_usd`.

        Returns:
            `results`, one an answer in the order sent, with `judgment` or `problem`, and `summary`, the rates over all.

        Raises:
            ValueError: There are more; `start_judging` takes them.
        """
        return self._carry_out(_judging.judge_batch_call(items, **options))

    def start_judging(self, items: Iterable[ItemLike], **options: Unpack[JudgeBatchKeywords]) -> JobAnswer:
        """Have up to 10,000 answers judged in the background; see `judge_batch`. `job` tells how far that is."""
        return self._carry_out(_judging.start_judging_call(items, **options))

    def calibrate(
        self, name: str, items: Iterable[CalibrationItemLike], **options: Unpack[CalibrateKeywords]
    ) -> CalibrationResponse:
        """Compare a judge with people, on at most 2,000 answers; what is found rides along on its verdicts.

        Args:
            name: What it is stored under; needs a key with the scope `admin`.
            items: Answers as `judge` takes them, each with `human`, as `{"correct": True}`; see `read_calibration`.
            options: `judge`, `votes`, `dataset` and the others of `befund.contract.CalibrationRequest`.

        Raises:
            ProblemError, TransportError, ResponseError, TypeError: As `judge`.
        """
        return self._carry_out(_judging.calibrate_call(name, items, **options))

    def job(self, job_id: str) -> JobAnswer:
        """A job: how far it is and, once it is done, its result."""
        return self._carry_out(_judging.job_call("GET", job_id))

    def cancel_job(self, job_id: str) -> JobAnswer:
        """End a job; what was judged of it stays in its run."""
        return self._carry_out(_judging.job_call("DELETE", job_id))

    def compare(self, baseline: SideLike, candidate: SideLike, **options: Unpack[CompareKeywords]) -> CompareResponse:
        """Compare two measurements question by question, and decide by gates.

        Args:
            baseline: The name of a stored run, a `CompareSide`, or the same as a plain dict: `{"run": "main", "k": 3}`,
                or `{"rankings": {...}, "k": 3}` with a `dataset` among the options.
            candidate: The same.
            options: `gates`, `metrics`, `dataset` and the others of `befund.contract.CompareRequest`.

        Raises:
            ProblemError: The service refused the request; the problem document says why.
            TransportError: No answer came.
            ResponseError: The answer is not what the contract says.
            TypeError: An option does not exist.
        """
        return self._carry_out(_comparing.compare_call(_comparing.compare_body(baseline, candidate, **options)))

    def diagnose(self, item: CaseLike, **options: Unpack[DiagnoseKeywords]) -> Diagnosis:
        """Say what became of an answer, and where it went wrong.

        Args:
            item: A `DiagnoseItem`, or the same as a plain dict: `answer`, `context`, and `question_id` with a `dataset`
                or `question`, `expected_facts`, `evidence`, ...; `judgment` where it is judged already.
            options: `collection`, `top_k`, `where` to look into an index; `dataset`, `judge`, `run` and the others of
                `befund.contract.DiagnoseBatchOptions`.

        Raises:
            ProblemError: The service refused the request, or the judge failed; the problem document says why.
            TransportError: No answer came.
            ResponseError: The answer is not what the contract says.
            TypeError: An option does not exist.
        """
        return self._carry_out(_diagnosing.diagnose_call(item, **options))

    def diagnose_batch(
        self, items: Iterable[CaseLike], **options: Unpack[DiagnoseBatchKeywords]
    ) -> DiagnoseBatchResponse:
        """Diagnose many answers, at most 1,000; what fails is the problem of its item. See `diagnose`.

        Raises:
            ValueError: There are more; send them in parts.
        """
        return self._carry_out(_diagnosing.diagnose_batch_call(items, **options))

    def put_dataset(self, name: str, dataset: GivenDataset) -> DatasetPut:
        """Store a data set under a name; the same content again makes no new version."""
        return self._carry_out(_requests.put_dataset_call(name, dataset))

    def dataset(self, reference: str) -> Dataset:
        """A stored data set: `name` for the one put last, `name@HASH` for a fixed version."""
        return self._carry_out(_requests.dataset_call(reference))

    def datasets(self) -> DatasetList:
        """Every stored data set with its versions."""
        return self._carry_out(_requests.datasets_call())

    def delete_dataset(self, reference: str) -> DatasetDeleted:
        """Delete a data set, or a fixed version of it; versions that runs need stay for them."""
        return self._carry_out(_requests.delete_dataset_call(reference))

    def runs(self, *, limit: int = 50, cursor: str | None = None) -> RunList:
        """A page of runs, the last written first; `cursor` is `next` of the page before."""
        return self._carry_out(_requests.runs_call(limit, cursor))

    def run(self, name: str, *, limit: int = 100, cursor: str | None = None) -> RunAnswer:
        """A run in figures, with a page of its records; `cursor` is `next` of the page before."""
        return self._carry_out(_requests.run_call(name, limit, cursor))

    def run_question(self, run: str, question_id: str) -> RunQuestion:
        """What a run holds about one question: its ranking, judgment and diagnosis, and the question."""
        return self._carry_out(_requests.run_question_call(run, question_id))

    def delete_run(self, name: str) -> None:
        """Delete a run with all of its records."""
        self._carry_out(_requests.delete_run_call(name))

    def delete_question(self, run: str, question_id: str) -> None:
        """Delete everything that a run holds about one question."""
        self._carry_out(_requests.delete_question_call(run, question_id))

    def export_run(self, name: str) -> bytes:
        """A run as one file, for `import_run` of any service."""
        return self._carry_out(_requests.export_run_call(name))

    def import_run(self, name: str, bundle: bytes, *, replace_run: bool = False) -> RunImported:
        """Store a run that was exported; what differs from a run of that name is a conflict unless it is replaced."""
        return self._carry_out(_requests.import_run_call(name, bundle, replace_run=replace_run))

    def promote_run(self, name: str, target: str) -> RunImported:
        """Make one run what another is, records and all: `pr-42` becomes `main` once it is merged."""
        return self.import_run(target, self.export_run(name), replace_run=True)

    def rejudge_run(self, name: str, target: str, **options: Unpack[RejudgeKeywords]) -> RunRejudged:
        """Judge the stored answers of a run anew, into another run beside what retrieval found.

        Args:
            name: The run.
            target: Where the judgments go.
            options: `judge`, `questions` and the others of `befund.contract.RejudgeRequest`.
        """
        return self._carry_out(_comparing.rejudge_call(name, target, **options))

    def monitors(self) -> MonitorList:
        """Every monitor."""
        return self._carry_out(_monitors.monitors_call())

    def monitor(self, name: str, *, step: int | None = None, **time: Unpack[TimeKeywords]) -> MonitorAnswer:
        """A time of a monitor in figures; `judge(..., monitor="prod")` appends to it.

        Args:
            name: The monitor.
            step: Seconds of the windows it is to be cut into.
            time: `since` and `until`, or `window` in seconds; by default the last day.

        Raises:
            NotFoundError: There is no such monitor.
            ProblemError, TransportError, ResponseError: As `retrieve_eval`.
            ValueError: A time has no offset.
        """
        return self._carry_out(_monitors.monitor_call(name, step, **time))

    def monitor_entries(
        self, name: str, *, limit: int = 50, cursor: str | None = None, **time: Unpack[TimeKeywords]
    ) -> MonitorEntries:
        """A page of the answers of a monitor, the newest first; `cursor` is `next` of the page before."""
        return self._carry_out(_monitors.monitor_entries_call(name, limit, cursor, **time))

    def delete_monitor(self, name: str) -> None:
        """Delete a monitor with all of its answers."""
        self._carry_out(_monitors.delete_monitor_call(name))

    def ingest(
        self,
        collection: str,
        documents: Iterable[DocumentLike],
        *,
        chunking: ChunkingOptions | None = None,
        replace: bool = False,
        prune: bool = False,
        progress: Progress = lambda done: None,
    ) -> IngestResponse:
        """Bring a collection to hold these documents; those it holds as they are are not embedded again.

        Many documents go in several requests; interrupted, the same call again completes it.

        Args:
            collection: Its name; it is made if it does not exist.
            documents: The documents, or the same as plain dicts: `id`, Markdown `text`, and `metadata`.
            chunking: How to cut them; None means as the collection was cut, else 700 characters without overlap.
            replace: Make the collection anew where it was made with another embedder or chunking; implies `prune`.
            prune: Remove documents of the collection that are not among these.
            progress: Told about documents that are done.

        Raises:
            ConflictError: The collection was made with another embedder or chunking.
            ProblemError: The service refused the request for another reason; the problem document says why.
            TransportError: No answer came.
            ResponseError: The answer is not what the contract says.
            TypeError: A document is none.
            ValueError: Two documents have one id.
        """
        answers = []
        calls = _documents.ingest_calls(collection, documents, chunking=chunking, replace=replace, prune=prune)
        for each in calls:
            answers.append(self._carry_out(each.call))
            progress(each.documents)
        return _documents.together(answers)

    def map_evidence(
        self, collection: str, evidence: EvidenceLike = (), *, chunks: Iterable[str] = ()
    ) -> EvidenceMappingResponse:
        """Find the chunks of a collection that hold quotes, and which of some chunk ids it does not hold.

        Args:
            collection: Its name.
            evidence: What to find: `QuotedEvidence`, or a data set, as `read_dataset` gives it.
            chunks: Ids to look up.

        Raises:
            TypeError: The evidence is neither.
            NotFoundError: There is no such collection.
            ProblemError, TransportError, ResponseError: As `retrieve_eval`.
        """
        return self._carry_out(_documents.map_evidence_call(collection, evidence, chunks))

    def post(self, path: str, body: bytes) -> bytes:
        """Send a JSON body as it stands and return the answer as it came, for callers that keep the wire form."""
        return self._carry_out(_requests.post_call(path, body))

    def health(self) -> Health:
        """Ask whether the service is alive."""
        return self._carry_out(_requests.health_call())

    def ready(self) -> Readiness:
        """Ask whether the service can take work, and how its dependencies are."""
        return self._carry_out(_requests.ready_call())

    def _carry_out(self, call: Call[T]) -> T:
        headers = call_headers(call)
        exchange = Exchange(call, self._retry, request_id=headers["X-Request-ID"], started=time.monotonic())
        while True:
            outcome = self._connection.send(call, headers)
            delay = exchange.delay(outcome, now=time.monotonic())
            if delay is None:
                return exchange.result(outcome)
            self._connection.wait(delay)


class AsyncClient:
    """The same verbs for asyncio; see `Client`. One client belongs to one event loop."""

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 60.0,
        retry: Retry | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        from befund_client._http import AsyncConnection  # as in Client

        self._retry = retry or Retry()
        self._connection = AsyncConnection(resolve(url, key, timeout), transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    async def retrieve_eval(
        self, dataset: DatasetLike, rankings: RankingsLike | RetrievalOptions, **options: Unpack[RetrieveEvalKeywords]
    ) -> RetrieveEvalResponse:
        """Measure rankings, or a live search, against the gold of a data set; see `Client.retrieve_eval`."""
        body = _requests.retrieve_eval_body(dataset, rankings, **options)
        return await self._carry_out(_requests.retrieve_eval_call(body))

    async def judge(self, item: ItemLike, **options: Unpack[JudgeKeywords]) -> Judgment:
        """Judge one answer; see `Client.judge`."""
        return await self._carry_out(_judging.judge_call(item, **options))

    async def judge_batch(self, items: Iterable[ItemLike], **options: Unpack[JudgeBatchKeywords]) -> JudgeBatchResponse:
        """Judge many answers; see `Client.judge_batch`."""
        return await self._carry_out(_judging.judge_batch_call(items, **options))

    async def start_judging(self, items: Iterable[ItemLike], **options: Unpack[JudgeBatchKeywords]) -> JobAnswer:
        """Have up to 10,000 answers judged in the background; see `judge_batch`. `job` tells how far that is."""
        return await self._carry_out(_judging.start_judging_call(items, **options))

    async def calibrate(
        self, name: str, items: Iterable[CalibrationItemLike], **options: Unpack[CalibrateKeywords]
    ) -> CalibrationResponse:
        """Compare a judge with people; see `Client.calibrate`."""
        return await self._carry_out(_judging.calibrate_call(name, items, **options))

    async def job(self, job_id: str) -> JobAnswer:
        """A job: how far it is and, once it is done, its result."""
        return await self._carry_out(_judging.job_call("GET", job_id))

    async def cancel_job(self, job_id: str) -> JobAnswer:
        """End a job; what was judged of it stays in its run."""
        return await self._carry_out(_judging.job_call("DELETE", job_id))

    async def compare(
        self, baseline: SideLike, candidate: SideLike, **options: Unpack[CompareKeywords]
    ) -> CompareResponse:
        """Compare two measurements question by question, and decide by gates; see `Client.compare`."""
        return await self._carry_out(_comparing.compare_call(_comparing.compare_body(baseline, candidate, **options)))

    async def diagnose(self, item: CaseLike, **options: Unpack[DiagnoseKeywords]) -> Diagnosis:
        """Say what became of an answer, and where it went wrong; see `Client.diagnose`."""
        return await self._carry_out(_diagnosing.diagnose_call(item, **options))

    async def diagnose_batch(
        self, items: Iterable[CaseLike], **options: Unpack[DiagnoseBatchKeywords]
    ) -> DiagnoseBatchResponse:
        """Diagnose many answers; see `Client.diagnose_batch`."""
        return await self._carry_out(_diagnosing.diagnose_batch_call(items, **options))

    async def put_dataset(self, name: str, dataset: GivenDataset) -> DatasetPut:
        """Store a data set under a name; the same content again makes no new version."""
        return await self._carry_out(_requests.put_dataset_call(name, dataset))

    async def dataset(self, reference: str) -> Dataset:
        """A stored data set: `name` for the one put last, `name@HASH` for a fixed version."""
        return await self._carry_out(_requests.dataset_call(reference))

    async def datasets(self) -> DatasetList:
        """Every stored data set with its versions."""
        return await self._carry_out(_requests.datasets_call())

    async def delete_dataset(self, reference: str) -> DatasetDeleted:
        """Delete a data set, or a fixed version of it; versions that runs need stay for them."""
        return await self._carry_out(_requests.delete_dataset_call(reference))

    async def runs(self, *, limit: int = 50, cursor: str | None = None) -> RunList:
        """A page of runs, the last written first; `cursor` is `next` of the page before."""
        return await self._carry_out(_requests.runs_call(limit, cursor))

    async def run(self, name: str, *, limit: int = 100, cursor: str | None = None) -> RunAnswer:
        """A run in figures, with a page of its records; `cursor` is `next` of the page before."""
        return await self._carry_out(_requests.run_call(name, limit, cursor))

    async def run_question(self, run: str, question_id: str) -> RunQuestion:
        """What a run holds about one question: its ranking, judgment and diagnosis, and the question."""
        return await self._carry_out(_requests.run_question_call(run, question_id))

    async def delete_run(self, name: str) -> None:
        """Delete a run with all of its records."""
        await self._carry_out(_requests.delete_run_call(name))

    async def delete_question(self, run: str, question_id: str) -> None:
        """Delete everything that a run holds about one question."""
        await self._carry_out(_requests.delete_question_call(run, question_id))

    async def export_run(self, name: str) -> bytes:
        """A run as one file, for `import_run` of any service."""
        return await self._carry_out(_requests.export_run_call(name))

    async def import_run(self, name: str, bundle: bytes, *, replace_run: bool = False) -> RunImported:
        """Store a run that was exported; what differs from a run of that name is a conflict unless it is replaced."""
        return await self._carry_out(_requests.import_run_call(name, bundle, replace_run=replace_run))

    async def promote_run(self, name: str, target: str) -> RunImported:
        """Make one run what another is, records and all: `pr-42` becomes `main` once it is merged."""
        return await self.import_run(target, await self.export_run(name), replace_run=True)

    async def rejudge_run(self, name: str, target: str, **options: Unpack[RejudgeKeywords]) -> RunRejudged:
        """Judge the stored answers of a run anew, into another run; see `Client.rejudge_run`."""
        return await self._carry_out(_comparing.rejudge_call(name, target, **options))

    async def monitors(self) -> MonitorList:
        """Every monitor."""
        return await self._carry_out(_monitors.monitors_call())

    async def monitor(self, name: str, *, step: int | None = None, **time: Unpack[TimeKeywords]) -> MonitorAnswer:
        """A time of a monitor in figures; see `Client.monitor`."""
        return await self._carry_out(_monitors.monitor_call(name, step, **time))

    async def monitor_entries(
        self, name: str, *, limit: int = 50, cursor: str | None = None, **time: Unpack[TimeKeywords]
    ) -> MonitorEntries:
        """A page of the answers of a monitor, the newest first; `cursor` is `next` of the page before."""
        return await self._carry_out(_monitors.monitor_entries_call(name, limit, cursor, **time))

    async def delete_monitor(self, name: str) -> None:
        """Delete a monitor with all of its answers."""
        await self._carry_out(_monitors.delete_monitor_call(name))

    async def ingest(
        self,
        collection: str,
        documents: Iterable[DocumentLike],
        *,
        chunking: ChunkingOptions | None = None,
        replace: bool = False,
        prune: bool = False,
        progress: Progress = lambda done: None,
    ) -> IngestResponse:
        """Bring a collection to hold these documents; see `Client.ingest`."""
        answers = []
        calls = _documents.ingest_calls(collection, documents, chunking=chunking, replace=replace, prune=prune)
        for each in calls:
            answers.append(await self._carry_out(each.call))
            progress(each.documents)
        return _documents.together(answers)

    async def map_evidence(
        self, collection: str, evidence: EvidenceLike = (), *, chunks: Iterable[str] = ()
    ) -> EvidenceMappingResponse:
        """Find the chunks of a collection that hold quotes; see `Client.map_evidence`."""
        return await self._carry_out(_documents.map_evidence_call(collection, evidence, chunks))

    async def post(self, path: str, body: bytes) -> bytes:
        """Send a JSON body as it stands and return the answer as it came."""
        return await self._carry_out(_requests.post_call(path, body))

    async def health(self) -> Health:
        """Ask whether the service is alive."""
        return await self._carry_out(_requests.health_call())

    async def ready(self) -> Readiness:
        """Ask whether the service can take work, and how its dependencies are."""
        return await self._carry_out(_requests.ready_call())

    async def _carry_out(self, call: Call[T]) -> T:
        headers = call_headers(call)
        exchange = Exchange(call, self._retry, request_id=headers["X-Request-ID"], started=time.monotonic())
        while True:
            outcome = await self._connection.send(call, headers)
            delay = exchange.delay(outcome, now=time.monotonic())
            if delay is None:
                return exchange.result(outcome)
            await self._connection.wait(delay)


def call_headers(call: Call[T]) -> dict[str, str]:
    """Headers of one call, the same on every attempt, so that the service can tell a repetition from a second call."""
    headers = {"X-Request-ID": os.urandom(16).hex(), **call.headers}
    if call.content is not None:
        headers |= {"Content-Type": call.media_type, "Idempotency-Key": os.urandom(16).hex()}
    return headers
