"""Makes sides of a comparison and compares them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from befund.contract import (
    CompareOptions,
    CompareResponse,
    Finding,
    Gate,
    GateResult,
    JudgeInfo,
    Judgment,
    JudgmentRecord,
    JudgmentStatus,
    MetricComparison,
    Usage,
)
from befund.core.comparison.compare import bring_together, report
from befund.core.comparison.reading import Wanted, side_of_rankings, side_of_run
from befund.core.comparison.side import Side
from befund.core.datasets import Edition, StoredVersion, edition_of
from befund.core.retrieval.envelope import LazyDataset, QuestionId
from befund.core.retrieval.run import Run as Rankings
from befund.core.runs import JUDGMENT, Identity, Record, Run

ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
Verdicts = Mapping[str, bool | str]
"""By question true, false, or a status in place of a verdict."""


def questions(*ids: str, **fields: Any) -> list[dict[str, Any]]:
    """Questions with one relevant chunk each, `gold`."""
    return [{"id": each, "question": f"What is {each}?", "relevant": ["gold"], **fields} for each in ids]


def edition(asked: Sequence[dict[str, Any]], **fields: Any) -> Edition:
    raw = msgspec.json.encode({"questions": asked, **fields})
    return edition_of(msgspec.json.decode(raw, type=LazyDataset), content="full")


def ranked(
    asked: Sequence[dict[str, Any]],
    rankings: Mapping[str, Any],
    *,
    k: int | None = 1,
    name: str = "side",
    config: Mapping[str, Any] | None = None,
    level: Any = None,
    **dataset: Any,
) -> Side:
    """A side of rankings."""
    raws = {QuestionId(each): msgspec.Raw(msgspec.json.encode(ranking)) for each, ranking in rankings.items()}
    return side_of_rankings(
        Rankings(raws), edition(asked, **dataset), Wanted(k=k, level=level, largest=10), name=name, config=config or {}
    )


def hits(ids: str, *, of: str, deep: int = 1) -> dict[str, list[str]]:
    """Rankings of some questions, a letter each, of which these have the gold chunk on top."""
    return {each: (["gold"] if each in ids else ["other"]) + [f"c{i}" for i in range(deep - 1)] for each in of}


class Judging(msgspec.Struct, frozen=True):
    """A side of verdicts on one dimension, with what it was made of."""

    side: Side
    records: list[Record]
    edition: Edition


def judged(verdicts: Verdicts, **fields: Any) -> Side:
    """A side of verdicts on one dimension."""
    return judging(verdicts, **fields).side


def judging(
    verdicts: Verdicts,
    *,
    asked: Sequence[dict[str, Any]] | None = None,
    name: str = "side",
    answers: Mapping[str, str] | None = None,
    judge: str = "sha256:judge",
    cached: bool = False,
    dimension: str = "correct",
    **dataset: Any,
) -> Judging:
    """The same, with its records."""
    whole = edition(asked or questions(*verdicts), **dataset)
    said = {each: (answers or {}).get(each, f"{name} {each}") for each in verdicts}
    records = [
        _record(each, place, verdicts[each.id], dimension, said[each.id], judge, cached)
        for place, each in enumerate(whole.questions)
        if each.id in verdicts
    ]
    run = Run(
        key=1,
        name=name,
        dataset_name=None,
        identity=Identity(version=whole.version.hash, config={}, measured={}, judges={"rules": judge}),
        dataset=StoredVersion(whole.version, ANY_TIME),
        questions=len(records),
        records=len(records),
        created=ANY_TIME,
        updated=ANY_TIME,
    )
    return Judging(side_of_run(run, records, whole, Wanted(), name=name), records, whole)


def _record(
    question: Any, place: int, said: bool | str, dimension: str, answer: str, judge: str, cached: bool
) -> Record:
    status = {each: "not_evaluable" for each in ("correct", "faithful", "behaved")}
    status[dimension] = said if isinstance(said, str) else "scored"
    verdicts = {each: said if each == dimension and isinstance(said, bool) else None for each in status}
    judgment = Judgment(
        **verdicts,
        status=JudgmentStatus(**status),  # type: ignore[arg-type]
        reason="",
        facts=[],
        claims=[],
        observed_behavior=None,
        agreement=1.0,
        flags=[],
        judge=JudgeInfo(name="rules", model=None, rubric=None, fingerprint=judge),
        usage=Usage(),
        cached=cached,
        latency_ms=1.0,
        id="j",
    )
    record = JudgmentRecord(judgment=judgment, answer=answer, context=None, expected_behavior=None)
    return Record(
        question_id=question.id,
        question_hash=question.hash,
        position=place,
        part=JUDGMENT,
        json=msgspec.json.encode(record),
    )


def compare(baseline: Side, candidate: Side, *gates: dict[str, Any], **options: Any) -> CompareResponse:
    wanted = msgspec.convert(gates, list[Gate])
    given = CompareOptions(**options)
    return report(bring_together(baseline, candidate, given, wanted), given, wanted)


def gate(baseline: Side, candidate: Side, **fields: Any) -> GateResult:
    """What one gate says."""
    return compare(baseline, candidate, fields).gates[0]


def metric(answer: CompareResponse, name: str) -> MetricComparison:
    return next(each for each in answer.metrics if each.metric == name)


def finding(answer: CompareResponse, code: str) -> Finding | None:
    return next((each for each in answer.findings if each.code == code), None)
