"""What gates count by question of the candidate: access leaks, known false positives, what is not scored."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from befund.core.comparison.columns import Column, State
from befund.core.comparison.pairing import Mask, Paired, Selected


class Count(Struct, frozen=True):
    """Questions that have something.

    Attributes:
        flagged: They.
        n: Of how many.
        unknown_because: Why it cannot be told; None where it can.
    """

    flagged: Sequence[str]
    n: int
    unknown_because: str | None = None


class Counts:
    """Counts over the questions of a gate.

    Args:
        paired: The sides.
        basis: Columns that together say what each side scored.
    """

    def __init__(self, paired: Paired, basis: Mapping[str, Column]) -> None:
        self._paired = paired
        self._basis = basis

    def of(self, name: str, selected: Selected) -> Count:
        """The count that is called so."""
        match name:
            case "acl_leaks":
                return self._leaks(selected)
            case "known_false_positives":
                return self._false_positives(selected)
            case _:
                return self._unscored(selected)

    def _leaks(self, selected: Selected) -> Count:
        candidate = self._paired.candidate
        held = [question for question in self._paired.named(selected.mask) if candidate.holds(question)]
        leaking = [question for question in held if self._leaked(question)]
        restricted = [question for question in held if self._paired.asked(question).role is not None]
        named = candidate.names_roles or any(each.names_roles for each in candidate.answered.values())
        if not leaking and restricted and not named:
            return Count([], len(held), f"nothing in {candidate.name} says who may read its chunks (roles)")
        return Count(leaking, len(held))

    def _leaked(self, question: str) -> bool:
        candidate = self._paired.candidate
        found, answered = candidate.found.get(question), candidate.answered.get(question)
        return bool((found and found.leaks) or (answered and answered.leaks))

    def _false_positives(self, selected: Selected) -> Count:
        found = self._paired.candidate.found
        ranked = [
            question
            for question in self._paired.named(selected.mask)
            if question in found and found[question].top is not None
        ]
        return Count([question for question in ranked if found[question].false_positives], len(ranked))

    def _unscored(self, selected: Selected) -> Count:
        """Questions that are not scored on something that was to be scored, or is on the other side."""
        attempted: Mask = selected.mask & False
        lacking: Mask = selected.mask & False
        for column in self._basis.values():
            attempted = attempted | column.attempted
            gone = (column.after_state == State.MISSING) & (column.before_state <= State.UNSCORED)
            lacking = lacking | (column.after_state == State.UNSCORED) | gone
        flagged = self._paired.named(selected.mask & lacking)
        return Count(flagged, int((selected.mask & attempted).sum()))
