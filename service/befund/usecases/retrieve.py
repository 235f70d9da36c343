"""Measure retrieval: rankings against the gold of a data set."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from befund import __version__
from befund.contract import (
    Context,
    Excluded,
    IntervalSettings,
    QuestionCounts,
    RetrieveEvalResponse,
    RetrieveTimings,
)
from befund.core.errors import ContradictionError, NotFoundError
from befund.core.retrieval.cases import Cases
from befund.core.retrieval.collect import collect
from befund.core.retrieval.content import ContentHash, hash_of
from befund.core.retrieval.envelope import LazyDataset, LazyRetrieveEvalRequest, read_request
from befund.core.retrieval.findings import findings
from befund.core.retrieval.measurement import Measurement
from befund.core.retrieval.overlap import no_known_id
from befund.core.retrieval.summary import chosen_metrics, estimates, measure, slices, with_metrics
from befund.core.runs import compared, completed
from befund.core.stats import RESAMPLES
from befund.usecases.recording import Recorder, Recording
from befund.usecases.search import Searched


class Begun(Struct, frozen=True):
    """A request, read.

    Attributes:
        request: The request.
        dataset: The data set it means.
        recording: What ties it to the store, if anything.
    """

    request: LazyRetrieveEvalRequest
    dataset: LazyDataset
    recording: Recording | None


def evaluate_retrieval(
    body: bytes, *, clock: Callable[[], float], recorder: Recorder | None = None
) -> RetrieveEvalResponse:
    """Answer POST /retrieve-eval where nothing has to be searched for.

    Args:
        body: The request, as JSON.
        clock: Seconds on a clock that only moves forward, for the timings.
        recorder: Where data sets have names and runs are kept, if anywhere.

    Raises:
        BefundError: As `begin` and `evaluate` do, or a live search is asked for.
    """
    started = clock()
    begun = begin(body, recorder=recorder)
    _refuse_live_search(begun.request)
    return evaluate(begun, clock=clock, started=started)


def begin(body: bytes, *, recorder: Recorder | None = None) -> Begun:
    """Read a request and look up what it names.

    Raises:
        MalformedRequestError: The body does not decode.
        ContradictionError: It contradicts itself, or cannot be measured as it stands.
        NotFoundError: It names a data set that does not exist.
        DependencyError: The store does not answer.
        AlreadyAnswered: It was carried out before.
    """
    request = read_request(body)
    recording = None if recorder is None else recorder.begin(request, body)
    dataset = _dataset_of(request, None if recording is None else recording.dataset(), keeps=recording is not None)
    return Begun(request, dataset, recording)


def evaluate(
    begun: Begun, *, clock: Callable[[], float], started: float, searched: Searched | None = None
) -> RetrieveEvalResponse:
    """Measure a request.

    Args:
        begun: The request.
        clock: Seconds on a clock that only moves forward, for the timings.
        started: When measuring began, on that clock.
        searched: What a live search found, where the request asks for one.

    Raises:
        MalformedRequestError: A question or ranking does not decode.
        ContradictionError: The request contradicts itself, or cannot be measured as it stands.
        ConflictError: The run it is to be kept under differs.
        DependencyError: It cannot be stored.
        AlreadyAnswered: It was carried out meanwhile.
    """
    request = begun.request if searched is None else searched.request
    dataset, recording = begun.dataset, begun.recording
    content = ContentHash()
    stored = recording and recording.stored
    measurement = _measure(request, dataset, content=None if stored else content)
    cases, values = measurement.cases, measurement.values
    nothing_met = not len(cases.rankings.found.rank)
    wrong_ids = searched.wrong_ids if searched else nothing_met and no_known_id(request, dataset)
    by_tag = slices(cases, values, confidence=request.confidence, seed=request.seed)
    config = _config(
        measurement,
        searched,
        questions=stored.version.questions_hash if stored else content.hexdigest(),
        evidence_mapping=stored.version.mapping_hash if stored else hash_of(dict(cases.evidence_mapping)),
    )
    response = RetrieveEvalResponse(
        questions=_counts(cases),
        metrics=estimates(values, confidence=request.confidence, seed=request.seed),
        slices=by_tag,
        per_question=with_metrics(cases.results, values),
        context=_context(cases, searched),
        findings=[
            *findings(cases, request.k, generated=dataset.generated, wrong_ids=wrong_ids, slices=len(by_tag)),
            *(searched.findings if searched else ()),
            *(recording.findings(config) if recording else ()),
        ],
        config=config,
        intervals=IntervalSettings(
            confidence=request.confidence, seed=request.seed, resamples=RESAMPLES, unit="question"
        ),
        run=request.run,
        timings=RetrieveTimings(
            embed_ms=searched.embed_ms if searched else None,
            search_ms=searched.search_ms if searched else None,
            score_ms=(clock() - started) * 1000,
        ),
    )
    if recording is not None:
        recording.keep(measurement, response, tokens=searched.tokens if searched else {})
    return response


def measure_request(body: bytes, *, content: ContentHash | None = None) -> Measurement:
    """From the JSON of a request to each metric's value for each eligible question; raises as above.

    Args:
        body: The request, as JSON.
        content: Takes in every question of the data set, if given.
    """
    begun = begin(body)
    _refuse_live_search(begun.request)
    return _measure(begun.request, begun.dataset, content=content)


def _refuse_live_search(request: LazyRetrieveEvalRequest) -> None:
    if request.retrieval.collection is not None:
        raise ContradictionError.at(
            "/retrieval/collection", "not-searched", "A live search is made by a running service. Send it to one."
        )


def _measure(request: LazyRetrieveEvalRequest, dataset: LazyDataset, *, content: ContentHash | None) -> Measurement:
    metrics = chosen_metrics(request)
    cases = collect(request, dataset, content=content)
    return Measurement(request, dataset, cases, measure(cases, metrics))


def _dataset_of(request: LazyRetrieveEvalRequest, stored: LazyDataset | None, *, keeps: bool = False) -> LazyDataset:
    if request.run is not None and not keeps:
        raise ContradictionError.at("/run", "runs-not-kept", "Runs are kept by a service. Ask one, or leave out run.")
    dataset = stored or request.dataset
    if isinstance(dataset, str):
        raise NotFoundError("unknown-dataset", f"There is no data set {dataset!r}. Send the data set itself.")
    if request.retrieval.has_rankings == (request.retrieval.collection is not None):
        raise ContradictionError.at(
            "/retrieval",
            "rankings-or-collection",
            "Give exactly one of retrieval.rankings and retrieval.collection.",
        )
    return dataset


def _counts(cases: Cases) -> QuestionCounts:
    excluded = cases.excluded
    return QuestionCounts(
        total=cases.total,
        eligible=len(cases.eligible),
        excluded=Excluded(
            behavior=excluded["behavior"],
            ground_truth=excluded["ground_truth"],
            mapping=excluded["mapping"],
            index=excluded["index"] if cases.index_checked else None,
        ),
        missing_from_run=cases.missing,
        unknown_in_run=cases.unknown,
    )


def _context(cases: Cases, searched: Searched | None) -> Context:
    chunks = cases.shown / cases.ranked if cases.ranked else None
    if searched is None:
        return Context(chunks_per_question=chunks, tokens_per_question=None, tokenizer=None)
    return Context(
        chunks_per_question=chunks, tokens_per_question=searched.tokens_per_question, tokenizer=searched.tokenizer
    )


def _config(
    measurement: Measurement, searched: Searched | None, *, questions: str, evidence_mapping: str
) -> dict[str, Any]:
    given = measurement.request.config
    known: dict[str, dict[str, Any]] = {
        "dataset": {
            "name": measurement.dataset.name,
            "questions": questions,
            "evidence_mapping": evidence_mapping,
        },
        "software": {"befund": __version__},
    }
    config = completed(given, known) | (searched.config if searched else {})
    return config | {"fingerprint": hash_of(compared(config))}
