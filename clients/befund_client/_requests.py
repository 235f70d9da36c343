"""The calls of the service's API: arguments in, request bytes out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, cast

import msgspec

from befund.contract import (
    Dataset,
    Gain,
    Health,
    Level,
    RankingEntry,
    Readiness,
    RetrievalOptions,
    RetrieveEvalOptions,
    RetrieveEvalResponse,
)
from befund_client._exchange import Call
from befund_client._files.source import Loaded

Ranked = str | RankingEntry | Mapping[str, Any]
RankingLike = Sequence[Ranked] | Mapping[str, float]
DatasetLike = str | Dataset | Mapping[str, Any] | Loaded[Any]
RankingsLike = Mapping[str, RankingLike] | Loaded[Any]


class RetrieveEvalKeywords(TypedDict, total=False):
    """The options of a retrieval evaluation, as `befund.contract.RetrieveEvalOptions` describes and defaults them."""

    k: Sequence[int]
    level: Level
    split: str | None
    tags: Sequence[str]
    index_chunk_ids: Sequence[str] | None
    metrics: Sequence[str] | None
    gain: Gain
    relevance_level: float | None
    confidence: float
    seed: int
    per_question: bool
    run: str | None
    replace_run: bool
    config: Mapping[str, Any] | None


def retrieve_eval_body(
    dataset: DatasetLike, rankings: RankingsLike | RetrievalOptions, **options: Unpack[RetrieveEvalKeywords]
) -> bytes:
    """Build the body of POST /retrieve-eval.

    Args:
        dataset: The name of a stored data set, a `Dataset`, the same as plain dicts, or what `read_dataset` gave.
        rankings: By question id: chunk ids in rank order, entries with score and roles, or a map from id to score; or
            what `read_rankings` gave; or a `RetrievalOptions`, to search a collection of the service instead.
        options: See `befund.contract.RetrieveEvalOptions`; what is not given or None is left to the service.

    Raises:
        TypeError: An option does not exist.
        ValueError: A score is not a finite number (JSON has no way to write one).
    """
    given = {name: value for name, value in cast(dict[str, Any], options).items() if value is not None}
    unknown = given.keys() - set(RetrieveEvalOptions.__struct_fields__)
    if unknown:
        raise TypeError(f"retrieve_eval has no option {sorted(unknown)[0]!r}")
    if not math.isfinite(given.get("relevance_level", 1.0)):
        raise ValueError("relevance_level is not a finite number")
    dataset = dataset.value if isinstance(dataset, Loaded) else dataset
    named = dict(dataset) if isinstance(dataset, Mapping) else dataset
    return msgspec.json.encode({"dataset": named, "retrieval": _retrieval(rankings), **given})


def retrieve_eval_call(body: bytes) -> Call[RetrieveEvalResponse]:
    """POST /retrieve-eval with a typed answer."""
    return Call(
        method="POST",
        path="/retrieve-eval",
        content=body,
        read=msgspec.json.Decoder(RetrieveEvalResponse).decode,
    )


def post_call(path: str, body: bytes) -> Call[bytes]:
    """POST to any path with the answer's bytes as they came."""
    return Call(method="POST", path=path, content=body, read=bytes)


def health_call() -> Call[Health]:
    """GET /healthz."""
    return Call(method="GET", path="/healthz", read=msgspec.json.Decoder(Health).decode)


def ready_call() -> Call[Readiness]:
    """GET /readyz; "not ready" is an answer here, neither an error nor a reason to ask again."""
    decoder = msgspec.json.Decoder(Readiness)
    return Call(method="GET", path="/readyz", read=decoder.decode, accepted=frozenset({200, 503}))


def _retrieval(rankings: RankingsLike | RetrievalOptions) -> RetrievalOptions | dict[str, Any]:
    if isinstance(rankings, RetrievalOptions):
        return rankings
    rankings = rankings.value if isinstance(rankings, Loaded) else rankings
    return {"rankings": {question: _ranking(question, ranking) for question, ranking in rankings.items()}}


def _ranking(question: str, ranking: RankingLike) -> list[Ranked] | dict[str, float]:
    if isinstance(ranking, str):
        raise TypeError(f"the ranking of question {question!r} is one string; give a list of ids")
    if isinstance(ranking, Mapping):
        for chunk, score in ranking.items():
            _check_score(question, chunk, score)
        return dict(ranking)
    for entry in ranking:
        if isinstance(entry, RankingEntry):
            _check_score(question, entry.id, entry.score)
        elif isinstance(entry, Mapping):
            _check_score(question, entry.get("id"), entry.get("score"))
    return list(ranking)


def _check_score(question: str, chunk: object, score: object) -> None:
    # Encoded, NaN and infinity would become null: a lost score instead of an error.
    if isinstance(score, float) and not math.isfinite(score):
        raise ValueError(f"the score of {chunk!r} for question {question!r} is {score}, not a finite number")
