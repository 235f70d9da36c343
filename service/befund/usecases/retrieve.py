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
from befund.usecases.search import Searched, WantedSearch, wanted_search


class Measurement(Struct, frozen=True):
    """One request, measured: its questions and rankings, and each metric's value for each eligible question."""

    request: LazyRetrieveEvalRequest
    dataset: LazyDataset
    cases: Cases
    values: dict[Metric, Values]


def evaluate_retrieval(
    body: bytes, *, clock: Callable[[], float], searched: Searched | None = None
) -> RetrieveEvalResponse:
    """Answer POST /retrieve-eval.

    Args:
        body: The request, as JSON.
        clock: Seconds on a clock that only moves forward, for the timings.
        searched: What a live search found, where the request asks for one.

    Raises:
        MalformedRequestError: The body does not decode.
        ContradictionError: It contradicts itself, or cannot be measured as it stands.
        NotFoundError: It names a data set or collection that does not exist.
    """
    started = clock()
    content = ContentHash()
    measurement = _measured(read_request(body) if searched is None else searched.request, content)
    request, cases, values = measurement.request, measurement.cases, measurement.values
    wrong_ids = searched.wrong_ids if searched else not len(cases.rankings.found.rank) and no_known_id(body)
    by_tag = slices(cases, values, confidence=request.confidence, seed=request.seed)
    return RetrieveEvalResponse(
        questions=_counts(cases),
        metrics=estimates(values, confidence=request.confidence, seed=request.seed),
        slices=by_tag,
        per_question=with_metrics(cases.results, values),
        context=_context(cases, searched),
        findings=[
            *findings(
                cases,
                request.k,
                generated=measurement.dataset.generated,
                wrong_ids=wrong_ids,
                slices=len(by_tag),
            ),
            *(searched.findings if searched else ()),
        ],
        config=_config(measurement, content, searched),
        intervals=IntervalSettings(
            confidence=request.confidence, seed=request.seed, resamples=RESAMPLES, unit="question"
        ),
        run=None,
        timings=RetrieveTimings(
            embed_ms=searched.embed_ms if searched else None,
            search_ms=searched.search_ms if searched else None,
            score_ms=(clock() - started) * 1000,
        ),
    )


def measure_request(body: bytes, *, content: ContentHash | None = None) -> Measurement:
    """From the JSON of a request to each metric's value for each eligible question; raises as above.

    Args:
        body: The request, as JSON.
        content: Takes in every question of the data set, if given.
    """
    return _measured(read_request(body), content)


def search_wanted(body: bytes) -> WantedSearch | None:
    """What has to be searched for before a request can be measured; None where it brings its rankings.

    Only a body that speaks of a collection is read for it, so that the others are not read twice.
    """
    if b'"collection"' not in body:
        return None
    request = read_request(body)
    chosen_metrics(request)
    return wanted_search(request, _dataset_of(request))


def _measured(request: LazyRetrieveEvalRequest, content: ContentHash | None) -> Measurement:
    if request.retrieval.collection is not None and not request.retrieval.has_rankings:
        raise ContradictionError.at(
            "/retrieval/collection",
            "not-searched",
            "A live search is made by a running service. Send the request to one, with the field name collection "
            "written without escapes.",
        )
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


def _context(cases: Cases, searched: Searched | None) -> Context:
    chunks = cases.shown / cases.ranked if cases.ranked else None
    if searched is None:
        return Context(chunks_per_question=chunks, tokens_per_question=None, tokenizer=None)
    return Context(
        chunks_per_question=chunks, tokens_per_question=searched.tokens_per_question, tokenizer=searched.tokenizer
    )


def _config(measurement: Measurement, content: ContentHash, searched: Searched | None) -> dict[str, Any]:
    cases, given = measurement.cases, measurement.request.config
    found = searched.config if searched else {}
    known = {
        "dataset": {
            "name": measurement.dataset.name,
            "questions": content.hexdigest(),
            "evidence_mapping": hash_of(dict(cases.evidence_mapping)),
        },
        "software": {"befund": __version__},
        **found,
    }
    return known | given | found | {"fingerprint": hash_of({"given": given, "known": known})}
