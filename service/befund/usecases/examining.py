"""Examines one answer: has texts read for what is wanted, and puts together all that was looked at."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from befund.contract import Diagnosis, Judgment
from befund.core.diagnosis.cases import Case
from befund.core.diagnosis.diagnose import Examined, diagnose
from befund.core.diagnosis.generation import Said
from befund.core.diagnosis.trace import Trace
from befund.core.judge_tasks import leaks
from befund.ports import FactReader, Metadata
from befund.usecases.reading import read_echoes, read_evidence


class Looked(Struct, frozen=True):
    """What a look into the index showed of the gold (None where nobody looked), and of chunks' metadata."""

    traces: Mapping[str, Trace] | None = None
    metadata: Mapping[str, Metadata] = {}


async def examine(
    reader: FactReader, case: Case, judgment: Judgment, looked: Looked, *, notes: Sequence[str] = ()
) -> Diagnosis:
    """Say what became of an answer.

    Args:
        reader: Reads texts for facts.
        case: The answer.
        judgment: The verdicts on it.
        looked: What the index shows.
        notes: What a reader should know beside.
    """
    gold = _gold_chunks(case, looked.traces)
    about = _about(case, gold, looked.metadata)
    evidence, quotes = await read_evidence(reader, case, about)
    wrong = judgment.correct is False and case.expected == "answer"
    echoes = await read_echoes(reader, case, judgment, about) if wrong else []
    generation = case.sent.generation
    said = Said(
        question=case.sought.question,
        judgment=judgment,
        error=generation.error if generation else None,
        evidence=evidence,
        echoes=echoes,
        about=about,
        gold_chunks=gold,
        about_gold={chunk: about[chunk] for chunk in gold if chunk in about},
    )
    examined = Examined(
        question_id=case.sent.question_id,
        expected=case.expected,
        has_truth=case.has_truth,
        said=said,
        recorded=case.recorded,
        traces=looked.traces,
        quotes=quotes,
        leaks=_leaks(case, about),
        notes=notes,
    )
    return diagnose(examined)


def _gold_chunks(case: Case, traces: Mapping[str, Trace] | None) -> frozenset[str]:
    """The chunks that hold the gold, as was said or found."""
    said = {chunk for wanted in case.sought.wanted for chunk in wanted.chunks}
    return frozenset(said.union(place.chunk for trace in (traces or {}).values() for place in trace.places))


def _about(case: Case, gold: frozenset[str], known: Mapping[str, Metadata]) -> dict[str, Metadata]:
    """What is known of the chunks of the context and of the gold; what the caller says of them wins."""
    about = {chunk: known[chunk] for chunk in (*gold, *case.recorded.context) if chunk in known}
    for chunk in case.sent.context or ():
        about[chunk.id] = {**about.get(chunk.id, {}), **chunk.metadata}
    return about


def _leaks(case: Case, about: Mapping[str, Metadata]) -> list[str]:
    chunks = [msgspec.structs.replace(chunk, metadata=dict(about[chunk.id])) for chunk in case.sent.context or ()]
    return leaks(chunks, case.sent.role)
