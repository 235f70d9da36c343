"""Judge answers: one, or many at the same time; keep the judgments."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec
from msgspec import Raw, Struct

from befund.contract import (
    Content,
    JudgeBatchOptions,
    JudgeCalibration,
    JudgeOptions,
    JudgeRequest,
    Judgment,
    RunSummary,
    Usage,
)
from befund.core.diagnosis.tally import DiagnosedTally
from befund.core.empty import says_nothing
from befund.core.errors import BefundError, ContradictionError, JudgeError
from befund.core.judge_tasks import Outcome, Task, judgment_of
from befund.core.judged import judged_by, nothing_said
from befund.core.monitors import key_of as entry_key
from befund.core.runs import Tally
from befund.core.together import together
from befund.ports import Answered, Judges, Store
from befund.usecases.budget import Budget
from befund.usecases.canaries import Canaries, CountCanary, usage_of
from befund.usecases.judge_keeping import Keeping, KeyOf
from befund.usecases.judge_lookup import Answers, Lookup
from befund.usecases.repetition import Caller, request_hash, unanswered
from befund.usecases.votes import judge_by_votes


class Waiting(Struct, frozen=True):
    """One answer that is to be judged, or what is known of it without, with its place and what it belongs to."""

    place: int
    task: Task | Outcome
    answers: Answers


Told = Callable[[Waiting, Outcome], Awaitable[None]]


class Judged(Struct, frozen=True):
    """Answers judged together, in the order in which they were sent, and their figures."""

    outcomes: list[Outcome]
    summary: RunSummary


class Judging(Struct, frozen=True):
    """Judges answers.

    Attributes:
        judges: Who can judge.
        store: Where data sets have names and runs are kept.
        content: Whether runs keep texts.
        clock: Seconds on a clock that only moves forward.
        new_id: Gives every judgment a name of its own.
        count_canary: Told what became of answers whose verdicts are known.
    """

    judges: Judges
    store: Store
    content: Content
    clock: Callable[[], float]
    new_id: Callable[[], str]
    count_canary: CountCanary

    @property
    def lookup(self) -> Lookup:
        """Looks up what requests name."""
        return Lookup(self.judges, self.store)

    @property
    def keeping(self) -> Keeping:
        """Keeps what was judged."""
        return Keeping(self.store, self.content)

    async def one(self, request: JudgeRequest, caller: Caller) -> Outcome:
        """Answer POST /judge: the judgment, with what was judged.

        Raises:
            ContradictionError: The request contradicts itself or says too little.
            NotFoundError: It names a data set that does not exist.
            ConflictError: The run it is to be kept under differs.
            JudgeError: There is no verdict.
            DependencyError: The store does not answer.
            AlreadyAnswered: It was carried out before.
        """
        options = _options(request)
        asked = request_hash("/judge", msgspec.json.encode(request))
        repeats = await self._unanswered(options, caller, asked)
        key_of = self._key_of(caller, asked)
        answers = await self.lookup.answers(options, [request.question_id] if request.question_id else [])
        task = answers.task(request)
        try:
            judgment = await self._judgment(task, answers)
        except JudgeError as error:  # who did not count it would show no outage of the judge
            await self.keeping.keep(answers, [Outcome(task, error=error)], key_of=key_of)
            raise
        outcome, answer = Outcome(task, judgment), msgspec.json.encode(judgment)
        await self.keeping.keep(answers, [outcome], key_of=key_of, answer=answer, repeats=repeats)
        return outcome

    async def many(
        self, items: Sequence[Raw], options: JudgeBatchOptions, caller: Caller, *, encode: Callable[[Judged], bytes]
    ) -> Judged:
        """Judge many answers. One that cannot be read or judged fails alone.

        Args:
            items: The answers, unread.
            options: How is judged.
            caller: Who asks.
            encode: Writes the answer to the request.

        Raises:
            ContradictionError, NotFoundError, ConflictError, DependencyError: As `one`, about what all have in common.
            AlreadyAnswered: It was carried out before.
        """
        asked = request_hash("/judge/batch", msgspec.json.encode(options), *items)
        repeats = await self._unanswered(options, caller, asked)
        answers, tasks = await self.lookup.prepare(items, options)
        canaries = Canaries(options, self.count_canary)
        canaries.for_judges_of(answers)
        known = [task for task, _ in canaries.waiting.values()]
        every = await self.judge_all([*tasks, *known], answers, Budget(options.max_cost_usd))
        outcomes = every[: len(tasks)]
        for judge, outcome in zip(canaries.waiting, every[len(tasks) :], strict=True):
            canaries.came(judge, outcome)
        judged = Judged(outcomes, canaries.told_in(summary_of(outcomes)))
        key_of = self._key_of(caller, asked)
        await self.keeping.keep(answers, outcomes, key_of=key_of, answer=encode(judged), repeats=repeats)
        return judged

    async def _unanswered(self, options: JudgeOptions, caller: Caller, request: str) -> Answered | None:
        """What is to be remembered of a request that stores something; raises AlreadyAnswered."""
        if options.run is None and options.monitor is None:
            return None
        return await unanswered(self.store, caller, request)

    def _key_of(self, caller: Caller, request: str) -> KeyOf:
        """Names of entries in a monitor: the same for a request that is known to be the same."""
        if caller.idempotency_key is None:
            return lambda place: self.new_id()
        known = (caller.name, caller.idempotency_key, request)
        return lambda place: entry_key(*known, str(place))

    async def judge_all(self, tasks: Sequence[Task | Outcome], answers: Answers, budget: Budget) -> list[Outcome]:
        """Judge, so many at the same time as the judge takes.

        Args:
            tasks: What is to be judged; outcomes among them are taken as they are.
            answers: What they have in common.
            budget: What they may cost.
        """
        outcomes: dict[int, Outcome] = {}

        async def waiting() -> AsyncIterator[Waiting]:
            for place, task in enumerate(tasks):
                yield Waiting(place, task, answers)

        async def told(waiting: Waiting, outcome: Outcome) -> None:
            outcomes[waiting.place] = outcome

        await self.judge_each(waiting(), budget, at_once=min(answers.concurrency, len(tasks)), told=told)
        return [outcomes[place] for place in range(len(tasks))]

    async def judge_each(self, waiting: AsyncIterator[Waiting], budget: Budget, *, at_once: int, told: Told) -> None:
        """Judge answers as they come, none of which is held for longer than that takes.

        Args:
            waiting: The answers, of which one after the other is fetched.
            budget: What they may cost.
            at_once: How many are judged at the same time.
            told: Told what came of every one.
        """
        turn = asyncio.Lock()

        async def work(*, most: int | None = None) -> None:
            while most is None or most > 0:
                async with turn:  # nobody may ask for the next while another one does
                    each = await anext(waiting, None)
                if each is None:
                    return
                if isinstance(each.task, Outcome):
                    await told(each, each.task)
                    continue
                await told(each, await self._judge_within(budget, each.task, each.answers))
                most = None if most is None else most - 1

        if budget.is_limited:  # what an answer costs is known once one was judged
            await work(most=1)
        await together(work() for _ in range(at_once))

    async def _judge_within(self, budget: Budget, task: Task, answers: Answers) -> Outcome:
        try:
            budget.begin()
        except ContradictionError as error:
            return Outcome(task, error=error)
        usage: Usage | None = None
        try:
            judgment = await self._judgment(task, answers)
            usage = judgment.usage
            return Outcome(task, judgment)
        except BefundError as error:
            usage = error.usage if isinstance(error, JudgeError) else None
            return Outcome(task, error=error)
        finally:
            budget.end(usage)

    async def _judgment(self, task: Task, answers: Answers) -> Judgment:
        judge, options = answers.judge_of(task), answers.options
        began = self.clock()
        if says_nothing(task.item.answer, task.item.question):
            judged = judged_by(judge.name, task.item, nothing_said(task.item))
        else:
            use_cache = options.use_cache and not task.fresh
            judged = await judge_by_votes(judge, task.item, votes=options.votes, use_cache=use_cache)
        info = answers.info(judge)
        latency_ms = (self.clock() - began) * 1000
        return judgment_of(task, judged, judge=info, id=self.new_id(), latency_ms=latency_ms)


class BatchTally:
    """Adds up answers that were judged together, one by one."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._answers = 0
        self._calibrations: dict[str, dict[str, JudgeCalibration]] = {}

    @property
    def diagnosed(self) -> DiagnosedTally:
        """Their diagnoses, where they were diagnosed too."""
        return self._tally.diagnosed

    def add(self, outcome: Outcome) -> None:
        """Take in what came of one answer."""
        self._answers += 1
        if outcome.judgment is not None and outcome.task is not None:
            sent, judge = outcome.task.sent, outcome.judgment.judge
            self._calibrations[judge.fingerprint] = judge.calibration or {}
            latency = sent.generation.latency_ms if sent.generation else None
            self._tally.judged.add(outcome.judgment, expected=sent.expected_behavior, generation_ms=latency)
            return
        self._tally.judged.add_failure(outcome.task.item if outcome.task else None)
        used = usage_of(outcome)
        if used is not None:
            self._tally.judged.add_usage(used)

    def summary(self) -> RunSummary:
        """The figures."""
        return self._tally.summary(self._answers, self._calibrations)


def summary_of(outcomes: Sequence[Outcome]) -> RunSummary:
    """The figures of answers that were judged together."""
    tally = BatchTally()
    for outcome in outcomes:
        tally.add(outcome)
    return tally.summary()


def _options(request: JudgeRequest) -> JudgeOptions:
    return JudgeOptions(**{name: getattr(request, name) for name in JudgeOptions.__struct_fields__})
