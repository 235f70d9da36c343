"""The calls of the service's API: arguments in, request bytes out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, cast
from urllib.parse import quote, urlencode

import msgspec

from befund.contract import (
    Dataset,
    DatasetDeleted,
    DatasetList,
    DatasetPut,
    Gain,
    Health,
    Level,
    RankingEntry,
    Readiness,
    RetrievalOptions,
    RetrieveEvalOptions,
    RetrieveEvalResponse,
    RunAnswer,
    RunImported,
    RunList,
    RunQuestion,
)
from befund_client._exchange import Call
from befund_client._files.source import Loaded

Ranked = str | RankingEntry | Mapping[str, Any]
RankingLike = Sequence[Ranked] | Mapping[str, float]
GivenDataset = Dataset | Mapping[str, Any] | Loaded[Any]
DatasetLike = str | GivenDataset
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


def put_dataset_call(name: str, dataset: GivenDataset) -> Call[DatasetPut]:
    """PUT /datasets/{name}."""
    given = dataset.value if isinstance(dataset, Loaded) else dataset
    content = msgspec.json.encode(dict(given) if isinstance(given, Mapping) else given)
    read = msgspec.json.Decoder(DatasetPut).decode
    return Call(
        method="PUT", path=path_of("datasets", name), content=content, read=read, accepted=frozenset({200, 201})
    )


def dataset_call(reference: str) -> Call[Dataset]:
    """GET /datasets/{name}."""
    return Call(method="GET", path=path_of("datasets", reference), read=msgspec.json.Decoder(Dataset).decode)


def datasets_call() -> Call[DatasetList]:
    """GET /datasets."""
    return Call(method="GET", path="/datasets", read=msgspec.json.Decoder(DatasetList).decode)


def delete_dataset_call(reference: str) -> Call[DatasetDeleted]:
    """DELETE /datasets/{name}."""
    read = msgspec.json.Decoder(DatasetDeleted).decode
    return Call(method="DELETE", path=path_of("datasets", reference), read=read)


def runs_call(limit: int, cursor: str | None) -> Call[RunList]:
    """GET /runs."""
    return Call(method="GET", path="/runs" + _page(limit, cursor), read=msgspec.json.Decoder(RunList).decode)


def run_call(name: str, limit: int, cursor: str | None) -> Call[RunAnswer]:
    """GET /runs/{name}."""
    path = path_of("runs", name) + _page(limit, cursor)
    return Call(method="GET", path=path, read=msgspec.json.Decoder(RunAnswer).decode)


def run_question_call(run: str, question_id: str) -> Call[RunQuestion]:
    """GET /runs/{name}/questions/{id}."""
    path = path_of("runs", run, "questions", question_id)
    return Call(method="GET", path=path, read=msgspec.json.Decoder(RunQuestion).decode)


def delete_run_call(name: str) -> Call[None]:
    """DELETE /runs/{name}."""
    return Call(method="DELETE", path=path_of("runs", name), read=nothing, accepted=frozenset({204}))


def delete_question_call(run: str, question_id: str) -> Call[None]:
    """DELETE /runs/{name}/questions/{id}."""
    path = path_of("runs", run, "questions", question_id)
    return Call(method="DELETE", path=path, read=nothing, accepted=frozenset({204}))


def export_run_call(name: str) -> Call[bytes]:
    """GET /runs/{name}/bundle."""
    return Call(method="GET", path=path_of("runs", name, "bundle"), read=bytes)


def import_run_call(name: str, bundle: bytes, *, replace_run: bool) -> Call[RunImported]:
    """PUT /runs/{name}/bundle."""
    return Call(
        method="PUT",
        path=path_of("runs", name, "bundle") + ("?replace_run=true" if replace_run else ""),
        content=bundle,
        media_type="application/x-ndjson",
        read=msgspec.json.Decoder(RunImported).decode,
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


def path_of(*steps: str) -> str:
    """Write a path; what a step holds is encoded, dots too, since `..` would lead elsewhere."""
    return "".join("/" + quote(step, safe="@:").replace(".", "%2E") for step in steps)


def _page(limit: int, cursor: str | None) -> str:
    return "?" + urlencode({"limit": limit} | ({} if cursor is None else {"cursor": cursor}))


def nothing(body: bytes) -> None:
    """There is nothing to read."""


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
