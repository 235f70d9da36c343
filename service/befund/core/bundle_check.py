"""Whether the records of a bundle say what follows from their rankings and the gold of their data set."""

import math
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from befund.contract import Gain, Level, RetrievalRecord
from befund.core.datasets import Edition
from befund.core.eligibility import ANY_POSITIVE_GRADE, Gold, exclusion_of, gold_of
from befund.core.metrics import EVIDENCE_LEVEL, Rankings, metric_named
from befund.core.retrieval.cases import find_items
from befund.core.retrieval.envelope import LazyQuestion, read_mapping, read_questions
from befund.core.retrieval.ranking import in_rank_order, sight
from befund.core.runs import RETRIEVAL, Record

TOLERANCE = 1e-9
_PORTION = 4_096
_FOUND = msgspec.json.Decoder(RetrievalRecord)


class _Measured(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    level: Level
    gain: Gain
    relevance_level: Annotated[float, Meta(gt=0)] | None


def contradiction(edition: Edition, measured: dict[str, object], records: Sequence[Record]) -> str | None:
    """The first thing that retrieval records say and that does not follow; None where all of it does.

    Access leaks and known false positives follow from more than one record; they must only have come back.

    Args:
        edition: The data set.
        measured: The options of the run, as `befund.core.runs.Identity` has them.
        records: What was found.
    """
    retrieved = [record for record in records if record.part == RETRIEVAL]
    if not retrieved:
        return None
    try:
        options = msgspec.convert(measured, _Measured)
    except msgspec.ValidationError as error:
        return f"what it says was measured cannot be: {error}"
    dataset = edition.dataset()
    check = _Check(options, read_mapping(dataset), list(read_questions(dataset.questions)))
    portions = (retrieved[start : start + _PORTION] for start in range(0, len(retrieved), _PORTION))
    return next((wrong for portion in portions if (wrong := check.contradiction(portion))), None)


class _Check:
    def __init__(
        self,
        options: _Measured,
        mapping: dict[str, list[str]],
        questions: list[tuple[LazyQuestion, dict[str, float] | list[str]]],
    ) -> None:
        self._options = options
        self._level = options.relevance_level or ANY_POSITIVE_GRADE
        self._mapping = mapping
        self._questions = questions

    def contradiction(self, records: Sequence[Record]) -> str | None:
        chunks = Rankings(relevance_level=self._level, gain=self._options.gain)
        items = Rankings()
        scored: list[tuple[str, dict[str, float | None]]] = []
        for record in records:
            found = _FOUND.decode(record.json)
            question, grades = self._questions[record.position]
            gold = gold_of(question, grades, self._mapping, relevance_level=self._level)
            wrong = self._wrong(found, question, gold)
            if wrong is not None:
                return f"the {wrong} of question {record.question_id!r} does not follow from its ranking and gold"
            if found.excluded is None:
                ranking = in_rank_order(found.ranking or [])
                chunks.add(ranking.ids, gold.grades)
                find_items(items, gold, sight(ranking, gold.grades), relevance_level=self._level)
                scored.append((record.question_id, found.metrics))
        return self._wrong_metric(scored, chunks, items)

    def _wrong(self, found: RetrievalRecord, question: LazyQuestion, gold: Gold) -> str | None:
        """What of a record does not follow, besides its metrics."""
        excluded = exclusion_of(question, gold, index=None, relevance_level=self._level)
        sighting = sight(in_rank_order(found.ranking or []), gold.relevant(self._level))
        ids = {entry if isinstance(entry, str) else entry.id for entry in found.ranking or []}
        follows = {
            "relevant": found.relevant == gold.grades,
            "evidence": found.evidence == gold.evidence,
            "unmapped": found.unmapped == list(gold.unmapped),
            "excluded": found.excluded == excluded or (excluded is None and found.excluded == "index"),
            "metrics": found.excluded is None or not found.metrics,
            "first_relevant_rank": found.first_relevant_rank == min(sighting.ranks, default=None),
            "acl_leaks": ids.issuperset(found.acl_leaks),
            "known_false_positives": ids.issuperset(found.known_false_positives),
            "duplicates": ids.issuperset(found.duplicates),
            "tokens": found.tokens is None or len(found.tokens) == len(found.ranking or []),
        }
        return next((name for name, does in follows.items() if not does), None)

    def _wrong_metric(
        self, scored: list[tuple[str, dict[str, float | None]]], chunks: Rankings, items: Rankings
    ) -> str | None:
        by_evidence = self._options.level == "evidence"
        for name in sorted({name for _, metrics in scored for name in metrics}):
            metric = metric_named(name)
            if metric is None or (by_evidence and metric.family not in EVIDENCE_LEVEL):
                return f"there is no metric {name!r} at level {self._options.level}"
            values = metric.of(items if by_evidence and metric.family != "precision" else chunks)
            for (question, metrics), value in zip(scored, values.tolist(), strict=True):
                if name in metrics and not _same(metrics[name], value):
                    return f"{name} of question {question!r} is {metrics[name]}, but {value} by its ranking and gold"
        return None


def _same(said: float | None, value: float) -> bool:
    if said is None or math.isnan(value):
        return said is None and math.isnan(value)
    return abs(said - value) <= TOLERANCE
