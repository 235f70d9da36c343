"""The call that compares: arguments in, request bytes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, cast
from urllib.parse import quote

import msgspec

from befund.contract import CompareOptions, CompareResponse, CompareSide, Gate, Level, RejudgeRequest, RunRejudged
from befund_client._exchange import Call
from befund_client._files.source import Loaded
from befund_client._requests import DatasetLike

SideLike = str | CompareSide | Mapping[str, Any]
GateLike = Gate | Mapping[str, Any]


class CompareKeywords(TypedDict, total=False):
    """The options of a comparison, as `befund.contract.CompareRequest` describes and defaults them."""

    dataset: DatasetLike | None
    metrics: Sequence[str] | None
    level: Level | None
    alpha: float
    seed: int
    strict: bool
    gates: Sequence[GateLike] | None


class RejudgeKeywords(TypedDict, total=False):
    """How the answers of a run are judged anew, as `befund.contract.RejudgeRequest` describes and defaults it."""

    judge: str
    votes: int
    use_cache: bool
    questions: Sequence[str] | None
    replace_run: bool
    max_cost_usd: float | None


def compare_body(baseline: SideLike, candidate: SideLike, **options: Unpack[CompareKeywords]) -> bytes:
    """Build the body of POST /compare.

    Args:
        baseline: The name of a stored run, a `CompareSide`, or the same as a plain dict: `{"run": "main", "k": 3}`, or
            `{"rankings": {...}, "k": 3}`.
        candidate: The same.
        options: See `befund.contract.CompareRequest`; what is not given or None is left to the service.

    Raises:
        TypeError: An option does not exist.
    """
    given = {name: value for name, value in cast(dict[str, Any], options).items() if value is not None}
    unknown = given.keys() - {*CompareOptions.__struct_fields__, "dataset"}
    if unknown:
        raise TypeError(f"compare has no option {sorted(unknown)[0]!r}")
    dataset = given.get("dataset")
    if isinstance(dataset, Loaded):
        given["dataset"] = dataset.value
    return msgspec.json.encode({"baseline": _side(baseline), "candidate": _side(candidate), **given})


def compare_call(body: bytes) -> Call[CompareResponse]:
    """POST /compare with a typed answer."""
    return Call(method="POST", path="/compare", content=body, read=msgspec.json.Decoder(CompareResponse).decode)


def rejudge_call(name: str, target: str, **options: Unpack[RejudgeKeywords]) -> Call[RunRejudged]:
    """POST /runs/{name}/rejudge."""
    given = {key: value for key, value in cast(dict[str, Any], options).items() if value is not None}
    unknown = given.keys() - set(RejudgeRequest.__struct_fields__) | given.keys() & {"run"}
    if unknown:
        raise TypeError(f"rejudge_run has no option {sorted(unknown)[0]!r}")
    return Call(
        method="POST",
        path=f"/runs/{quote(name, safe='').replace('.', '%2E')}/rejudge",
        content=msgspec.json.encode({"run": target, **given}),
        read=msgspec.json.Decoder(RunRejudged).decode,
    )


def _side(side: SideLike) -> object:
    return {"run": side} if isinstance(side, str) else dict(side) if isinstance(side, Mapping) else side
