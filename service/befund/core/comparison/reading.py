"""From what the store holds, or a request brings, to one side of a comparison."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from befund.contract import Exclusion, JudgmentRecord, Level, RetrievalRecord
from befund.core.access import roles_of
from befund.core.comparison.names import GIVEN_CLAIMS
from befund.core.comparison.side import (
    DEFAULT_CUTOFFS,
    NO_ROW,
    Answered,
    Asked,
    Found,
    Measured,
    Ranked,
    Scored,
    Side,
)
from befund.core.datasets import Edition
from befund.core.eligibility import Gold, exclusion_of, gold_of
from befund.core.judge_tasks import ACL_LEAK
from befund.core.metrics import metric_named
from befund.core.retrieval.content import hash_of
from befund.core.retrieval.envelope import Grades, LazyQuestion, read_mapping, read_questions
from befund.core.retrieval.ranking import Retrieved
from befund.core.retrieval.run import Run as Rankings
from befund.core.runs import JUDGMENT, RETRIEVAL, Record, Run
from befund.core.voting import DIMENSIONS


class _Scored(Struct, frozen=True):
    metrics: dict[str, float | None]
    excluded: Exclusion | None


_SCORED = msgspec.json.Decoder(_Scored)
_RETRIEVAL = msgspec.json.Decoder(RetrievalRecord)
_JUDGMENT = msgspec.json.Decoder(JudgmentRecord)


class Wanted(Struct, frozen=True, kw_only=True):
    """How a side is looked at: its own cutoff where one was given, the level, and the largest cutoff of all."""

    k: int | None = None
    level: Level | None = None
    largest: int = 0


def asked_of(edition: Edition) -> dict[str, Asked]:
    """The questions of a data set version, in order."""
    dataset = edition.dataset()
    read = read_questions(dataset.questions)
    return {
        kept.id: Asked(
            kept.hash,
            _truth(question, grades),
            question.tags,
            question.split,
            question.critical,
            question.role,
            bool(question.non_relevant),
        )
        for kept, (question, grades) in zip(edition.questions, read, strict=True)
    }


def side_of_run(run: Run, records: Sequence[Record], edition: Edition, wanted: Wanted, *, name: str) -> Side:
    """A stored run as one side, which is called so."""
    measured = msgspec.convert(run.identity.measured, Measured)
    if wanted.level is not None:
        measured = msgspec.structs.replace(measured, level=wanted.level)
    cutoffs = _cutoffs(records)
    k = wanted.k or max(cutoffs, default=max(DEFAULT_CUTOFFS))
    builder = _Builder(measured, k=k, keep=max(k, wanted.largest, *cutoffs, 0))
    for record in records:
        if record.part == RETRIEVAL:
            builder.add_record(record.question_id, _RETRIEVAL.decode(record.json))
        elif record.part == JUDGMENT:
            builder.answered[record.question_id] = _answered(_JUDGMENT.decode(record.json))
    return builder.side(
        edition,
        name=name,
        k_given=wanted.k is not None,
        cutoffs=cutoffs,
        declared=max(wanted.k or 0, *cutoffs, 0),
        config=run.identity.whole,
        judges=run.identity.judges,
    )


def side_of_rankings(
    rankings: Rankings,
    edition: Edition,
    wanted: Wanted,
    *,
    name: str,
    config: Mapping[str, Any],
    among: Collection[str] | None = None,
) -> Side:
    """Rankings that a request brings as one side.

    Args:
        rankings: The rankings.
        edition: The data set they are measured on.
        wanted: How they are looked at.
        name: What the side is called.
        config: How they came about.
        among: Only these questions, and those that have a ranking; None for all of the data set.

    Raises:
        MalformedRequestError: A ranking does not decode.
        ContradictionError: One contradicts itself, or all belong to other questions.
    """
    measured = Measured(level=wanted.level or "chunk")
    cutoffs = [] if wanted.k is not None else list(DEFAULT_CUTOFFS)
    k = wanted.k or max(DEFAULT_CUTOFFS)
    builder = _Builder(measured, k=k, keep=max(k, wanted.largest, *cutoffs))
    dataset = edition.dataset()
    mapping = read_mapping(dataset)
    for question, grades in read_questions(dataset.questions):
        if among is not None and question.id not in among and question.id not in rankings:
            continue
        gold = gold_of(question, grades, mapping)
        look = rankings.look(question, gold)
        excluded = exclusion_of(question, gold, index=None)
        watched = look.ranking is not None and not set(look.ranking.ids[:k]).isdisjoint(question.non_relevant)
        builder.add(question.id, look.ranking, gold, Found(NO_ROW, None, 0, excluded, bool(look.leaks), watched))
    unknown = rankings.unknown({question.id for question in edition.questions})
    builder.names_roles = rankings.uses_roles
    return builder.side(
        edition,
        name=name,
        k_given=wanted.k is not None,
        cutoffs=cutoffs,
        declared=wanted.k,
        unknown=unknown,
        config=config,
        judges={},
    )


class _Builder:
    """Collects what is known, question by question; `k` is the own cutoff, of rankings the first `keep` are kept."""

    def __init__(self, measured: Measured, *, k: int, keep: int) -> None:
        self.found: dict[str, Found] = {}
        self.answered: dict[str, Answered] = {}
        self.names_roles = False
        self._measured = measured
        self._ranked = Ranked(measured)
        self._longest = 0
        self._k = k
        self._keep = keep

    def add_record(self, question: str, record: RetrievalRecord) -> None:
        """Take in what a run holds of one question."""
        ranking = None
        if record.ranking is not None:
            entries = record.ranking
            ranking = Retrieved([entry if isinstance(entry, str) else entry.id for entry in entries])
            if not self.names_roles:
                self.names_roles = any(not isinstance(entry, str) and entry.roles is not None for entry in entries)
        tokens = None if record.tokens is None else sum(record.tokens[: self._k])
        leaks, false_positives = bool(record.acl_leaks), bool(record.known_false_positives)
        known = Found(NO_ROW, None, 0, record.excluded, leaks, false_positives, tokens)
        self.add(question, ranking, Gold(record.relevant, record.evidence), known)

    def add(self, question: str, ranking: Retrieved | None, gold: Gold, known: Found) -> None:
        """Take in one question: its ranking completes what is known."""
        row, top, returned = NO_ROW, None, 0
        if ranking is not None:
            top, returned = ranking.ids[: self._keep], len(ranking.ids)
            self._longest = max(self._longest, returned)
            if known.excluded is None:
                row = self._ranked.add(ranking.ids, gold)
        self.found[question] = msgspec.structs.replace(known, row=row, top=top, returned=returned)

    def side(
        self,
        edition: Edition,
        *,
        name: str,
        k_given: bool,
        cutoffs: Sequence[int],
        declared: int | None,
        config: Mapping[str, Any],
        judges: Mapping[str, str],
        unknown: Sequence[str] = (),
    ) -> Side:
        """All of it; what is asked besides stands in `Side`."""
        return Side(
            name=name,
            k=self._k,
            k_given=k_given,
            cutoffs=cutoffs,
            declared=declared,
            unknown=unknown,
            measured=self._measured,
            config=config,
            judges=judges,
            generated=edition.version.generated,
            texts_kept=edition.version.content == "full",
            mapping=edition.version.mapping_hash,
            asked=asked_of(edition),
            found=self.found,
            answered=self.answered,
            ranked=self._ranked,
            names_roles=self.names_roles,
            longest=self._longest,
        )


def _cutoffs(records: Iterable[Record]) -> list[int]:
    """The cutoffs at which every scored question was measured; mostly they are the same for all of a run."""
    shared: set[int] | None = None
    names: tuple[str, ...] | None = None
    for record in records:
        if record.part != RETRIEVAL:
            continue
        scored = _SCORED.decode(record.json)
        if scored.excluded is not None or tuple(scored.metrics) == names:
            continue
        names = tuple(scored.metrics)
        found = {metric.k for name in names if (metric := metric_named(name)) and metric.k is not None}
        shared = found if shared is None else shared & found
    return sorted(shared or ())


def _answered(record: JudgmentRecord) -> Answered:
    judgment, generation = record.judgment, record.generation
    verdicts: dict[str, Scored] = {
        name: Scored(getattr(judgment, name), getattr(judgment.status, name)) for name in DIMENSIONS
    }
    is_open = judgment.status.faithful in ("failed", "abstained")  # whether it claims anything is not known either
    verdicts[GIVEN_CLAIMS] = verdicts["faithful"] if judgment.claims or is_open else Scored(None, "not_evaluable")
    usage = generation.usage if generation else None
    tokens = None if usage is None else _sum(usage.input_tokens, usage.output_tokens)
    return Answered(
        verdicts=verdicts,
        judge=judgment.judge.fingerprint,
        answer=None if record.answer is None else hash_of(record.answer),
        context=_context_hash(record),
        cached=judgment.cached,
        leaks=ACL_LEAK in judgment.flags,
        names_roles=any(roles_of(chunk.metadata) is not None for chunk in record.context or ()),
        tokens=tokens,
        latency_ms=generation.latency_ms if generation else None,
        cost_usd=usage.cost_usd if usage else None,
    )


def _context_hash(record: JudgmentRecord) -> str | None:
    if record.context is None:
        return None
    return hash_of([(chunk.id, chunk.text) for chunk in record.context])


def _sum(one: int | None, other: int | None) -> float | None:
    return None if one is None or other is None else float(one + other)


def _truth(question: LazyQuestion, grades: Grades) -> str:
    """Hash of what an answer is measured by; the mapping, tags, roles and known false positives are not."""
    graded = grades if isinstance(grades, dict) else dict.fromkeys(grades, 1.0)
    return hash_of(
        (
            question.question,
            question.expected_behavior,
            list(question.expected_facts),
            list(question.reference_answers),
            {evidence.id: evidence.relevance for evidence in question.evidence},
            graded,
        )
    )
