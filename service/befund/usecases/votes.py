"""Ask one judge several times and count."""

from befund.core.judged import Judged
from befund.core.judging import Item
from befund.core.together import together
from befund.core.voting import majority
from befund.ports import Judge


async def judge_by_votes(judge: Judge, item: Item, *, votes: int = 1, use_cache: bool = True) -> Judged:
    """Judge one answer by the majority of independent samples.

    Raises:
        JudgeUnusableError: One of the samples cannot be used; fewer votes than asked for are no verdict.
        JudgeUnavailableError: The judge is down or limits us.
        JudgeDeadlineError: It did not answer in time.
    """
    if votes == 1:
        return await judge.judge(item, use_cache=use_cache)
    samples = await together(judge.judge(item, sample=sample, use_cache=use_cache) for sample in range(votes))
    return majority(samples, judge=judge.name)
