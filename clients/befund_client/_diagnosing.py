"""The calls that diagnose answers: arguments in, request bytes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

import msgspec

from befund.contract import (
    DiagnoseBatchOptions,
    DiagnoseBatchResponse,
    DiagnoseItem,
    DiagnoseRequest,
    Diagnosis,
)
from befund_client._exchange import Call

CaseLike = DiagnoseItem | Mapping[str, Any]
AT_ONCE = 1_000
"""Answers of one request."""


class DiagnoseKeywords(TypedDict, total=False):
    """How is diagnosed, as `befund.contract.DiagnoseBatchOptions` describes and defaults it."""

    judge: str
    votes: int
    use_cache: bool
    force_verdict: bool
    dataset: str | None
    run: str | None
    replace_run: bool
    config: Mapping[str, Any] | None
    collection: str | None
    top_k: int | None
    where: Mapping[str, Any] | None
    embedder: str | None


class DiagnoseBatchKeywords(DiagnoseKeywords, total=False):
    """The same for many answers, and what judging them may cost together in US dollars."""

    max_cost_usd: float | None


def diagnose_call(item: CaseLike, **options: Unpack[DiagnoseKeywords]) -> Call[Diagnosis]:
    """POST /diagnose with a typed answer."""
    fields = _fields(item) | _given("diagnose", options, set(DiagnoseRequest.__struct_fields__))
    read = msgspec.json.Decoder(Diagnosis).decode
    return Call(method="POST", path="/diagnose", content=msgspec.json.encode(fields), read=read)


def diagnose_batch_call(
    items: Iterable[CaseLike], **options: Unpack[DiagnoseBatchKeywords]
) -> Call[DiagnoseBatchResponse]:
    """POST /diagnose/batch with a typed answer."""
    every = [_fields(item) for item in items]
    if len(every) > AT_ONCE:
        raise ValueError(f"{len(every)} answers are too many for one request, which takes {AT_ONCE:,}")
    given = _given("diagnose_batch", options, set(DiagnoseBatchOptions.__struct_fields__))
    return Call(
        method="POST",
        path="/diagnose/batch",
        content=msgspec.json.encode({"items": every, **given}),
        read=msgspec.json.Decoder(DiagnoseBatchResponse).decode,
    )


def _fields(item: CaseLike) -> dict[str, Any]:
    fields: dict[str, Any] = dict(item) if isinstance(item, Mapping) else msgspec.to_builtins(item)
    return fields


def _given(verb: str, options: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    unknown = options.keys() - known
    if unknown:
        raise TypeError(f"{verb} has no option {sorted(unknown)[0]!r}")
    return {name: value for name, value in options.items() if value is not None}
