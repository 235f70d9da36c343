"""What gates say: pass, fail, or that the data do not tell. A gate never passes on what is missing."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from befund.contract import Comparability, Gate, GateResult, Verdict
from befund.core.comparison.budget import Costs
from befund.core.comparison.columns import Column
from befund.core.comparison.comparability import blocker_of
from befund.core.comparison.cut import cut_short
from befund.core.comparison.names import BUDGET, COUNTS
from befund.core.comparison.pairing import Paired, Selected
from befund.core.gates.bounds import Bounds, Level
from befund.core.gates.counts import Count, Counts
from befund.core.gates.spec import test_of

TOLERANCE = 1e-9
"""What rounding may make of a mean that is just what was asked."""
FEWEST_QUESTIONS = 2
"""One question shows nothing about others."""


class Said(Struct, frozen=True, kw_only=True):
    """What a gate finds in its data.

    Attributes:
        at_worst: Whether it would pass with everything unknown at its worst.
        at_best: Whether it would pass with everything unknown at its best.
        observed: What was tested.
        n: On how many questions that rests.
        what: What was found, in a few words.
        why: What keeps it from passing at its worst though nothing known fails it.
        questions: Those behind it.
    """

    at_worst: bool
    at_best: bool
    observed: float | None
    n: int
    what: str
    why: Sequence[str] = ()
    questions: Sequence[str] = ()


class Evidence(Struct, frozen=True, kw_only=True):
    """All that gates look at."""

    paired: Paired
    columns: Mapping[str, Column]
    costs: Costs
    counts: Counts
    comparable: Comparability
    level: Level


def verdict_of(results: Sequence[GateResult]) -> Verdict | None:
    """Fail before inconclusive before pass; None without gates."""
    said = {result.status for result in results}
    order: tuple[Verdict, ...] = ("fail", "inconclusive", "pass")
    return next((verdict for verdict in order if verdict in said), None)


def decide(gate: Gate, evidence: Evidence, *, repeated: Sequence[str] = ()) -> GateResult:
    """What one gate says."""
    selected = evidence.paired.selection(gate.questions)
    test, threshold = test_of(gate)
    said = _said(gate, selected, evidence)
    barred = _barred(gate, selected, evidence, n=said.n)
    status: Verdict = "inconclusive"
    if not said.at_best and not _unable(gate, evidence):
        status = "fail"
    elif said.at_worst and not barred:
        status = "pass"
    detail = said.what if status != "inconclusive" else "; ".join([said.what, *said.why, *barred])
    return GateResult(
        metric=gate.metric,
        test=test,
        status=status,
        observed=said.observed,
        threshold=float(threshold) + 0.0,  # which makes 0 of -0
        detail=detail[0].upper() + detail[1:] + ".",
        questions=list(said.questions),
        n=said.n,
        repeated=list(repeated),
    )


def _said(gate: Gate, selected: Selected, evidence: Evidence) -> Said:
    if selected.is_empty:
        return _nothing("no question is meant by this gate")
    if gate.metric in COUNTS:
        return _counted(gate, evidence.counts.of(gate.metric, selected))
    if gate.metric in BUDGET:
        return _spent(gate, selected, evidence.costs)
    bounds = Bounds(evidence.columns[gate.metric], selected.mask)
    if bounds.is_empty:
        return _nothing("it was not measured on these questions")
    if gate.min is None and not bounds.known.any():
        return _nothing("no question is scored on both sides")
    if gate.min is not None and bounds.observed_after is None:
        return _nothing("the candidate is scored on none of these questions")
    if gate.max_regressions is not None:
        return _regressions(gate.max_regressions, bounds, evidence.paired)
    if gate.max_drop is not None:
        return _drop(gate, gate.max_drop, bounds, evidence)
    return _level(gate, gate.min or 0.0, bounds, evidence)


def _nothing(what: str) -> Said:
    return Said(at_worst=False, at_best=True, observed=None, n=0, what=f"no data: {what}")


def _drop(gate: Gate, allowed: float, bounds: Bounds, evidence: Evidence) -> Said:
    why = _unscored(bounds.unknown, evidence.paired)
    at_worst = bounds.delta(worst=True) >= -allowed - TOLERANCE
    if gate.bound == "lower" and at_worst:
        limit = bounds.delta_limit(evidence.level)
        at_worst = limit is not None and limit >= -allowed - TOLERANCE
        why += _limit(limit, -allowed, at_worst=at_worst)
    observed = bounds.observed_delta
    column = evidence.columns[gate.metric]
    asked = f"a drop of {abs(allowed):g} is allowed" if allowed >= 0 else f"it must rise by {-allowed:g}"
    return Said(
        at_worst=at_worst,
        at_best=bounds.delta(worst=False) >= -allowed - TOLERANCE,
        observed=observed,
        n=int(bounds.known.sum()),
        what=f"{observed or 0.0:+.3f} over {_questions(int(bounds.known.sum()))}; {asked}",
        why=why,
        questions=evidence.paired.named(bounds.rows & column.regressed),
    )


def _level(gate: Gate, least: float, bounds: Bounds, evidence: Evidence) -> Said:
    why = _unscored(bounds.unknown_after, evidence.paired)
    at_worst = bounds.after(worst=True) >= least - TOLERANCE
    if gate.bound == "lower" and at_worst:
        limit = bounds.after_limit(evidence.level)
        at_worst = limit is not None and limit >= least - TOLERANCE
        why += _limit(limit, least, at_worst=at_worst)
    n = int((bounds.rows & ~bounds.unknown_after).sum())
    observed = bounds.observed_after
    column = evidence.columns[gate.metric]
    with np.errstate(invalid="ignore"):
        low = bounds.rows & (column.after < least - TOLERANCE)
    return Said(
        at_worst=at_worst,
        at_best=bounds.after(worst=False) >= least - TOLERANCE,
        observed=observed,
        n=n,
        what=f"{observed or 0.0:.3f} over {_questions(n)}; at least {least:g} is asked",
        why=why,
        questions=evidence.paired.named(low),
    )


def _regressions(most: int, bounds: Bounds, paired: Paired) -> Said:
    regressed, possible = bounds.regressed(), bounds.may_have_regressed()
    found = int(regressed.sum())
    return Said(
        at_worst=found + int(possible.sum()) <= most,
        at_best=found <= most,
        observed=float(found),
        n=int(bounds.known.sum()),
        what=f"{_questions(found)} of {int(bounds.known.sum())} regressed; {most} allowed",
        why=_unscored(possible, paired),
        questions=paired.named(regressed),
    )


def _counted(gate: Gate, count: Count) -> Said:
    found, n, untold = len(count.flagged), count.n, len(count.untold)
    if count.unknown_because is not None:
        return _nothing(count.unknown_because)
    if not n:
        return _nothing("the candidate holds nothing about these questions")
    if gate.max_share is not None:
        most, of = gate.max_share, n
        what = f"{found} of {_questions(n)}, {found / n:.1%}; {most:.1%} allowed"
    else:
        most, of = gate.max or 0.0, 1
        what = f"{found} of {_questions(n)}; {most:g} allowed"
    return Said(
        at_worst=(found + untold) / of <= most + TOLERANCE,
        at_best=found / of <= most + TOLERANCE,
        observed=found / of,
        n=n - untold,
        what=what,
        why=[f"of {_questions(untold)} it cannot be told ({_some(count.untold)})"] if untold else [],
        questions=count.flagged,
    )


def _spent(gate: Gate, selected: Selected, costs: Costs) -> Said:
    part = costs.part(gate.metric, selected.mask)
    if part.baseline is None or part.candidate is None:
        return _nothing("it is not known for these questions on both sides")
    lacking = int((costs.one_sided(gate.metric) & selected.mask).sum())
    why = [f"{_questions(lacking)} known on one side alone"] if lacking else []
    observed: float | None = part.candidate
    if gate.max_increase_percent is None:
        most = gate.max or 0.0
        what = f"{part.candidate:g} over {_questions(part.n)}; {most:g} allowed"
    else:
        most, observed = gate.max_increase_percent, part.increase_percent
        rise = "from nothing" if observed is None else f"{observed:+.1f} %"
        what = f"{part.baseline:g} to {part.candidate:g}, {rise}; {most:+g} % allowed"
    fits = observed is not None and observed <= most + TOLERANCE
    return Said(at_worst=fits and not lacking, at_best=fits, observed=observed, n=part.n, what=what, why=why)


def _unable(gate: Gate, evidence: Evidence) -> bool:
    """Whether the gate can say nothing at all, not even that it fails."""
    if gate.min is not None and evidence.paired.candidate.generated:
        return True
    column = evidence.columns.get(gate.metric)
    if column is None:
        return False
    blocked = blocker_of(column.metric, evidence.comparable)
    return blocked is not None or cut_short(column.metric, evidence.paired) is not None


def _barred(gate: Gate, selected: Selected, evidence: Evidence, *, n: int) -> list[str]:
    """What keeps a gate from passing whatever was measured."""
    paired = evidence.paired
    found: list[str] = []
    column = evidence.columns.get(gate.metric)
    if column is not None:
        blocked = blocker_of(column.metric, evidence.comparable)
        if blocked is not None:
            found.append(f"the sides cannot be compared on it: {blocked.field} differs")
        short = cut_short(column.metric, paired)
        if short is not None:
            found.append(short)
    if gate.min is not None and paired.candidate.generated:
        found.append("the questions were generated: differences mean something here, levels do not")
    one_sided = gate.max_drop is None and gate.max_regressions is None and gate.max_increase_percent is None
    missing = [] if gate.metric == "unscored" else selected.missing(one_sided=one_sided)
    if gate.metric == "unscored":
        missing = [*selected.changed, *selected.unknown]
    if missing:
        found.append(f"{_questions(len(missing))} missing or changed ({_some(missing)})")
    is_mean = gate.max_drop is not None or gate.min is not None
    looked_at = paired.shared if column is None else paired.shared & column.attempted
    if n and (int(looked_at.sum()) < FEWEST_QUESTIONS or (is_mean and n < FEWEST_QUESTIONS)):
        found.append("one question shows nothing about others")
    return found


def _unscored(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], paired: Paired) -> list[str]:
    names = paired.named(mask)
    return [f"{_questions(len(names))} not scored on both sides ({_some(names)})"] if names else []


def _limit(limit: float | None, asked: float, *, at_worst: bool) -> list[str]:
    if limit is None:
        return ["too few questions for an interval"]
    return [] if at_worst else [f"the lower limit of the interval, {limit:.3f}, misses {asked:g}"]


def _questions(number: int) -> str:
    return f"{number} question{'' if number == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
