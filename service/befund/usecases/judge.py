"""Judge answers: one, or many at the same time; keep the judgments in a run."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from befund import __version__
from befund.contract import (
    CalibrationRequest,
    Content,
    DimensionCalibration,
    JudgeBatchItem,
    JudgeBatchOptions,
    JudgeCalibration,
    JudgeInfo,
    JudgeItem,
    JudgeOptions,
    JudgeRequest,
    Judgment,
    RunSummary,
    Usage,
)
from befund.core.calibration import calibration_of, in_short
from befund.core.datasets import Selection, Version
from befund.core.decoding import decode
from befund.core.disagreements import group_of, pairs_of, worst_of
from befund.core.empty import says_nothing
from befund.core.errors import BefundError, ConflictError, ContradictionError, JudgeError, NotFoundError
from befund.core.judge_tasks import Outcome, Task, judgment_of, record_of, task_of
from befund.core.judged import judged_by, nothing_said
from befund.core.judging import Dimension
from befund.core.repeated import refuse_repeated_fields
from befund.core.runs import JUDGMENT, LARGEST_CONFIG, Identity, Tally, compared, completed, refuse_other
from befund.core.together import together
from befund.core.voting import DIMENSIONS
from befund.ports import Answered, Judge, Judges, RunWrite, Store
from befund.usecases.budget import Budget
from befund.usecases.repetition import Caller, answered_with, refuse_answered_meanwhile, unanswered
from befund.usecases.votes import judge_by_votes

Told = Callable[[int, Outcome], Awaitable[None]]

_ITEM = msgspec.json.Decoder(JudgeBatchItem)


class Judged(Struct, frozen=True):
    """Answers judged together, in the order in which they were sent, and their figures."""

    outcomes: list[Outcome]
    summary: RunSummary


class Calibrated(Struct, frozen=True):
    """How a judge agrees with people, by dimension, what came of every answer, and how many groups they make."""

    judge: JudgeInfo
    dimensions: dict[str, DimensionCalibration]
    outcomes: list[Outcome]
    groups: int


class Answers(Struct, frozen=True):
    """A request, read: who judges, and the questions it names.

    Attributes:
        options: How is judged.
        judges: Who judges, by the names that the request gives them.
        selection: The questions; None where no data set is meant.
        dataset_name: What the data set is called; None where only its run names it.
        calibrations: How judges agree with people, by fingerprint, of those that were calibrated.
    """

    options: JudgeOptions
    judges: dict[str, Judge]
    selection: Selection | None
    dataset_name: str | None
    calibrations: Mapping[str, dict[str, JudgeCalibration]]

    @property
    def concurrency(self) -> int:
        """How many answers it makes sense to have under way."""
        return min(judge.concurrency for judge in self.judges.values())

    def judge_of(self, task: Task) -> Judge:
        """Who judges this answer."""
        own = task.sent.judge if isinstance(task.sent, JudgeBatchItem) else None
        return self.judges[own or self.options.judge]

    def task(self, sent: JudgeItem) -> Task:
        """One answer to be judged.

        Raises:
            ContradictionError: It says too little, or names a question that the data set does not have.
        """
        if self.options.run is not None and sent.question_id is None:
            raise ContradictionError.at(
                "/question_id", "question-id-missing", "A run keeps judgments by question. Send question_id."
            )
        place = None
        if self.selection is not None and sent.question_id is not None:
            place = self.selection.questions.get(sent.question_id)
            if place is None:
                raise ContradictionError.at(
                    "/question_id", "unknown-question", f"The data set has no question {sent.question_id!r}."
                )
        return task_of(sent, place)


class Judging(Struct, frozen=True):
    """Judges answers.

    Attributes:
        judges: Who can judge.
        store: Where data sets have names and runs are kept.
        content: Whether runs keep texts.
        clock: Seconds on a clock that only moves forward.
        new_id: Gives every judgment a name of its own.
    """

    judges: Judges
    store: Store
    content: Content
    clock: Callable[[], float]
    new_id: Callable[[], str]

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
        body = msgspec.json.encode(request)
        repeats = await unanswered(self.store, caller, "/judge", body) if options.run is not None else None
        answers = await self._answers(options, [request.question_id] if request.question_id else [])
        task = answers.task(request)
        judgment = await self._judgment(task, answers)
        outcome = Outcome(task, judgment)
        await self.keep(answers, [outcome], msgspec.json.encode(judgment), repeats)
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
        body = msgspec.json.encode([options, *items])
        repeats = await unanswered(self.store, caller, "/judge/batch", body) if options.run is not None else None
        answers, tasks = await self.prepare(items, options)
        outcomes = await self.judge_all(tasks, answers, Budget(options.max_cost_usd))
        judged = Judged(outcomes, summary_of(outcomes))
        await self.keep(answers, outcomes, encode(judged), repeats)
        return judged

    async def calibrate(self, request: CalibrationRequest) -> Calibrated:
        """Judge answers on which people have a verdict, and keep how the judge agrees with them.

        Raises:
            ContradictionError, NotFoundError, DependencyError: As `one`, about what all have in common.
        """
        for place, item in enumerate(request.items):
            if item.judge not in (None, request.judge):
                raise ContradictionError.at(
                    f"/items/{place}/judge",
                    "another-judge",
                    f"{request.judge!r} is calibrated, not {item.judge!r}. Calibrate each judge by itself.",
                )
        options = JudgeOptions(
            judge=request.judge, votes=request.votes, use_cache=request.use_cache, dataset=request.dataset
        )
        ids = dict.fromkeys(item.question_id for item in request.items if item.question_id is not None)
        answers = await self._answers(options, list(ids))
        outcomes = await self.judge_all(_tasks(request.items, answers), answers, Budget(None))
        found: dict[str, DimensionCalibration] = {name: _calibration(name, request, outcomes) for name in DIMENSIONS}
        judge = answers.judges[options.judge]
        short: dict[str, JudgeCalibration] = {name: in_short(each) for name, each in found.items() if each.scored}
        await self.store.put_calibration(request.name, judge.fingerprint, short)
        groups = {group_of(item, place) for place, item in enumerate(request.items)}
        return Calibrated(info_of(judge, short), found, outcomes, len(groups))

    async def prepare(self, items: Sequence[Raw], options: JudgeOptions) -> tuple[Answers, list[Task | Outcome]]:
        """Read answers and look up what they name; what is wrong with one stands in its place.

        Raises:
            ContradictionError, NotFoundError, ConflictError, DependencyError: About what all have in common.
        """
        read = [_read(raw, place) for place, raw in enumerate(items)]
        ids = [each.question_id for each in read if isinstance(each, JudgeItem) and each.question_id is not None]
        named = [each.judge for each in read if isinstance(each, JudgeBatchItem) and each.judge is not None]
        answers = await self._answers(options, list(dict.fromkeys(ids)), also=dict.fromkeys(named))
        return answers, _tasks(read, answers)

    async def _answers(
        self, options: JudgeOptions, question_ids: Sequence[str], *, also: Iterable[str] = ()
    ) -> Answers:
        judges = {name: self.judges.named(name) for name in (options.judge, *also)}
        calibrated = await self.store.calibrations([judge.fingerprint for judge in judges.values()])
        if len(msgspec.json.encode(options.config)) > LARGEST_CONFIG:
            raise ContradictionError.at(
                "/config", "config-too-large", f"The configuration of a run has at most {LARGEST_CONFIG} bytes."
            )
        if options.dataset is not None:
            selection = await self.store.selection(options.dataset, question_ids)
            answers = Answers(options, judges, selection, options.dataset.partition("@")[0], calibrated)
        elif options.run is not None:
            answers = Answers(options, judges, await self._of_run(options.run, question_ids), None, calibrated)
        else:
            answers = Answers(options, judges, None, None, calibrated)
        if answers.selection is not None:
            await self._refuse_other_run(answers, answers.selection.version)
        return answers

    async def _of_run(self, name: str, question_ids: Sequence[str]) -> Selection:
        try:
            run = await self.store.run(name)
        except NotFoundError as error:
            raise ContradictionError.at(
                "/dataset", "dataset-missing", f"There is no run {name!r} yet: name the dataset it is measured on."
            ) from error
        return await self.store.selection_of_version(run.dataset.version.hash, question_ids)

    async def _refuse_other_run(self, answers: Answers, version: Version) -> None:
        """Say before anything is paid for that the run is another one."""
        options = answers.options
        if options.run is None:
            return
        sent = _identity(answers, version)
        if options.replace_run:
            return
        try:
            run = await self.store.run(options.run)
        except NotFoundError:
            return
        refuse_other(options.run, run.identity, sent)

    async def judge_all(
        self, tasks: Sequence[Task | Outcome], answers: Answers, budget: Budget, *, told: Told | None = None
    ) -> list[Outcome]:
        """Judge, so many at the same time as the judge takes.

        Args:
            tasks: What is to be judged; outcomes among them are taken as they are.
            answers: What they have in common.
            budget: What they may cost.
            told: Told every outcome that is reached here, with its place.
        """
        outcomes: list[Outcome | None] = [task if isinstance(task, Outcome) else None for task in tasks]
        waiting = iter([(place, task) for place, task in enumerate(tasks) if isinstance(task, Task)])

        async def work(*, most: int | None = None) -> None:
            for place, task in waiting:
                outcome = await self._judge_within(budget, task, answers)
                outcomes[place] = outcome
                if told is not None:
                    await told(place, outcome)
                if most is not None:
                    return

        if budget.is_limited:  # what an answer costs is known once one was judged
            await work(most=1)
        await together(work() for _ in range(min(answers.concurrency, len(tasks))))
        return [outcome for outcome in outcomes if outcome is not None]

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
            judged = await judge_by_votes(judge, task.item, votes=options.votes, use_cache=options.use_cache)
        info = info_of(judge, answers.calibrations.get(judge.fingerprint))
        latency_ms = (self.clock() - began) * 1000
        return judgment_of(task, judged, judge=info, id=self.new_id(), latency_ms=latency_ms)

    async def keep(
        self, answers: Answers, outcomes: Sequence[Outcome], answer: bytes = b"", repeats: Answered | None = None
    ) -> None:
        """Keep judgments in the run that the request names, if it names one."""
        if answers.options.run is None or answers.selection is None:
            return
        records = [
            record_of(outcome.task, outcome.judgment, content=self.content)
            for outcome in outcomes
            if outcome.task is not None and outcome.judgment is not None
        ]
        if not records:
            return
        write = RunWrite(
            name=answers.options.run,
            identity=_identity(answers, answers.selection.version),
            dataset_name=answers.dataset_name,
            edition=None,
            records=[records],
            replace=answers.options.replace_run,
        )
        try:
            await self.store.write_run(write, answered=answered_with(repeats, answer))
        except ConflictError as error:
            if error.code == "answered-meanwhile":
                await refuse_answered_meanwhile(self.store, repeats)
            raise


def info_of(judge: Judge, calibration: dict[str, JudgeCalibration] | None) -> JudgeInfo:
    """A judge as callers see it."""
    return JudgeInfo(
        name=judge.name,
        model=judge.model,
        rubric=judge.rubric,
        fingerprint=judge.fingerprint,
        calibration=calibration,
    )


def summary_of(outcomes: Sequence[Outcome]) -> RunSummary:
    """The figures of answers that were judged together."""
    tally = Tally()
    for outcome in outcomes:
        if outcome.judgment is not None and outcome.task is not None:
            sent = outcome.task.sent
            latency = sent.generation.latency_ms if sent.generation else None
            tally.judged.add(outcome.judgment, expected=sent.expected_behavior, generation_ms=latency)
            continue
        tally.judged.add_failure(outcome.task.item if outcome.task else None)
        if isinstance(outcome.error, JudgeError) and outcome.error.usage is not None:
            tally.judged.add_usage(outcome.error.usage)
    return tally.summary(len(outcomes))


def _calibration(name: Dimension, request: CalibrationRequest, outcomes: Sequence[Outcome]) -> DimensionCalibration:
    pairs = pairs_of(name, request.items, outcomes)
    found = calibration_of(pairs, confidence=request.confidence, seed=request.seed)
    return msgspec.structs.replace(found, worst=worst_of(pairs, outcomes))


def _options(request: JudgeRequest) -> JudgeOptions:
    return JudgeOptions(**{name: getattr(request, name) for name in JudgeOptions.__struct_fields__})


def _identity(answers: Answers, version: Version) -> Identity:
    known = {
        "dataset": {"questions": version.questions_hash, "evidence_mapping": version.mapping_hash},
        "software": {"befund": __version__},
    }
    config = compared(completed(answers.options.config, known))
    return Identity(
        version=version.hash,
        config=config,
        measured={},
        judges={judge.name: judge.fingerprint for judge in answers.judges.values()},
        said={JUDGMENT: list(config)},
    )


def _read(raw: Raw, place: int) -> JudgeBatchItem | BefundError:
    try:
        item = decode(raw, _ITEM)
        refuse_repeated_fields(raw, JudgeBatchItem)
        return item
    except BefundError as error:
        error.move_below(f"/items/{place}")
        return error


def _tasks(read: Sequence[JudgeItem | BefundError], answers: Answers) -> list[Task | Outcome]:
    """What is to be judged; where something is wrong with an answer, that."""
    tasks: list[Task | Outcome] = []
    seen: set[str] = set()
    for place, each in enumerate(read):
        if isinstance(each, BefundError):
            tasks.append(Outcome(None, error=each))
            continue
        try:
            _refuse_twice(each, seen, answers)
            tasks.append(answers.task(each))
        except BefundError as error:
            error.move_below(f"/items/{place}")
            tasks.append(Outcome(None, error=error))
    return tasks


def _refuse_twice(item: JudgeItem, seen: set[str], answers: Answers) -> None:
    if answers.options.run is None or item.question_id is None:
        return
    if item.question_id in seen:
        raise ContradictionError.at(
            "/question_id",
            "question-twice",
            f"Question {item.question_id!r} is answered twice; a run keeps one answer to each. Send one.",
        )
    seen.add(item.question_id)
