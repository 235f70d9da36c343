"""Runs: what a run is, when two writes to it differ, what is stored a question, and a run in figures."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Raw, Struct, UnsetType

from befund.contract import Estimate, Exclusion, RunSummary, Usage
from befund.core.datasets import StoredVersion
from befund.core.errors import ConflictError
from befund.core.metrics import Metric
from befund.core.retrieval.content import hash_of
from befund.core.retrieval.summary import estimates

KNOWN_KEYS = (
    "corpus_version",
    "chunking",
    "index_version",
    "embedder",
    "retrieval",
    "generator",
    "prompt",
    "dataset",
    "judge",
    "software",
)
"""What a configuration should say."""

CONFIDENCE, SEED = 0.95, 7
_LONGEST_SHOWN = 60


class Identity(Struct, frozen=True, kw_only=True):
    """What every write to a run must share.

    Attributes:
        version: Hash of the data set version.
        config: What was measured, with what the service knows itself.
        measured: Options that change what a figure means, as the level.
    """

    version: str
    config: dict[str, Any]
    measured: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """One hash for the configuration."""
        return hash_of({"config": self.config, "measured": self.measured})


class Record(Struct, frozen=True, kw_only=True, gc=False):
    """What one part of a service (`retrieval`, ...) found for one question of a run.

    Attributes:
        question_id: The question.
        question_hash: Hash of its content in the data set.
        position: Its place in the data set, from 0.
        part: Which part of the service.
        json: What it found, on one line.
    """

    question_id: str
    question_hash: str
    position: int
    part: str
    json: bytes


class Run(Struct, frozen=True, kw_only=True):
    """A stored run without its records."""

    name: str
    dataset_name: str | None
    identity: Identity
    dataset: StoredVersion
    questions: int
    created: datetime
    updated: datetime


class StoredRetrieval(Struct, frozen=True, kw_only=True):
    """`befund.contract.RetrievalRecord` on its way into the store, its ranking as it came."""

    ranking: Raw | None
    relevant: Mapping[str, float]
    evidence: Mapping[str, list[str]]
    unmapped: list[str]
    metrics: dict[str, float | None]
    first_relevant_rank: int | None
    excluded: Exclusion | None
    acl_leaks: list[str]
    known_false_positives: list[str]
    duplicates: list[str]


class _Scored(Struct, frozen=True):
    """The figures of a stored retrieval, without the rest."""

    metrics: dict[str, float | None]
    excluded: Exclusion | None


def refuse_other(name: str, stored: Identity, sent: Identity) -> None:
    """Refuse a write that is not the same run.

    Raises:
        ConflictError: `run-conflict`, naming the first thing that differs.
    """
    sides = [
        {"dataset": each.version, "config": each.config, **({"measured": each.measured} if each.measured else {})}
        for each in (stored, sent)
    ]
    difference = next(_differences(sides[0], sides[1], ""), None)
    if difference is None:
        return
    field, before, now = difference
    raise ConflictError(
        "run-conflict",
        f"Run {name!r} was measured with another {field}: {_shown(before)} there, {_shown(now)} here. Store this "
        "under another name, or begin the run anew with replace_run.",
    )


def missing_keys(config: Mapping[str, Any]) -> list[str]:
    """The known keys that nobody set."""
    return [key for key in KNOWN_KEYS if config.get(key) in (None, "", {}, [])]


def summarise(questions: int, retrievals: Iterable[bytes]) -> RunSummary:
    """A run in figures.

    Args:
        questions: How many questions it holds.
        retrievals: What retrieval found for each of them, as stored.
    """
    decoder = msgspec.json.Decoder(_Scored)
    found = map(decoder.decode, retrievals)
    columns = [scored.metrics for scored in found if scored.excluded is None]
    names = dict.fromkeys(name for metrics in columns for name in metrics)
    values = {
        _metric(name): np.array([_or_nan(metrics.get(name)) for metrics in columns], dtype=np.float64) for name in names
    }
    nothing = Estimate(value=None, ci=None, n=0, attempted=0, unscored=0, method="too_few")
    return RunSummary(
        questions=questions,
        rates=dict.fromkeys(("correct", "faithful", "faithful_given_claims", "behaved"), nothing),
        correct_by_faithful=dict.fromkeys(("tt", "tf", "ft", "ff"), 0),
        behavior={},
        metrics=estimates(values, confidence=CONFIDENCE, seed=SEED),
        diagnoses={},
        causes={},
        usage=Usage(),
        timings={},
    )


def _metric(name: str) -> Metric:
    family, _, cutoff = name.partition("@")
    return Metric(family, int(cutoff) if cutoff else None)


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def _differences(before: Any, now: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            step = f"{path}.{key}" if path else key
            yield from _differences(before.get(key, UNSET), now.get(key, UNSET), step)
    elif before != now:
        yield path, before, now


def _shown(value: Any | UnsetType) -> str:
    if value is UNSET:
        return "nothing"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
