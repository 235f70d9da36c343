"""Adds diagnoses up: which classes and causes there are, and whose they are."""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct

from befund.contract import Cause, CauseCode, DiagnosedGroup, DiagnosisClass
from befund.core.diagnosis.next_steps import usual_step

MOST_QUESTIONS = 1_000
"""Of one class or cause that are named; `n` counts all."""
WORST_FIRST: tuple[DiagnosisClass, ...] = (
    "RETRIEVAL_FAILURE",
    "GENERATION_FAILURE",
    "UNSUPPORTED_CORRECT_ANSWER",
    "NOT_EVALUABLE",
    "SUCCESS",
)


class _Found(Struct, frozen=True):
    diagnosis: DiagnosisClass
    cause: Cause | None


class _Stored(Struct, frozen=True):
    diagnosis: _Found


class _Group(Struct):
    n: int = 0
    questions: list[str] = []
    items: list[int] = []


class DiagnosedTally:
    """Diagnoses, added up one by one."""

    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(_Stored)
        self._diagnoses: dict[str, _Group] = {}
        self._causes: dict[str, _Group] = {}

    def add_stored(self, record: bytes, question_id: str) -> None:
        """Take in a diagnosis as a run holds it."""
        found = self._decoder.decode(record).diagnosis
        self.add(found.diagnosis, found.cause, question_id=question_id)

    def add(
        self, diagnosis: DiagnosisClass, cause: Cause | None, *, question_id: str | None, item: int | None = None
    ) -> None:
        """Take in a diagnosis; `item` is its place in a batch."""
        self._count(self._diagnoses, diagnosis, question_id, item)
        if cause is not None:
            self._count(self._causes, cause.code, question_id, item)

    def diagnoses(self) -> dict[str, Any]:
        """By class, those that went wrong first."""
        return {name: _shown(self._diagnoses[name]) for name in WORST_FIRST if name in self._diagnoses}

    def causes(self) -> dict[str, Any]:
        """By cause, the most frequent first, then in the order of the stages."""
        codes: tuple[CauseCode, ...] = get_args(CauseCode)
        found = [code for code in codes if code in self._causes]
        found.sort(key=lambda code: -self._causes[code].n)
        return {code: _shown(self._causes[code], usual_step(code)) for code in found}

    def _count(self, groups: dict[str, _Group], name: str, question_id: str | None, item: int | None) -> None:
        group = groups.setdefault(name, _Group())
        group.n += 1
        if question_id is not None and len(group.questions) < MOST_QUESTIONS:
            group.questions.append(question_id)
        if item is not None:
            group.items.append(item)


def rank_of(diagnosis: DiagnosisClass) -> int:
    """How bad a class is; the worst is 0."""
    return WORST_FIRST.index(diagnosis)


def _shown(group: _Group, next_step: str | None = None) -> Mapping[str, Any]:
    found = DiagnosedGroup(n=group.n, questions=group.questions, items=group.items, next_step=next_step)
    shown: Mapping[str, Any] = msgspec.to_builtins(found)
    return shown
