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
from befund.core.metrics import Metric, Values
from befund.core.retrieval.cases import Cases
from befund.core.retrieval.collect import collect
from befund.core.retrieval.content import ContentHash, hash_of
from befund.core.retrieval.envelope import LazyDataset, LazyRetrieveEvalRequest, read_request
from befund.core.retrieval.findings import findings
from befund.core.retrieval.overlap import no_known_id
from befund.core.retrieval.summary import chosen_metrics, estimates, measure, slices, with_metrics
from befund.core.stats import RESAMPLES


class Measurement(Struct, frozen=True):
    """One request, measured: its questions and rankings, and each metric's value for each eligible question."""

    request: LazyRetrieveEvalRequest
    dataset: LazyDataset
    cases: Cases
    values: dict[Metric, Values]


def evaluate_retrieval(body: bytes, *, clock: Callable[[], float]) -> RetrieveEvalResponse:
    """Answer POST /retrieve-eval.

    Args:
        body: The request, as JSON.
        clock: Seconds on a clock that only moves forward, for the timings.

    Raises:
        MalformedRequestError: The body does not decode.
        ContradictionError: It contradicts itself, or cannot be measured as it stands.
        NotFoundError: It names a data set or collection that does not exist.
    """
    started = clock()
    content = ContentHash()
    measurement = measure_request(body, content=content)
    request, cases, values = measurement.request, measurement.cases, measurement.values
    wrong_ids = not len(cases.rankings.found.rank) and no_known_id(body)
    by_tag = slices(cases, values, confidence=request.confidence, seed=request.seed)
    return RetrieveEvalResponse(
        questions=_counts(cases),
        metrics=estimates(values, confidence=request.confidence, seed=request.seed),
        slices=by_tag,
        per_question=with_metrics(cases.results, values),
        context=_context(cases),
        findings=findings(
            cases,
            request.k,
            generated=measurement.dataset.generated,
            wrong_ids=wrong_ids,
            slices=len(by_tag),
        ),
        config=_config(measurement, content),
        intervals=IntervalSettings(
            confidence=request.confidence, seed=request.seed, resamples=RESAMPLES, unit="question"
        ),
        run=None,
        timings=RetrieveTimings(embed_ms=None, search_ms=None, score_ms=(clock() - started) * 1000),
    )


def measure_request(body: bytes, *, content: ContentHash | None = None) -> Measurement:
    """From the JSON of a request to each metric's value for each eligible question; raises as above.

    Args:
        body: The request, as JSON.
        content: Takes in every question of the data set, if given.
    """
    request = read_request(body)
    metrics = chosen_metrics(request)
    dataset = _dataset_of(request)
    cases = collect(request, dataset, content=content)
    return Measurement(request, dataset, cases, measure(cases, metrics))


def _dataset_of(request: LazyRetrieveEvalRequest) -> LazyDataset:
    if request.run is not None:
        raise ContradictionError.at(
            "/run", "runs-not-kept", "This version of the service does not keep runs. Leave out run."
        )
    if isinstance(request.dataset, str):
        raise NotFoundError("unknown-dataset", f"There is no data set {request.dataset!r}. Send the data set itself.")
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
    return request.dataset


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


def _config(measurement: Measurement, content: ContentHash) -> dict[str, Any]:
    cases, given = measurement.cases, measurement.request.config
    known = {
        "dataset": {
            "name": measurement.dataset.name,
            "questions": content.hexdigest(),
            "evidence_mapping": hash_of(dict(cases.evidence_mapping)),
        },
        "software": {"befund": __version__},
    }
    return known | given | {"fingerprint": hash_of({"given": given, "known": known})}
