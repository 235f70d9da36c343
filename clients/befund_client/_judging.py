"""The calls that judge answers: arguments in, request bytes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack
from urllib.parse import quote

import msgspec

from befund.contract import (
    CalibrationItem,
    CalibrationRequest,
    CalibrationResponse,
    JobAnswer,
    JudgeBatchOptions,
    JudgeBatchResponse,
    JudgeItem,
    Judgment,
)
from befund_client._exchange import Call

ItemLike = JudgeItem | Mapping[str, Any]
CalibrationItemLike = CalibrationItem | Mapping[str, Any]
AT_ONCE = 200
"""Answers of one request that are judged before it is answered."""


class JudgeKeywords(TypedDict, total=False):
    """How is judged, as `befund.contract.JudgeRequest` describes and defaults it."""

    judge: str
    votes: int
    use_cache: bool
    force_verdict: bool
    dataset: str | None
    run: str | None
    replace_run: bool
    monitor: str | None
    config: Mapping[str, Any] | None


class JudgeBatchKeywords(JudgeKeywords, total=False):
    """The same for many answers, what they may cost together in US dollars, and whether a known answer goes along."""

    max_cost_usd: float | None
    canary: bool


class CalibrateKeywords(TypedDict, total=False):
    """How a judge is compared with people, as `befund.contract.CalibrationRequest` describes and defaults it."""

    judge: str
    votes: int
    use_cache: bool
    force_verdict: bool
    dataset: str | None
    confidence: float
    seed: int


def judge_call(item: ItemLike, **options: Unpack[JudgeKeywords]) -> Call[Judgment]:
    """POST /judge with a typed answer."""
    body = msgspec.json.encode(_fields(item) | _given("judge", options))
    return Call(method="POST", path="/judge", content=body, read=msgspec.json.Decoder(Judgment).decode)


def judge_batch_body(items: Iterable[ItemLike], **options: Unpack[JudgeBatchKeywords]) -> bytes:
    """Build the body of POST /judge/batch."""
    return msgspec.json.encode({"items": [_fields(item) for item in items], **_given("judge_batch", options)})


def judge_batch_call(items: Iterable[ItemLike], **options: Unpack[JudgeBatchKeywords]) -> Call[JudgeBatchResponse]:
    """POST /judge/batch with a typed answer."""
    every = list(items)
    if len(every) > AT_ONCE:
        raise ValueError(f"{len(every)} answers are too many for one request, which takes {AT_ONCE}: start_judging")
    read = msgspec.json.Decoder(JudgeBatchResponse).decode
    return Call(method="POST", path="/judge/batch", content=judge_batch_body(every, **options), read=read)


def start_judging_call(items: Iterable[ItemLike], **options: Unpack[JudgeBatchKeywords]) -> Call[JobAnswer]:
    """POST /judge/batch, to be done in the background."""
    return Call(
        method="POST",
        path="/judge/batch",
        content=judge_batch_body(items, **options),
        read=msgspec.json.Decoder(JobAnswer).decode,
        accepted=frozenset({202}),
        headers={"Prefer": "respond-async"},
    )


def calibrate_call(
    name: str, items: Iterable[CalibrationItemLike], **options: Unpack[CalibrateKeywords]
) -> Call[CalibrationResponse]:
    """POST /judge/calibration with a typed answer."""
    given = _given("calibrate", options, CalibrationRequest)
    body = msgspec.json.encode({"name": name, "items": [_fields(item) for item in items], **given})
    read = msgspec.json.Decoder(CalibrationResponse).decode
    return Call(method="POST", path="/judge/calibration", content=body, read=read)


def job_call(method: str, job_id: str) -> Call[JobAnswer]:
    """GET or DELETE /jobs/{id}."""
    path = "/jobs/" + quote(job_id, safe="").replace(".", "%2E")
    return Call(method=method, path=path, read=msgspec.json.Decoder(JobAnswer).decode)


def _fields(item: ItemLike | CalibrationItemLike) -> dict[str, Any]:
    fields: dict[str, Any] = dict(item) if isinstance(item, Mapping) else msgspec.to_builtins(item)
    return fields


def _given(verb: str, options: Mapping[str, Any], kind: type[msgspec.Struct] = JudgeBatchOptions) -> dict[str, Any]:
    unknown = options.keys() - set(kind.__struct_fields__)
    if unknown:
        raise TypeError(f"{verb} has no option {sorted(unknown)[0]!r}")
    return {name: value for name, value in options.items() if value is not None}
