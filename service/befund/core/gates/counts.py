"""What gates count by question of the candidate: access leaks, known false positives, what is not scored."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from befund.core.comparison.columns import Column, State
from befund.core.comparison.pairing import Mask, Paired, Selected


class Count(Struct, frozen=True):
    """Questions that have something.

    Attributes:
        flagged: They.
        n: Of how many: those that could have it.
        untold: Those of `n` of which it cannot be told.
        unknown_because: Why nothing can be told; None where something can.
    """

    flagged: Sequence[str]
    n: int
    untold: Sequence[str] = ()
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
        """Chunks that the role of who asks may not read; a question without a role is not watched."""
        return self._watched(
            selected,
            {question for question in self._paired.ids if self._paired.asked(question).role is not None},
            flagged=self._leaked,
            told=self._tells_roles,
            otherwise=("no question says who asks (role)", "nothing in {} says who may read its chunks (roles)"),
        )

    def _leaked(self, question: str) -> bool:
        candidate = self._paired.candidate
        found, answered = candidate.found.get(question), candidate.answered.get(question)
        return bool((found and found.leaks) or (answered and answered.leaks))

    def _tells_roles(self, question: str) -> bool:
        """Whether what the candidate got for a question says who may read it."""
        candidate = self._paired.candidate
        answered = candidate.answered.get(question)
        return (candidate.names_roles and self._is_ranked(question)) or bool(answered and answered.names_roles)

    def _false_positives(self, selected: Selected) -> Count:
        """Chunks that are known to be wrong; a question without any is not watched."""
        found = self._paired.candidate.found
        return self._watched(
            selected,
            {question for question in self._paired.ids if self._paired.asked(question).watched},
            flagged=lambda question: question in found and found[question].false_positives,
            told=self._is_ranked,
            otherwise=(
                "no question has chunks known to be wrong (non_relevant)",
                "{} has no ranking of these questions",
            ),
        )

    def _is_ranked(self, question: str) -> bool:
        found = self._paired.candidate.found.get(question)
        return found is not None and found.top is not None

    def _watched(
        self,
        selected: Selected,
        watched: Collection[str],
        *,
        flagged: Callable[[str], bool],
        told: Callable[[str], bool],
        otherwise: tuple[str, str],
    ) -> Count:
        """A count over the questions on which somebody said what must not happen."""
        candidate = self._paired.candidate
        held = [each for each in self._paired.named(selected.mask) if each in watched and candidate.holds(each)]
        if not held:
            return Count([], 0, unknown_because=otherwise[0])
        having = [question for question in held if flagged(question)]
        untold = [question for question in held if not told(question) and question not in having]
        if len(untold) == len(held):
            return Count([], len(held), unknown_because=otherwise[1].format(candidate.name))
        return Count(having, len(held), untold)

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
