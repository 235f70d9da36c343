"""Compare a judge with people."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from befund.contract import CalibrationRequest, DimensionCalibration, JudgeCalibration, JudgeInfo, JudgeOptions
from befund.core.calibration import calibration_of, in_short
from befund.core.disagreements import group_of, pairs_of, worst_of
from befund.core.errors import ContradictionError
from befund.core.judge_tasks import Outcome
from befund.core.judging import Dimension
from befund.core.voting import DIMENSIONS
from befund.usecases.budget import Budget
from befund.usecases.judge import Judging
from befund.usecases.judge_lookup import info_of, tasks_of


class Calibrated(Struct, frozen=True):
    """How a judge agrees with people, by dimension, what came of every answer, and how many groups they make."""

    judge: JudgeInfo
    dimensions: dict[str, DimensionCalibration]
    outcomes: list[Outcome]
    groups: int


async def calibrate(judging: Judging, request: CalibrationRequest) -> Calibrated:
    """Judge answers on which people have a verdict, and keep how the judge agrees with them.

    Raises:
        ContradictionError, NotFoundError, DependencyError: As `Judging.one`, about what all have in common.
    """
    for place, item in enumerate(request.items):
        if item.judge not in (None, request.judge):
            raise ContradictionError.at(
                f"/items/{place}/judge",
                "another-judge",
                f"{request.judge!r} is calibrated, not {item.judge!r}. Calibrate each judge by itself.",
            )
    names = ("judge", "votes", "use_cache", "force_verdict", "dataset")
    options = JudgeOptions(**{name: getattr(request, name) for name in names})
    ids = dict.fromkeys(item.question_id for item in request.items if item.question_id is not None)
    answers = await judging.lookup.answers(options, list(ids))
    outcomes = await judging.judge_all(tasks_of(request.items, answers), answers, Budget(None))
    found: dict[str, DimensionCalibration] = {name: _of(name, request, outcomes) for name in DIMENSIONS}
    judge = answers.judges[options.judge]
    short: dict[str, JudgeCalibration] = {name: in_short(each) for name, each in found.items() if each.scored}
    await judging.store.put_calibration(request.name, judge.fingerprint, short)
    groups = {group_of(item, place) for place, item in enumerate(request.items)}
    return Calibrated(info_of(judge, short), found, outcomes, len(groups))


def _of(name: Dimension, request: CalibrationRequest, outcomes: Sequence[Outcome]) -> DimensionCalibration:
    pairs = pairs_of(name, request.items, outcomes)
    found = calibration_of(pairs, confidence=request.confidence, seed=request.seed)
    return msgspec.structs.replace(found, worst=worst_of(pairs, outcomes))
