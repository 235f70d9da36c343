"""Runs: what a run is, when two writes to it differ, what is stored a question, and a run in figures."""

import math
from array import array
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import repeat
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Raw, Struct, UnsetType

from befund.contract import Estimate, Exclusion, JudgeCalibration, RunSummary
from befund.core.datasets import StoredVersion
from befund.core.diagnosis.tally import DiagnosedTally
from befund.core.errors import ConflictError
from befund.core.judged_tally import JudgedTally
from befund.core.metrics import Metric, metric_named
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

RETRIEVAL = "retrieval"
JUDGMENT = "judgment"
DIAGNOSIS = "diagnosis"
"""The parts of the service that write to runs, as records name them."""

LARGEST_CONFIG = 256 * 1024
"""Bytes of a configuration, as JSON."""

CONFIDENCE, SEED = 0.95, 7
_LONGEST_SHOWN = 60


class Identity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every write to a run must share.

    Attributes:
        version: Hash of the data set version.
        config: What was measured, with what the service knows itself.
        measured: Options that change what a retrieval figure means, as the level.
        judges: Fingerprint of every judge that judged in it, by name.
        said: By part of the service the keys of `config` that it gave; empty where retrieval alone did.
    """

    version: str
    config: dict[str, Any]
    measured: dict[str, Any]
    judges: dict[str, str] = {}
    said: dict[str, list[str]] = {}

    @property
    def whole(self) -> dict[str, Any]:
        """The configuration, with the judges where any judged."""
        return {**self.config, "judge": self.judges} if self.judges else self.config

    @property
    def fingerprint(self) -> str:
        """One hash for the configuration."""
        return hash_of(self.whole)

    @property
    def parts(self) -> dict[str, dict[str, Any]]:
        """By part of the service what it said of the configuration."""
        said = self.said or {RETRIEVAL: list(self.config)}
        return {part: {key: self.config[key] for key in keys} for part, keys in said.items()}


class Figures(Struct, frozen=True):
    """Means of a run on a split of a stored data set (None: one sent inline) or on all of it (None)."""

    run: str
    dataset: str | None
    split: str | None
    metrics: Mapping[str, Estimate]


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
    """A stored run without its records, of which there may be several a question.

    `key` tells it from a later one of the same name.
    """

    key: int
    name: str
    dataset_name: str | None
    identity: Identity
    dataset: StoredVersion
    questions: int
    records: int
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
    tokens: list[int] | None = None


class _Scored(Struct, frozen=True):
    """The figures of a stored retrieval, without the rest."""

    metrics: dict[str, float | None]
    excluded: Exclusion | None


def refuse_other(name: str, stored: Identity, sent: Identity) -> None:
    """Refuse a write that is not the same run.

    A part of the service that wrote before must say the same again, all of it; what several parts say must agree.

    Raises:
        ConflictError: `run-conflict`, naming the first thing that differs.
    """
    difference = next(_differences_of(stored, sent), None)
    if difference is None:
        return
    field, before, now = difference
    raise ConflictError(
        "run-conflict",
        f"Run {name!r} was measured with another {field}: {_shown(before)} there, {_shown(now)} here. Store this "
        "under another name, or begin the run anew with replace_run (--replace-run).",
    )


def joined(name: str, stored: Identity, sent: Identity) -> Identity:
    """What a run is once the write is in it; raises as `refuse_other` does."""
    refuse_other(name, stored, sent)
    parts = {**stored.parts, **sent.parts}
    return Identity(
        version=stored.version,
        config={**stored.config, **sent.config},
        measured=sent.measured or stored.measured,
        judges={**stored.judges, **sent.judges},
        said={part: list(config) for part, config in parts.items()} if parts.keys() != {RETRIEVAL} else {},
    )


def _differences_of(stored: Identity, sent: Identity) -> Iterator[tuple[str, Any, Any]]:
    if stored.version != sent.version:
        yield "dataset", stored.version, sent.version
    for part, config in sent.parts.items():
        if part in stored.parts:
            yield from differences(stored.parts[part], config, "config")
    for key in sorted(stored.config.keys() & sent.config.keys()):
        yield from differences(stored.config[key], sent.config[key], f"config.{key}")
    if RETRIEVAL in stored.parts and RETRIEVAL in sent.parts:
        yield from differences(stored.measured, sent.measured, "measured")
    for judge in sorted(stored.judges.keys() & sent.judges.keys()):
        yield from differences(stored.judges[judge], sent.judges[judge], f"fingerprint of judge {judge}")


def completed(given: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A configuration with what the service knows itself, which wins.

    Other keys of the same objects are kept; what was given in place of such an object stands in it as `given`.
    """
    whole = dict(given)
    for key, value in known.items():
        own = given.get(key, {})
        whole[key] = (own if isinstance(own, dict) else {"given": own}) | dict(value)
    return whole


def compared(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a configuration makes a run another one: not its hash, nor what its data set is called."""
    kept = {key: value for key, value in config.items() if key != "fingerprint"}
    dataset = kept.get("dataset")
    if isinstance(dataset, dict):
        kept["dataset"] = {key: value for key, value in dataset.items() if key != "name"}
    return kept


def missing_keys(config: Mapping[str, Any]) -> list[str]:
    """The known keys that nobody set."""
    return [key for key in KNOWN_KEYS if config.get(key) in (None, "", {}, [])]


class Tally:
    """Adds up what a run holds, record by record, to its summary."""

    def __init__(self) -> None:
        self.judged = JudgedTally()
        self.diagnosed = DiagnosedTally()
        self._decoder = msgspec.json.Decoder(_Scored)
        self._columns: dict[str, array[float]] = {}
        self._eligible = 0

    def add(self, retrieval: bytes) -> None:
        """Take in what retrieval found for one question, as stored."""
        scored = self._decoder.decode(retrieval)
        if scored.excluded is not None:
            return
        for name, value in scored.metrics.items():
            if name not in self._columns and metric_named(name) is None:
                continue
            column = self._columns.setdefault(name, array("d"))
            column.extend(repeat(math.nan, self._eligible - len(column)))
            column.append(math.nan if value is None or not 0 <= value <= 1 else value)
        self._eligible += 1

    def summary(
        self, questions: int, calibrations: Mapping[str, Mapping[str, JudgeCalibration]] | None = None
    ) -> RunSummary:
        """The run in figures.

        Args:
            questions: How many it holds.
            calibrations: How judges agree with people, by fingerprint and dimension.
        """
        for column in self._columns.values():
            column.extend(repeat(math.nan, self._eligible - len(column)))
        values = {_metric(name): np.frombuffer(column, dtype=np.float64) for name, column in self._columns.items()}
        return RunSummary(
            questions=questions,
            rates=self.judged.rates(CONFIDENCE),
            correct_by_faithful=self.judged.correct_by_faithful,
            behavior=self.judged.behavior,
            metrics=estimates(values, confidence=CONFIDENCE, seed=SEED),
            diagnoses=self.diagnosed.diagnoses(),
            causes=self.diagnosed.causes(),
            usage=self.judged.usage(),
            timings=self.judged.timings(),
            corrected=self.judged.corrected(calibrations or {}, CONFIDENCE),
        )


def _metric(name: str) -> Metric:
    family, _, cutoff = name.partition("@")
    return Metric(family, int(cutoff) if cutoff else None)


def differences(before: Any, now: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Where two JSON values differ: the path, and both values (UNSET where one has none).

    >>> list(differences({"a": {"b": 1}}, {"a": {"b": 2}}, "config"))
    [('config.a.b', 1, 2)]
    >>> list(differences([1, 0], [1.0, False], "config.a"))
    [('config.a', [1, 0], [1.0, False])]
    """
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            step = f"{path}.{key}" if path else key
            yield from differences(before.get(key, UNSET), now.get(key, UNSET), step)
    elif not _same(before, now):
        yield path, before, now


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are one: 1 and 1.0 are, and true is neither."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def _shown(value: Any | UnsetType) -> str:
    if value is UNSET:
        return "nothing"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
