"""Jobs and their progress."""

from datetime import datetime
from typing import Literal

from befund.contract.base import Response
from befund.contract.judging import JudgeBatchResponse
from befund.contract.problems import Problem

JobState = Literal["queued", "running", "done", "failed", "cancelled"]


class JobAnswer(Response, frozen=True, kw_only=True):
    """A batch that is judged in the background.

    Attributes:
        state: `failed` where the whole of it could not be judged; an answer that fails alone counts in `failed`.
        done: Answers with a result.
        total: All answers.
        failed: Answers whose result is a problem.
        spent_cost_usd: What was spent so far, as far as it is known.
        estimated_cost_usd: What all of it will probably cost; null while nothing is known.
        created: When it was sent, in UTC.
        updated: When anything last happened.
        result: Everything, once it has ended; with what was judged where it was cancelled.
        problem: Why it failed.
    """

    id: str
    state: JobState
    done: int
    total: int
    failed: int
    spent_cost_usd: float
    estimated_cost_usd: float | None
    created: datetime
    updated: datetime
    result: JudgeBatchResponse | None = None
    problem: Problem | None = None
