"""Where the gold was lost on its way into the context: the retrieval side of a diagnosis."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from befund.contract import Cause, Stage, StageName, StageState
from befund.core.diagnosis.evidence import Evidence, Reading, Seen, states, top_of
from befund.core.diagnosis.fate import Fate, fate_of
from befund.core.diagnosis.journey import STAGES
from befund.core.diagnosis.trace import Recorded, Trace
from befund.core.diagnosis.wording import listed

TO_CONTEXT = STAGES[: STAGES.index("answer")]
INDEX_STAGES: tuple[StageName, ...] = ("index", "filter", "ranking")
MOST_CAUSES = 10
"""A question may have hundreds of gold chunks, none of which arrived."""


class Walk(Struct, frozen=True):
    """The stages up to the context, and the causes found, the decisive one first."""

    stages: Sequence[Stage]
    causes: Sequence[Cause] = ()


def walk(
    evidence: Evidence, traces: Mapping[str, Trace] | None, recorded: Recorded, quotes: Sequence[Reading] = ()
) -> Walk:
    """Follow the gold from the ground truth into the context.

    Args:
        evidence: What of it is in the context.
        traces: What the index says of each piece, by id; None where nobody looked.
        recorded: What is known of the answer's own retrieval.
        quotes: What the rules see of the facts in the quotes of the gold.
    """
    lost = _lost(evidence, quotes)
    fates = {
        seen.wanted.id: fate_of(
            seen,
            traces.get(seen.wanted.id) if traces else None,
            recorded,
            arrived=bool(seen.in_context) and seen not in lost,
        )
        for seen in evidence.gold
    }
    if evidence.present is not False:
        best = max(fates.values(), key=lambda fate: (fate.reached, -fate.rank), default=None)
        return Walk(_stages(best, probed=traces is not None, context="ok" if evidence.present else "skipped"))
    decisive = {wanted.id for wanted in top_of(seen.wanted for seen in lost)}
    focus = min((fates[id_] for id_ in decisive), key=lambda fate: fate.reached, default=None)
    causes = [
        fault.cause for fate in (focus, *(fates[seen.wanted.id] for seen in lost)) if fate for fault in fate.faults
    ]
    causes = _with_what_is_there(causes, evidence, focus)
    return Walk(_stages(focus, probed=traces is not None, context="failed", detail=causes[0].detail), _once(causes))


def _lost(evidence: Evidence, quotes: Sequence[Reading]) -> list[Seen]:
    """The gold whose absence matters: that which states a fact that is missing, as far as the rules can read it.

    A chunk that is there by its id, while the text states too little, has not brought what it should.
    """
    if evidence.present is not False:
        return []
    absent = [seen for seen in evidence.gold if not seen.in_context or (seen.by == "id" and evidence.by == "text")]
    missing = [at for at, place in enumerate(evidence.facts) if place.chunk is None]
    stating = {reading.id for reading in quotes if any(states(reading, at) for at in missing)}
    return [seen for seen in absent if seen.wanted.id in stating] or absent


def _with_what_is_there(causes: list[Cause], evidence: Evidence, focus: Fate | None) -> list[Cause]:
    """With what the context holds: a part of the evidence is the cause where nobody looked for the rest."""
    partial = _partial(evidence)
    if partial is not None:
        unknown = not causes or (causes[0].code == "NOT_RETRIEVED" and causes[0].confidence == "inferred")
        return [partial, *causes] if unknown else [*causes, partial]
    if causes:
        return causes
    if focus is not None or evidence.gold:
        detail = "the gold is in the context, but nothing there states the expected facts: review the gold"
        return [Cause(code="UNKNOWN", detail=detail, confidence="inferred")]
    said = f"nothing in the context states {listed(evidence.missing)}"
    detail = f"{said}; no gold chunk is known to look for" if evidence.facts else "the context holds no evidence"
    return [Cause(code="NOT_RETRIEVED", detail=detail, confidence="inferred")]


def _partial(evidence: Evidence) -> Cause | None:
    stated = [place.fact for place in evidence.facts if place.chunk is not None]
    if evidence.by == "text" and evidence.facts:
        if not stated:
            return None
        detail = f"the context states {listed(stated)}, but not {listed(evidence.missing)}"
    else:
        there = [seen.wanted.id for seen in evidence.gold if seen.in_context]
        lacking = [seen.wanted.id for seen in evidence.gold if not seen.in_context]
        if not there:
            return None
        detail = f"the context holds {listed(there)}, but not {listed(lacking)}"
    return Cause(code="PARTIAL_EVIDENCE", detail=detail, confidence="measured")


def _stages(fate: Fate | None, *, probed: bool, context: StageState, detail: str | None = None) -> list[Stage]:
    """Every stage up to the context; behind the one that failed nothing was left to look at."""
    known: dict[StageName, Stage] = dict(fate.stages) if fate else {}
    stages = [Stage(stage="ground_truth", state="ok")]
    failed = False
    for name in TO_CONTEXT[1:]:
        stage = known.get(name)
        if stage is None:
            unprobed = name in INDEX_STAGES and not probed
            stage = Stage(stage=name, state="not_probed" if unprobed else "skipped")
            if name == "context" and not failed:
                stage = Stage(stage=name, state=context, detail=detail)
        failed = failed or stage.state == "failed"
        stages.append(stage)
    return stages


def _once(causes: Iterable[Cause]) -> list[Cause]:
    return list({(cause.code, cause.chunk, cause.detail): cause for cause in causes}.values())[:MOST_CAUSES]
