"""Which questions two sides share, and which of them a gate or a slice looks at."""

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from befund.contract import GateQuestions
from befund.core.comparison.side import Asked, Side

Mask = NDArray[np.bool_]


class Paired:
    """Two sides, question by question.

    Attributes:
        baseline: What was.
        candidate: What is to be.
        ids: Every question of either side that means the same on both, those of the candidate first.
        changed: Questions of both sides whose text, facts or gold differ.
    """

    def __init__(self, baseline: Side, candidate: Side) -> None:
        self.baseline, self.candidate = baseline, candidate
        held = dict.fromkeys(question for question in candidate.asked if candidate.holds(question))
        held.update(dict.fromkeys(question for question in baseline.asked if baseline.holds(question)))
        self.changed = [question for question in held if self._is_changed(question)]
        left_out = set(self.changed)
        self.ids = [question for question in held if question not in left_out]

    @cached_property
    def only_baseline(self) -> list[str]:
        """Questions that the candidate does not hold."""
        return [question for question in self.ids if not self.candidate.holds(question)]

    @cached_property
    def only_candidate(self) -> list[str]:
        """Questions that the baseline does not hold."""
        return [question for question in self.ids if not self.baseline.holds(question)]

    @cached_property
    def shared(self) -> Mask:
        """Which of `ids` both hold."""
        return np.array([self.baseline.holds(each) and self.candidate.holds(each) for each in self.ids], dtype=np.bool_)

    def asked(self, question: str) -> Asked:
        """The question as the candidate's data set has it, else as the baseline's."""
        return self.candidate.asked.get(question) or self.baseline.asked[question]

    def named(self, mask: Mask) -> list[str]:
        """The ids where the mask holds."""
        return [self.ids[i] for i in np.flatnonzero(mask).tolist()]

    def tagged(self) -> dict[str, list[int]]:
        """For each tag the places of its questions in `ids`."""
        found: dict[str, list[int]] = {}
        for place, question in enumerate(self.ids):
            for tag in dict.fromkeys(self.asked(question).tags):
                found.setdefault(tag, []).append(place)
        return found

    def selection(self, wanted: GateQuestions | None) -> "Selected":
        """The questions that a gate looks at."""
        if wanted is None:
            every = np.ones(len(self.ids), dtype=np.bool_)
            return Selected(self, every, self.changed, [])
        ids = None if wanted.ids is None else frozenset(wanted.ids)
        tags = None if wanted.tags is None else frozenset(wanted.tags)

        def is_wanted(question: str) -> bool:
            asked = self.asked(question)
            return (
                (wanted.critical is None or asked.critical == wanted.critical)
                and (tags is None or not tags.isdisjoint(asked.tags))
                and (ids is None or question in ids)
                and (wanted.split is None or asked.split == wanted.split)
            )

        mask = np.array([is_wanted(question) for question in self.ids], dtype=np.bool_)
        known = {*self.ids, *self.changed}
        unknown = [question for question in wanted.ids or () if question not in known]
        return Selected(self, mask, [question for question in self.changed if is_wanted(question)], unknown)

    def _is_changed(self, question: str) -> bool:
        if not (self.baseline.holds(question) and self.candidate.holds(question)):
            return False
        before, after = self.baseline.asked[question], self.candidate.asked[question]
        comparable = self.baseline.texts_kept and self.candidate.texts_kept
        return before.whole != after.whole and not (comparable and before.truth == after.truth)


class Selected:
    """The questions one gate looks at.

    Attributes:
        mask: Which of the paired ids.
        changed: Those left out because they changed.
        unknown: Those named and held by neither side.
    """

    def __init__(self, paired: Paired, mask: Mask, changed: Sequence[str], unknown: Sequence[str]) -> None:
        self._paired = paired
        self.mask = mask
        self.changed = changed
        self.unknown = unknown

    @property
    def is_empty(self) -> bool:
        """Whether there is no such question."""
        return not (self.mask.any() or self.changed or self.unknown)

    def missing(self, *, one_sided: bool) -> list[str]:
        """Questions without which the gate must not pass.

        Args:
            one_sided: Whether the gate looks at the candidate alone, so that it may have questions of its own.
        """
        lacking = [*self.changed, *self.unknown, *self._within(self._paired.only_baseline)]
        return lacking if one_sided else lacking + self._within(self._paired.only_candidate)

    def _within(self, questions: Collection[str]) -> list[str]:
        if not questions:
            return []
        selected = set(self._paired.named(self.mask))
        return [question for question in questions if question in selected]
