"""How far one chunk came: held by the index, past the filter, within the rank, into the context."""

from typing import get_args

import msgspec
from msgspec import Struct

from befund.contract import Cause, CauseCode, Certainty, Stage, StageName
from befund.core.diagnosis.trace import SAME_TEXT, Place, Recorded, shown_rank

STAGES: tuple[StageName, ...] = get_args(StageName)


class Fault(Struct, frozen=True):
    """What went wrong, and at which stage."""

    stage: StageName
    cause: Cause


class Journey(Struct, frozen=True):
    """The stages that were looked at, and why it ended; `fault` is None for what arrived."""

    stages: dict[StageName, Stage]
    fault: Fault | None = None

    @property
    def reached(self) -> int:
        """The place of the stage where it ended; that behind the context for what arrived."""
        return STAGES.index(self.fault.stage if self.fault else "answer")


class _Travel:
    """Goes from stage to stage until one fails."""

    def __init__(self, chunk: str) -> None:
        self._chunk = chunk
        self.stages: dict[StageName, Stage] = {}

    def passed(self, name: StageName, detail: str | None = None, **about: object) -> None:
        self.stages[name] = Stage(stage=name, state="ok", detail=detail, chunk=self._chunk, **about)  # type: ignore[arg-type]

    def ended(
        self, name: StageName, code: CauseCode, detail: str, confidence: Certainty = "measured", **rests_on: object
    ) -> Journey:
        about = {key: value for key, value in rests_on.items() if key in ("rank", "k")}
        self.stages[name] = Stage(stage=name, state="failed", detail=detail, chunk=self._chunk, **about)  # type: ignore[arg-type]
        known = {key: value for key, value in rests_on.items() if key in Cause.__struct_fields__}
        cause = Cause(code=code, detail=detail, confidence=confidence, chunk=self._chunk, **known)  # type: ignore[arg-type]
        return Journey(self.stages, Fault(name, cause))


def journey_of(chunk: str, place: Place | None, recorded: Recorded, *, arrived: bool) -> Journey:
    """Follow a chunk.

    Args:
        chunk: Its id.
        place: What the index says of it; None where nobody looked.
        recorded: What is known of the answer's own retrieval.
        arrived: Whether what is wanted of it stands in the context.
    """
    travel = _Travel(chunk)
    position = _position(chunk, recorded)
    was_retrieved = position is not None or chunk in recorded.context
    if place is not None and not was_retrieved:
        ended = _through_index(travel, place, recorded)
        if ended is not None:
            return ended
    elif place is not None:
        _index_today(travel, place)
    ended = _through_ranking(travel, chunk, place, position, recorded)
    if ended is not None and not arrived:
        return ended
    if arrived:
        travel.passed("context")
        return Journey(travel.stages)
    return _into_context(travel, chunk, place, position, recorded)


def _through_index(travel: _Travel, place: Place, recorded: Recorded) -> Journey | None:
    if not place.held:
        return travel.ended("index", "CHUNK_MISSING", f"{place.chunk} is not in the collection")
    travel.passed("index")
    if place.clause is not None:
        clause = msgspec.json.encode(place.clause).decode()
        field = next(iter(place.clause))
        own = None if place.value is None else msgspec.json.encode(place.value).decode()
        said = f"; it has no field {field}" if own is None else f"; its {field} is {own}"
        said = "" if field.startswith("$") else said
        detail = f"{place.chunk} does not pass the clause {clause} of the filter{said}"
        return travel.ended("filter", "FILTERED_OUT", detail, clause=place.clause)
    travel.passed("filter")
    return None


def _index_today(travel: _Travel, place: Place) -> None:
    """What was retrieved was in the index then, whatever the index holds now."""
    travel.passed("index", None if place.held else "it was retrieved, but is no longer in the collection")
    if place.held:
        travel.passed("filter", None if place.clause is None else "it was retrieved, but does not pass this filter")


def _through_ranking(
    travel: _Travel, chunk: str, place: Place | None, position: int | None, recorded: Recorded
) -> Journey | None:
    k = recorded.k
    if position is not None:
        if k is not None and position > k:
            return travel.ended(
                "ranking", "RANKED_BELOW_K", f"{chunk} is at rank {position}, top_k is {k}", rank=position, k=k
            )
        travel.passed("ranking", rank=position, k=k)
        return None
    if chunk in recorded.context:
        travel.passed("ranking", "it is in the context", rank=_rank(place), k=k)
        return None
    if place is not None and place.rank is not None and k is not None:
        ended = _ranked(travel, place, place.rank, recorded, k)
        if ended is not None:
            return ended
    if recorded.retrieved is not None:
        now = "" if place is None or place.rank is None else f", though the index gives it at rank {place.rank} now"
        detail = f"{chunk} is not among the {len(recorded.retrieved)} chunks that were retrieved{now}"
        return travel.ended("ranking", "NOT_RETRIEVED", detail, rank=_rank(place), k=k)
    if place is not None:
        travel.passed("ranking", rank=_rank(place), k=k)
    return None


def _ranked(travel: _Travel, place: Place, rank: int, recorded: Recorded, k: int) -> Journey | None:
    shown = shown_rank(rank)
    at = f"rank {shown}" if isinstance(shown, int) else "a rank beyond 1000"
    if rank > k:
        if place.likeness is not None and place.likeness < SAME_TEXT:
            detail = (
                f"{place.chunk} is at {at}, top_k is {k}: its vector is not that of its text "
                f"(cosine {place.likeness:.2f})"
            )
            return travel.ended("ranking", "INDEX_UNREACHABLE", detail, rank=shown, k=k)
        limit = f"top_k is {k}" if recorded.k_is_told else f"top_k, which nobody said, is taken to be {k}"
        sure: Certainty = "measured" if recorded.k_is_told else "inferred"
        return travel.ended("ranking", "RANKED_BELOW_K", f"{place.chunk} is at {at}, {limit}", sure, rank=shown, k=k)
    if place.returned is False:
        own = {True: "a search with its own vector finds it", False: "not even its own vector finds it"}
        why = f"; {own[place.reachable]}" if place.reachable is not None else ""
        detail = f"{place.chunk} should be at {at} of {k}, but the index does not return it{why}"
        return travel.ended("ranking", "INDEX_UNREACHABLE", detail, rank=shown, k=k)
    return None


def _into_context(
    travel: _Travel, chunk: str, place: Place | None, position: int | None, recorded: Recorded
) -> Journey:
    if chunk in recorded.context:
        said = recorded.context[chunk] or ""
        if place is not None and place.text and said != place.text:
            kept = f"{len(said)} of {len(place.text)} characters"
            detail = f"{chunk} is in the context, but cut or changed ({kept}): what answers the question is not in it"
            return travel.ended("context", "DROPPED_FROM_CONTEXT", detail)
        detail = f"{chunk} is in the context, but what answers the question is not in its text there"
        return travel.ended("context", "DROPPED_FROM_CONTEXT", detail, "inferred")
    if position is not None:
        detail = f"{chunk} was retrieved at rank {position} and did not reach the context"
        return travel.ended("context", "DROPPED_FROM_CONTEXT", detail, rank=position)
    if place is not None and place.rank is not None:
        detail = f"the index gives {chunk} at rank {place.rank}, and it did not reach the context"
        return travel.ended("context", "DROPPED_FROM_CONTEXT", detail, "inferred", rank=place.rank)
    return travel.ended(
        "context", "NOT_RETRIEVED", f"{chunk} is not in the context; nobody looked into the index", "inferred"
    )


def _position(chunk: str, recorded: Recorded) -> int | None:
    if recorded.retrieved is None or chunk not in recorded.retrieved:
        return None
    return list(recorded.retrieved).index(chunk) + 1


def _rank(place: Place | None) -> object:
    return None if place is None or place.rank is None else shown_rank(place.rank)
