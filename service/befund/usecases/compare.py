"""Compare two runs, or rankings sent along, and decide by gates."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from befund import __version__
from befund.contract import CompareResponse, Gate
from befund.core.comparison.compare import Compares, bring_together, report
from befund.core.comparison.envelope import SIDES, LazyCompareRequest, LazySide, rankings_of, read_compare_request
from befund.core.comparison.reading import Wanted, side_of_rankings, side_of_run
from befund.core.comparison.side import Side
from befund.core.datasets import Edition, edition_of
from befund.core.errors import BefundError, ContradictionError, NotFoundError
from befund.core.metrics import metric_named
from befund.core.retrieval.envelope import LazyDataset
from befund.core.runs import Record, Run, completed
from befund.ports import Judges, Store
from befund.usecases.gate_repeats import Answers, Repeating
from befund.usecases.runs import Runs

T = TypeVar("T")


class InThread(Protocol):
    """Runs off the event loop what takes time."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """The result of the work, or its error."""
        ...


class Attend(Protocol):
    """Waits for what asks judges, as long as the caller waits too."""

    def __call__(self, work: Coroutine[Any, Any, CompareResponse], /) -> Awaitable[CompareResponse]:
        """The result of the work, or its error."""
        ...


class Held(Struct, frozen=True):
    """A stored run with all of its records and the data set it was measured on."""

    run: Run
    records: Sequence[Record]
    edition: Edition


class Comparing(Struct, frozen=True):
    """Compares.

    Attributes:
        store: Where data sets have names and runs are kept.
        runs: Reads runs.
        judges: Judge anew what a gate hangs on, where it asks for that.
        gates: What decides where a request brings no gates.
    """

    store: Store
    runs: Runs
    judges: Judges
    gates: Sequence[Gate] = ()

    async def compare(self, body: bytes, *, in_thread: InThread, attend: Attend) -> CompareResponse:
        """Answer POST /compare.

        Args:
            body: The request, as JSON.
            in_thread: Runs off the event loop what takes time.
            attend: Waits for what asks judges, as long as the caller waits too.

        Raises:
            MalformedRequestError: The body does not decode.
            ContradictionError: It contradicts itself, or nothing can be compared.
            NotFoundError: It names a run or data set that does not exist.
            ConflictError: The sides differ too much, under `strict`.
            DependencyError: The store does not answer.
        """
        request = await in_thread(lambda: read_compare_request(body))
        gates = self.gates if request.gates is None else request.gates
        held = await self._held(request)
        dataset = await self._dataset(request)

        calibrations = await self.store.calibrations(_fingerprints(held))

        def work() -> tuple[Compares, CompareResponse]:
            baseline, candidate = _sides(request, held, dataset, gates)
            compares = bring_together(baseline, candidate, request, gates)
            return compares, report(compares, request, gates, calibrations=calibrations)

        compares, answer = await in_thread(work)
        if not any(gate.repeats for gate in gates):
            return answer
        baseline, candidate = (_answers(side, held) for side in request.sides)
        return await attend(Repeating(self.judges, (baseline, candidate)).decide_anew(compares, answer, request, gates))

    async def _held(self, request: LazyCompareRequest) -> dict[str, Held]:
        """The stored runs that the request names."""
        names = dict.fromkeys(side.run for side in request.sides if side.run is not None)
        found: dict[str, Held] = {}
        for name in names:
            run, records = await self.runs.whole(name)
            found[name] = Held(run, records, await self.store.dataset_version(run.dataset.version.hash))
        return found

    async def _dataset(self, request: LazyCompareRequest) -> Edition | None:
        return await self.store.dataset(request.dataset) if isinstance(request.dataset, str) else None


def compare_rankings(body: bytes, *, gates: Sequence[Gate] = ()) -> CompareResponse:
    """Answer POST /compare where both sides and the data set are in the request.

    Args:
        body: The request, as JSON.
        gates: What decides where it brings no gates.

    Raises:
        MalformedRequestError: The body does not decode.
        ContradictionError: It contradicts itself, or nothing can be compared.
        NotFoundError: It names a run or data set: only a service has these.
        ConflictError: The sides differ too much, under `strict`.
    """
    request = read_compare_request(body)
    for name, side in zip(SIDES, request.sides, strict=True):
        if side.run is not None:
            raise NotFoundError("unknown-run", f"There is no run {side.run!r} as the {name}. Send its rankings.")
    if isinstance(request.dataset, str):
        raise NotFoundError("unknown-dataset", f"There is no data set {request.dataset!r}. Send the data set itself.")
    gates = gates if request.gates is None else request.gates
    return report(bring_together(*_sides(request, {}, None, gates), request, gates), request, gates)


def _sides(
    request: LazyCompareRequest, held: dict[str, Held], dataset: Edition | None, gates: Sequence[Gate]
) -> tuple[Side, Side]:
    """Both sides, measured alike as far as nobody says otherwise."""
    if isinstance(request.dataset, LazyDataset):
        dataset = _inline(request.dataset)
    named = [*(request.metrics or ()), *(gate.metric for gate in gates)]
    cutoffs = [metric.k or 0 for name in named if (metric := metric_named(name))]
    largest = max((*cutoffs, *(side.k or 0 for side in request.sides)), default=0)
    level = request.level or next((each.run.identity.measured.get("level") for each in held.values()), None)
    sides: dict[str, Side] = {}
    for name, side in zip(SIDES, request.sides, strict=True):
        if side.run is not None:
            one = held[side.run]
            wanted = Wanted(k=side.k, level=request.level, largest=largest)
            sides[name] = side_of_run(one.run, one.records, one.edition, wanted, name=_called(request, name))
    for name, side in zip(SIDES, request.sides, strict=True):
        if side.run is None:
            other = next(iter(held.values()), None)
            edition = dataset or (None if other is None else other.edition)
            if edition is None:
                raise ContradictionError.at("/dataset", "dataset-missing", "Send the data set of the rankings.")
            among = None if dataset is not None or other is None else {each.question_id for each in other.records}
            wanted = Wanted(k=side.k, level=level, largest=largest)
            config = _with_known(side.config, edition)
            rankings = rankings_of(side, name)
            sides[name] = side_of_rankings(rankings, edition, wanted, name=name, config=config, among=among)
    return sides["baseline"], sides["candidate"]


def _fingerprints(held: dict[str, Held]) -> list[str]:
    """Of all who judged in these runs."""
    return list(dict.fromkeys(judge for each in held.values() for judge in each.run.identity.judges.values()))


def _answers(side: LazySide, held: dict[str, Held]) -> Answers | None:
    if side.run is None:
        return None
    return Answers.of(held[side.run].records, held[side.run].edition)


def _called(request: LazyCompareRequest, name: str) -> str:
    """What a side is called: as its run, with the cutoff where both are the same run."""
    side: LazySide = getattr(request, name)
    is_same = request.baseline.run == request.candidate.run
    return f"{side.run} at {side.k}" if is_same and side.k is not None else str(side.run)


def _with_known(config: Mapping[str, Any], edition: Edition) -> dict[str, Any]:
    """The configuration of rankings that a request brings, with what the service knows itself."""
    version = edition.version
    dataset = {"questions": version.questions_hash, "evidence_mapping": version.mapping_hash}
    return completed(config, {"dataset": dataset, "software": {"befund": __version__}})


def _inline(dataset: LazyDataset) -> Edition:
    try:
        return edition_of(dataset, content="full")
    except BefundError as error:
        error.move_below("/dataset")
        raise
