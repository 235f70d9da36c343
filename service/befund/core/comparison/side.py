"""One side of a comparison: what a run, or rankings sent along, hold question by question."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from befund.contract import Exclusion, Gain, JudgeStatus, Level
from befund.core.eligibility import ANY_POSITIVE_GRADE, Gold
from befund.core.metrics import Metric, Rankings, Values
from befund.core.retrieval.cases import find_items
from befund.core.retrieval.ranking import Retrieved, sight
from befund.core.retrieval.summary import QUESTIONS_AT_ONCE

DEFAULT_CUTOFFS = (1, 3, 5, 10)
NO_ROW = -1


class Asked(Struct, frozen=True, gc=False):
    """A question as a data set has it.

    Attributes:
        whole: Hash of all of it.
        truth: Hash of what an answer is measured by: text, expected behaviour, facts, references, gold.
        tags: Its tags.
        split: Its split.
        critical: Whether it is critical.
        role: Who asks.
        watched: Whether chunks are known that must not come back.
    """

    whole: str
    truth: str
    tags: Sequence[str] = ()
    split: str | None = None
    critical: bool = False
    role: str | None = None
    watched: bool = False


class Found(Struct, frozen=True, gc=False):
    """What retrieval gave for a question.

    Attributes:
        row: Its place among the side's rankings; `NO_ROW` where nothing is measured.
        top: The ranking down to the largest cutoff that is compared; None where there was none.
        returned: How many chunks the whole ranking has.
        excluded: Why it is not scored.
        tokens: Of the chunks down to the side's own cutoff; None where not known.
        leaks: Whether its role got chunks that it may not read.
        false_positives: Whether known false positives came back.
    """

    row: int
    top: Sequence[str] | None
    returned: int
    excluded: Exclusion | None
    leaks: bool
    false_positives: bool
    tokens: int | None = None


class Scored(Struct, frozen=True, gc=False):
    """One dimension of a judged answer."""

    value: bool | None
    status: JudgeStatus


class Answered(Struct, frozen=True, gc=False):
    """What an answer was judged to be, and what it cost.

    Attributes:
        verdicts: By dimension.
        judge: Fingerprint of who judged.
        answer: Hash of the answer; None where its text is not kept.
        context: Hash of its context; None where that is not known.
        cached: Whether the verdicts were given before.
        leaks: Whether its context held chunks its role may not read.
        names_roles: Whether any chunk of its context says who may read it.
        tokens: What the generator read and wrote; None where not known.
        latency_ms: How long it took.
        cost_usd: What it cost.
    """

    verdicts: Mapping[str, Scored]
    judge: str
    answer: str | None
    context: str | None
    cached: bool
    leaks: bool
    names_roles: bool
    tokens: float | None
    latency_ms: float | None
    cost_usd: float | None

    @property
    def failed(self) -> bool:
        """Whether its judge gave no judgment."""
        return any(verdict.status == "failed" for verdict in self.verdicts.values())


class Measured(Struct, frozen=True, kw_only=True):
    """How retrieval was measured: the options that change what a figure means."""

    level: Level = "chunk"
    gain: Gain = "linear"
    relevance_level: float | None = None


class Side(Struct, frozen=True, kw_only=True):
    """One side.

    Attributes:
        name: What it is called.
        k: Its own cutoff.
        k_given: Whether the caller gave it.
        cutoffs: Those it was measured at.
        declared: The largest of the cutoffs that somebody chose; None where all are defaults.
        unknown: Questions with a ranking that its data set does not have; they are not compared.
        measured: How retrieval was measured.
        config: What was measured.
        judges: Fingerprints of its judges by name.
        generated: Whether its questions were generated.
        texts_kept: Whether its data set has its texts.
        mapping: Hash of its evidence mapping.
        asked: The questions of its data set, in order.
        found: What retrieval gave, by question.
        answered: What was judged, by question.
        ranked: The rankings.
        names_roles: Whether any ranking says who may read a chunk.
        longest: The length of the longest ranking.
    """

    name: str
    k: int
    k_given: bool
    cutoffs: Sequence[int]
    declared: int | None
    unknown: Sequence[str] = ()
    measured: Measured
    config: Mapping[str, Any]
    judges: Mapping[str, str]
    generated: bool
    texts_kept: bool
    mapping: str
    asked: Mapping[str, Asked]
    found: Mapping[str, Found]
    answered: Mapping[str, Answered]
    ranked: "Ranked"
    names_roles: bool
    longest: int

    def holds(self, question: str) -> bool:
        """Whether anything was measured for a question."""
        return question in self.found or question in self.answered

    @property
    def top_k(self) -> int | None:
        """How many chunks were asked for, where the configuration says so."""
        retrieval = self.config.get("retrieval")
        asked = retrieval.get("top_k") if isinstance(retrieval, dict) else None
        return asked if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0 else None


class Ranked:
    """Rankings of chunks and, at level `evidence`, of evidence, with their gold."""

    def __init__(self, measured: Measured) -> None:
        self._level = measured.relevance_level or ANY_POSITIVE_GRADE
        self._chunks = Rankings(relevance_level=self._level, gain=measured.gain)
        self._items = Rankings() if measured.level == "evidence" else None

    def add(self, ids: Sequence[str], gold: Gold) -> int:
        """Take in one ranking; its place is returned."""
        sighting = sight(Retrieved(list(ids)), gold.grades)
        row = self._chunks.begin(gold.grades.values(), returned=sighting.returned)
        self._chunks.find(row, sighting.ranks, [gold.grades[chunk] for chunk in sighting.found])
        if self._items is not None:
            find_items(self._items, gold, sighting, relevance_level=self._level)
        return row

    def values(self, metrics: Sequence[Metric]) -> dict[Metric, Values]:
        """Each metric's value for each ranking; NaN where it is not defined."""
        found: dict[Metric, list[Values]] = {metric: [np.zeros(0)] for metric in metrics}
        for chunks, items in self._parts():
            for metric, values in found.items():
                values.append(metric.of(chunks if metric.family == "precision" else items))
        return {metric: np.concatenate(values) for metric, values in found.items()}

    def _parts(self) -> Iterator[tuple[Rankings, Rankings]]:
        if self._items is None:
            return ((part, part) for part in self._chunks.parts(QUESTIONS_AT_ONCE))
        return zip(self._chunks.parts(QUESTIONS_AT_ONCE), self._items.parts(QUESTIONS_AT_ONCE), strict=True)
