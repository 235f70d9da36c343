"""Placeholder of the retrieval evaluation: it decodes the request and counts its questions."""

from collections.abc import Callable

import msgspec

from befund.contract import (
    Context,
    Dataset,
    Excluded,
    IntervalSettings,
    QuestionCounts,
    RetrieveEvalRequest,
    RetrieveEvalResponse,
    RetrieveTimings,
)
from befund.core.errors import MalformedRequestError


def evaluate_retrieval(body: bytes, *, clock: Callable[[], float]) -> RetrieveEvalResponse:
    """Decode the body and answer without figures."""
    began = clock()
    try:
        request = msgspec.json.decode(body, type=RetrieveEvalRequest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedRequestError(str(error)) from error
    total = len(request.dataset.questions) if isinstance(request.dataset, Dataset) else 0
    return RetrieveEvalResponse(
        questions=QuestionCounts(
            total=total,
            eligible=total,
            excluded=Excluded(behavior=[], ground_truth=[], mapping=[], index=None),
            missing_from_run=[],
            unknown_in_run=0,
        ),
        metrics={},
        slices={},
        per_question=[],
        context=Context(chunks_per_question=None, tokens_per_question=None, tokenizer=None),
        findings=[],
        timings=RetrieveTimings(embed_ms=None, search_ms=None, score_ms=(clock() - began) * 1000),
        intervals=IntervalSettings(confidence=request.confidence, seed=request.seed, resamples=0, unit="question"),
        config=request.config,
        run=request.run,
    )
