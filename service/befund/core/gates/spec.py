"""What a gate asks for: one threshold, on something that can have it."""

from collections.abc import Sequence
from typing import get_args

from befund.contract import Gate, GateTest
from befund.core.comparison.names import BUDGET, COUNTS, JUDGED
from befund.core.errors import ContradictionError

_TESTS: tuple[GateTest, ...] = get_args(GateTest)
_OF_METRICS = ("max_drop", "min", "max_regressions")
_OF_BUDGET = ("max", "max_increase_percent")
_OF_COUNTS = ("max", "max_share")
_WITH_BOUND = ("max_drop", "min")


def test_of(gate: Gate) -> tuple[GateTest, float]:
    """The threshold a gate has, and its value; gates were checked before."""
    return next((test, value) for test in _TESTS if (value := getattr(gate, test)) is not None)


def metrics_of(gates: Sequence[Gate]) -> list[str]:
    """The metrics that gates name, each once."""
    return list(dict.fromkeys(gate.metric for gate in gates if gate.metric not in (*BUDGET, *COUNTS)))


def check_gates(gates: Sequence[Gate]) -> None:
    """Refuse gates that ask for what cannot be; whether a metric exists is checked where it is measured.

    Raises:
        ContradictionError: `gate-without-threshold`, `several-thresholds`, `gate-contradiction`.
    """
    for place, gate in enumerate(gates):
        pointer = f"/gates/{place}"
        given = [test for test in _TESTS if getattr(gate, test) is not None]
        if len(given) != 1:
            code = "several-thresholds" if given else "gate-without-threshold"
            said = f"has {' and '.join(given)}" if given else "has no threshold"
            raise ContradictionError.at(
                pointer, code, f"The gate on {gate.metric!r} {said}. Give exactly one of {', '.join(_TESTS)}."
            )
        allowed = _OF_BUDGET if gate.metric in BUDGET else _OF_COUNTS if gate.metric in COUNTS else _OF_METRICS
        if given[0] not in allowed:
            raise ContradictionError.at(
                f"{pointer}/{given[0]}",
                "gate-contradiction",
                f"A gate on {gate.metric!r} cannot have {given[0]}. It takes one of {', '.join(allowed)}.",
            )
        if gate.bound is not None and given[0] not in _WITH_BOUND:
            raise ContradictionError.at(
                f"{pointer}/bound", "gate-contradiction", f"bound goes with {' or '.join(_WITH_BOUND)}. Leave it out."
            )
        if gate.repeats and gate.metric not in JUDGED:
            raise ContradictionError.at(
                f"{pointer}/repeats",
                "gate-contradiction",
                f"Only verdicts can be repeated: {', '.join(JUDGED)}. Leave repeats out.",
            )
