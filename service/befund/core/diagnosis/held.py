"""What a run already holds about a question, and what of it a diagnosis uses: what the request says wins."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from befund.contract import DiagnoseItem, Judgment, JudgmentRecord, RankingEntry, Usage
from befund.core.judge_tasks import Task, hash_of_judged
from befund.core.runs import JUDGMENT, RETRIEVAL, Record


class _Retrieval(Struct, frozen=True):
    """The ranking of a stored retrieval, without the rest."""

    ranking: list[str | RankingEntry] | None


class Held(Struct, frozen=True, kw_only=True):
    """What a run holds about one question.

    Attributes:
        ranking: The ranking before the context was put together, best first.
        top_k: How many chunks the search of the run was asked for.
        collection: The collection it searched.
        where: Its filter.
        judged: The judgment, with what was judged.
    """

    ranking: Sequence[str] | None = None
    top_k: int | None = None
    collection: str | None = None
    where: Mapping[str, Any] | None = None
    judged: JudgmentRecord | None = None


NOTHING = Held()
_RETRIEVAL = msgspec.json.Decoder(_Retrieval)
_JUDGMENT = msgspec.json.Decoder(JudgmentRecord)


def held_of(records: Iterable[Record], config: Mapping[str, Any]) -> Held:
    """What the records of one question say, with what the configuration of the run says of its search."""
    found = {record.part: record.json for record in records}
    ranking = _RETRIEVAL.decode(found[RETRIEVAL]).ranking if RETRIEVAL in found else None
    search = config.get("retrieval") if ranking is not None else None
    said = search if isinstance(search, dict) else {}
    top_k, collection, where = (said.get(name) for name in ("top_k", "collection", "where"))
    return Held(
        ranking=None if ranking is None else [entry if isinstance(entry, str) else entry.id for entry in ranking],
        top_k=top_k if type(top_k) is int and top_k > 0 else None,
        collection=collection if isinstance(collection, str) else None,
        where=where if isinstance(where, dict) else None,
        judged=_JUDGMENT.decode(found[JUDGMENT]) if JUDGMENT in found else None,
    )


def reusable(held: Held, task: Task, *, fingerprint: str | None) -> Judgment | None:
    """The judgment that a run holds of the very same answer, as one that was given before and costs nothing.

    Args:
        held: What the run holds.
        task: The answer.
        fingerprint: Of the judge that is asked for; None where any will do.
    """
    if held.judged is None or held.judged.judged != hash_of_judged(task.item):
        return None
    judgment, expected = held.judged.judgment, task.item.expected_behavior or "answer"
    decisive = judgment.status.correct if expected == "answer" else judgment.status.behaved
    if decisive != "scored" or fingerprint not in (None, judgment.judge.fingerprint):
        return None
    return replace(judgment, cached=True, usage=Usage())


def contradictions(held: Held, sent: DiagnoseItem, task: Task, *, reused: bool) -> Iterator[str]:
    """Where what was sent contradicts what the run holds."""
    if sent.retrieved is not None and held.ranking is not None:
        own = [entry if isinstance(entry, str) else entry.id for entry in sent.retrieved]
        both = min(len(own), len(held.ranking))
        if own[:both] != list(held.ranking[:both]):
            yield "The ranking that was sent is not the one that the run holds; the one that was sent counts."
    if None not in (sent.top_k, held.top_k) and sent.top_k != held.top_k:
        yield f"top_k is {sent.top_k} as it was sent, and {held.top_k} in the run; what was sent counts."
    if held.judged is not None and not reused:
        yield from _of_judgment(held.judged, sent, task)


def _of_judgment(held: JudgmentRecord, sent: DiagnoseItem, task: Task) -> Iterator[str]:
    counts = "the judge was asked anew" if sent.judgment is None else "the judgment that was sent counts"
    if held.judged is not None and held.judged != hash_of_judged(task.item):
        what = "answer" if held.answer != sent.answer else "context or of another ground truth"
        yield f"The run holds a judgment of another {what}; {counts}."
        return
    if sent.judgment is None:
        return
    for name in ("correct", "faithful", "behaved"):
        here, there = getattr(sent.judgment, name), getattr(held.judgment, name)
        if here is not None and there is not None and here != there:
            yield f"{name} is {_word(here)} in the judgment that was sent, {_word(there)} in the run; {counts}."


def _word(verdict: bool) -> str:
    return "true" if verdict else "false"
