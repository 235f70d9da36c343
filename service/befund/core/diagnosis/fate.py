"""What became of one piece of gold on its way into the context."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from befund.contract import Cause, Stage, StageName
from befund.core.diagnosis.evidence import Seen
from befund.core.diagnosis.journey import STAGES, Fault, Journey, journey_of
from befund.core.diagnosis.trace import BEYOND, Place, Recorded, Trace


class Fate(Struct, frozen=True):
    """The stages one piece of gold passed, and what went wrong with it, the earliest first: nothing if it arrived."""

    stages: Mapping[StageName, Stage]
    faults: Sequence[Fault]

    @property
    def reached(self) -> int:
        """The place of the stage where it ended; that behind the context for what arrived."""
        return STAGES.index(self.faults[0].stage if self.faults else "answer")

    @property
    def rank(self) -> int:
        """How far down it stands."""
        return _rank(self.stages)


def fate_of(seen: Seen, trace: Trace | None, recorded: Recorded, *, arrived: bool) -> Fate:
    """Follow one piece of gold.

    Args:
        seen: The piece.
        trace: What the index says of it; None where nobody looked.
        recorded: What is known of the answer's own retrieval.
        arrived: Whether what is wanted of it stands in the context.
    """
    places: dict[str, Place | None] = {place.chunk: place for place in trace.places} if trace else {}
    chunks = list(places) or list(seen.wanted.chunks)
    journeys = {chunk: journey_of(chunk, places.get(chunk), recorded, arrived=arrived) for chunk in chunks}
    chosen = _decisive(journeys, trace, seen)
    lost, split = _of_document(seen, trace, chosen), _of_split(trace, journeys, recorded)
    halved = split and any(chunk in recorded.context for chunk in journeys)
    if halved and not any(fault.stage in ("index", "filter") for fault in lost):
        lost, split = split, lost
    faults = [*_of_mapping(seen, trace), *lost, *split]
    stages = _stages(chosen, faults, trace)
    return Fate(stages, [] if arrived else faults)


def _decisive(journeys: Mapping[str, Journey], trace: Trace | None, seen: Seen) -> Journey | None:
    """Of chunks that each hold the passage the one that came furthest; of those that hold it together the others."""
    together = (trace is not None and trace.text == "split") or (seen.wanted.quote is None)
    choose = min if together else max
    return choose(journeys.values(), key=lambda each: (each.reached, -_rank(each.stages)), default=None)


def _rank(stages: Mapping[StageName, Stage]) -> int:
    rank = stages["ranking"].rank if "ranking" in stages else None
    return rank if isinstance(rank, int) else BEYOND


def _of_mapping(seen: Seen, trace: Trace | None) -> list[Fault]:
    wanted = seen.wanted
    located = "" if trace is None or not trace.places else ", ".join(place.chunk for place in trace.places)
    if trace is not None and trace.text == "elsewhere" and wanted.chunks:
        detail = (
            f"evidence {wanted.id} is mapped to {', '.join(wanted.chunks)}, but its quote stands in {located}: the "
            "mapping does not fit this collection"
        )
    elif wanted.unmapped:
        detail = f"the mapping names no chunk for evidence {wanted.id}"
        detail += f"; its quote stands in {located}" if located else ""
    elif not wanted.chunks and trace is not None and not located and trace.document is None:
        detail = f"nobody says which chunks hold evidence {wanted.id}, and it names no document to look into"
    elif not wanted.chunks and trace is None:
        detail = f"nobody says which chunks hold evidence {wanted.id}, and the index was not looked into"
        return [Fault("mapping", Cause(code="UNMAPPED_EVIDENCE", detail=detail, confidence="inferred"))]
    else:
        return []
    return [Fault("mapping", Cause(code="UNMAPPED_EVIDENCE", detail=detail, confidence="measured"))]


def _of_document(seen: Seen, trace: Trace | None, chosen: Journey | None) -> list[Fault]:
    """What ended the journey, put down to the document where that is gone, or to the text where that lost the quote."""
    ended = chosen.fault if chosen is not None else None
    if trace is None:
        return [ended] if ended else []
    lacking = chosen is None or (ended is not None and ended.cause.code == "CHUNK_MISSING")
    if lacking and trace.document_held is False:
        detail = f"no chunk of document {trace.document} is in the collection"
        chunk = ended.cause.chunk if ended else None
        return [Fault("index", Cause(code="DOCUMENT_MISSING", detail=detail, confidence="measured", chunk=chunk))]
    if trace.text == "lost" and not (seen.wanted.unmapped and trace.document_held is None):
        where = ", ".join(place.chunk for place in trace.places) or f"any chunk of document {trace.document}"
        cause = Cause(
            code="TEXT_LOST",
            detail=f"the quote of evidence {seen.wanted.id} no longer stands in {where}",
            confidence="measured",
            chunk=trace.places[0].chunk if trace.places else None,
            passage=seen.wanted.quote,
        )
        return [Fault("index", cause), *([ended] if ended and ended.stage != "index" else [])]
    return [ended] if ended else []


def _of_split(trace: Trace | None, journeys: Mapping[str, Journey], recorded: Recorded) -> list[Fault]:
    if trace is None or trace.text != "split":
        return []
    names = list(journeys)
    there = [chunk for chunk in names if chunk in recorded.context]
    lost = [chunk for chunk in names if chunk not in recorded.context]
    detail = f"the quote of evidence {trace.wanted.id} is cut over {' and '.join(names)}"
    detail += f"; {', '.join(there)} reached the context without {', '.join(lost)}" if there and lost else ""
    ended: list[StageName] = [fault.stage for chunk in lost if (fault := journeys[chunk].fault)]
    stage = ended[0] if ended else "context"
    cause = Cause(
        code="SPLIT_ACROSS_CHUNKS",
        detail=detail,
        confidence="measured",
        chunk=(lost or names)[0],
        passage=trace.wanted.quote,
    )
    return [Fault(stage, cause)]


def _stages(chosen: Journey | None, faults: list[Fault], trace: Trace | None) -> dict[StageName, Stage]:
    """Those of the journey, with the first fault marked and nothing told of what lies behind it."""
    known: dict[StageName, Stage] = {"mapping": Stage(stage="mapping", state="ok")}
    known.update(chosen.stages if chosen else {})
    if trace is not None and trace.text == "elsewhere" and not trace.wanted.chunks:
        places = ", ".join(place.chunk for place in trace.places)
        known["mapping"] = Stage(stage="mapping", state="ok", detail=f"found by its quote in {places}")
    if not faults:
        return known
    first = min(faults, key=lambda fault: STAGES.index(fault.stage))
    stages = {name: stage for name, stage in known.items() if STAGES.index(name) < STAGES.index(first.stage)}
    failed = known.get(first.stage) or Stage(stage=first.stage, state="failed", chunk=first.cause.chunk)
    return stages | {first.stage: replace(failed, state="failed", detail=first.cause.detail)}
