"""Measure retrieval: rankings against the gold of a data set."""

from collections.abc import Callable
from typing import Any

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
from befund.core.runs import compared
from befund.core.stats import RESAMPLES
from befund.usecases.recording import Recorder


def evaluate_retrieval(
    body: bytes, *, clock: Callable[[], float], recorder: Recorder | None = None
) -> RetrieveEvalResponse:
    """Answer POST /retrieve-eval.

    Args:
        body: The request, as JSON.
        clock: Seconds on a clock that only moves forward, for the timings.
        recorder: Where data sets have names and runs are kept, if anywhere.

    Raises:
        MalformedRequestError: The body does not decode.
        ContradictionError: It contradicts itself, or cannot be measured as it stands.
        NotFoundError: It names a data set or collection that does not exist.
        ConflictError: The run it is to be kept under differs.
        DependencyError: It cannot be stored.
        AlreadyAnswered: It was carried out before.
    """
    started = clock()
    request = read_request(body)
    recording = None if recorder is None else recorder.begin(request, body)
    dataset = _dataset_of(request, None if recording is None else recording.dataset(), keeps=recording is not None)
    content = ContentHash()
    stored = recording and recording.stored
    measurement = _measure(request, dataset, content=None if stored else content)
    cases, values = measurement.cases, measurement.values
    wrong_ids = not len(cases.rankings.found.rank) and no_known_id(request, dataset)
    by_tag = slices(cases, values, confidence=request.confidence, seed=request.seed)
    config = _config(
        measurement,
        questions=stored.version.questions_hash if stored else content.hexdigest(),
        evidence_mapping=stored.version.mapping_hash if stored else hash_of(dict(cases.evidence_mapping)),
    )
    response = RetrieveEvalResponse(
        questions=_counts(cases),
        metrics=estimates(values, confidence=request.confidence, seed=request.seed),
        slices=by_tag,
        per_question=with_metrics(cases.results, values),
        context=_context(cases),
        findings=[
            *findings(cases, request.k, generated=dataset.generated, wrong_ids=wrong_ids, slices=len(by_tag)),
            *(recording.findings(config) if recording else ()),
        ],
        config=config,
        intervals=IntervalSettings(
            confidence=request.confidence, seed=request.seed, resamples=RESAMPLES, unit="question"
        ),
        run=request.run,
        timings=RetrieveTimings(embed_ms=None, search_ms=None, score_ms=(clock() - started) * 1000),
    )
    if recording is not None:
        recording.keep(measurement, response)
    return response


def measure_request(body: bytes, *, content: ContentHash | None = None) -> Measurement:
    """From the JSON of a request to each metric's value for each eligible question; raises as above.

    Args:
        body: The request, as JSON.
        content: Takes in every question of the data set, if given.
    """
    request = read_request(body)
    return _measure(request, _dataset_of(request, None), content=content)


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
    if request.retrieval.collection is not None:
        raise NotFoundError(
            "unknown-collection", f"There is no collection {request.retrieval.collection!r}. Send retrieval.rankings."
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


def _context(cases: Cases) -> Context:
    chunks = cases.shown / cases.ranked if cases.ranked else None
    return Context(chunks_per_question=chunks, tokens_per_question=None, tokenizer=None)


def _config(measurement: Measurement, *, questions: str, evidence_mapping: str) -> dict[str, Any]:
    given = measurement.request.config
    known = {
        "dataset": {
            "name": measurement.dataset.name,
            "questions": questions,
            "evidence_mapping": evidence_mapping,
        },
        "software": {"befund": __version__},
    }
    config = known | given
    return config | {"fingerprint": hash_of(compared(config))}
