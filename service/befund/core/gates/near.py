"""Which verdicts a gate hangs on, so that they can be asked for once more before it speaks."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from befund.contract import Gate, GateResult
from befund.core.comparison.columns import Column, State
from befund.core.comparison.names import JUDGED
from befund.core.comparison.side import Scored
from befund.core.gates.bounds import Bounds
from befund.core.gates.decide import Evidence

MOST_REPEATED = 100
"""Questions of one gate."""
NEAR = 0.05
"""A gate is near its threshold where so large a share of the verdicts, at least one, turns it."""


def deciding(gate: Gate, result: GateResult, evidence: Evidence) -> list[str]:
    """The questions whose verdicts a gate near its threshold hangs on; none where it is not near, or says nothing.

    Where it fails or cannot tell: those that are worse, too low or unscored. Where it passes: those that are better, or
    high enough.
    """
    if not gate.repeats or gate.metric not in JUDGED or result.observed is None:
        return []
    column = evidence.columns[gate.metric]
    bounds = Bounds(column, evidence.paired.selection(gate.questions).mask)
    size = int(bounds.rows.sum())
    if _turns(gate, result, size) > max(1, math.floor(NEAR * size)):
        return []
    passes = result.status == "pass"
    if gate.min is not None:
        high = column.after >= 1
        mask = bounds.rows & (high if passes else ~high)
    elif passes:
        mask = bounds.rows & column.improved
    else:
        mask = (bounds.rows & column.fallen) | bounds.unknown
    return evidence.paired.named(mask)[:MOST_REPEATED]


def with_verdicts(
    column: Column, ids: Sequence[str], before: Mapping[str, Scored], after: Mapping[str, Scored]
) -> Column:
    """The column with what was judged anew, by question."""
    place_of = {question: place for place, question in enumerate(ids)}
    sides = []
    for values, states, verdicts in (
        (column.before, column.before_state, before),
        (column.after, column.after_state, after),
    ):
        values, states = values.copy(), states.copy()
        for question, verdict in verdicts.items():
            place = place_of[question]
            values[place] = np.nan if verdict.value is None else verdict.value
            states[place] = State.SCORED if verdict.value is not None else State.UNSCORED
        sides.append((values, states))
    (old, old_state), (new, new_state) = sides
    return msgspec.structs.replace(column, before=old, after=new, before_state=old_state, after_state=new_state)


def _turns(gate: Gate, result: GateResult, size: int) -> int:
    """How many verdicts would have to be otherwise for the gate to say something else."""
    observed = result.observed or 0.0
    if gate.max_regressions is not None:
        apart = observed - gate.max_regressions
        return int(apart if apart > 0 else 1 - apart)
    threshold = -gate.max_drop if gate.max_drop is not None else gate.min or 0.0
    return max(1, math.ceil(abs(observed - threshold) * size - 1e-9))
