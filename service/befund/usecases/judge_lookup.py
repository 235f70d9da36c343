"""What a request to judge names, looked up: judges, questions, the run. What is wrong with all of it is said here."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec import Raw, Struct

from befund import __version__
from befund.contract import JudgeBatchItem, JudgeCalibration, JudgeInfo, JudgeItem, JudgeName, JudgeOptions
from befund.core import monitors
from befund.core.datasets import Selection, Version
from befund.core.decoding import decode
from befund.core.errors import BefundError, ContradictionError, NotFoundError
from befund.core.judge_tasks import Outcome, Task, task_of
from befund.core.repeated import refuse_repeated_fields
from befund.core.runs import JUDGMENT, LARGEST_CONFIG, Identity, compared, completed, refuse_other
from befund.ports import Judge, Judges, Store

READ_AT_ONCE = 200
"""Answers that are looked at before the event loop is free in between: each may be long."""


class _Named(Struct):
    """The judge of an answer; whether its name can be one is not looked at here."""

    judge: JudgeName | None = None


_ITEM = msgspec.json.Decoder(JudgeBatchItem)
_NAMED = msgspec.json.Decoder(_Named)


class Answers(Struct, frozen=True):
    """A request, read: who judges, and the questions it names.

    Attributes:
        options: How is judged.
        judges: Who judges, by the names that the request gives them.
        selection: The questions; None where no data set is meant.
        dataset_name: What the data set is called; None where only its run names it.
        calibrations: How judges agree with people, by fingerprint, of those that were calibrated.
        part: The part of the service that asks, as runs name it.
    """

    options: JudgeOptions
    judges: dict[str, Judge]
    selection: Selection | None
    dataset_name: str | None
    calibrations: Mapping[str, dict[str, JudgeCalibration]]
    part: str = JUDGMENT

    @property
    def concurrency(self) -> int:
        """How many answers it makes sense to have under way."""
        return min(judge.concurrency for judge in self.judges.values())

    def judge_of(self, task: Task) -> Judge:
        """Who judges this answer."""
        own = task.sent.judge if isinstance(task.sent, JudgeBatchItem) else None
        return self.judges[own or self.options.judge]

    def info(self, judge: Judge) -> JudgeInfo:
        """A judge as callers see it, with what is known of how it agrees with people."""
        return info_of(judge, self.calibrations.get(judge.fingerprint))

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


def info_of(judge: Judge, calibration: dict[str, JudgeCalibration] | None) -> JudgeInfo:
    """A judge as callers see it."""
    return JudgeInfo(
        name=judge.name,
        model=judge.model,
        rubric=judge.rubric,
        fingerprint=judge.fingerprint,
        models=list(judge.models),
        calibration=calibration,
    )


class Lookup(Struct, frozen=True):
    """Looks up what requests name.

    Attributes:
        judges: Who can judge.
        store: Where data sets have names and runs are kept.
    """

    judges: Judges
    store: Store

    async def check(self, items: Sequence[Raw], options: JudgeOptions) -> None:
        """Look up what answers have in common, without reading the whole of them; raises as `prepare`."""
        named: dict[str, None] = {}
        for place, raw in enumerate(items):
            if not place % READ_AT_ONCE:
                await asyncio.sleep(0)  # others get their turn
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # told with its answer
                judge = _NAMED.decode(raw).judge
                named |= {} if judge is None else {judge: None}
        await self.answers(options, [], also=named)

    async def prepare(
        self, items: Sequence[Raw], options: JudgeOptions, *, first: int = 0, seen: set[str] | None = None
    ) -> tuple[Answers, list[Task | Outcome]]:
        """Read answers and look up what they name; what is wrong with one stands in its place.

        Args:
            items: The answers, unread.
            options: How is judged.
            first: The place of the first of them in the request.
            seen: The questions of a run that were answered before in the request; those answered here are added.

        Raises:
            ContradictionError, NotFoundError, ConflictError, DependencyError: About what all have in common.
        """
        read = [_read(raw, place) for place, raw in enumerate(items, start=first)]
        ids = [each.question_id for each in read if isinstance(each, JudgeItem) and each.question_id is not None]
        named = [each.judge for each in read if isinstance(each, JudgeBatchItem) and each.judge is not None]
        answers = await self.answers(options, list(dict.fromkeys(ids)), also=dict.fromkeys(named))
        return answers, tasks_of(read, answers, first=first, seen=seen)

    async def answers(
        self, options: JudgeOptions, question_ids: Sequence[str], *, also: Iterable[str] = (), part: str = JUDGMENT
    ) -> Answers:
        """Look up what a request names.

        Args:
            options: How is judged.
            question_ids: The questions it names.
            also: Judges it names beside that of the options.
            part: The part of the service that asks, as runs name it.

        Raises:
            ContradictionError, NotFoundError, ConflictError, DependencyError: About what all answers have in common.
        """
        _refuse_contradiction(options)
        judges = {name: self.judges.named(name, forced=options.force_verdict) for name in (options.judge, *also)}
        calibrated = await self.store.calibrations([judge.fingerprint for judge in judges.values()])
        if options.dataset is not None:
            selection = await self.store.selection(options.dataset, question_ids)
            answers = Answers(options, judges, selection, options.dataset.partition("@")[0], calibrated, part)
        elif options.run is not None:
            answers = Answers(options, judges, await self._of_run(options.run, question_ids), None, calibrated, part)
        else:
            answers = Answers(options, judges, None, None, calibrated, part)
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
        sent = identity_of(answers, version)
        if options.replace_run:
            return
        try:
            run = await self.store.run(options.run)
        except NotFoundError:
            return
        refuse_other(options.run, run.identity, sent)


def identity_of(answers: Answers, version: Version) -> Identity:
    """What the run is that the request writes to."""
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
        said={answers.part: list(config)},
    )


def _read(raw: Raw, place: int) -> JudgeBatchItem | BefundError:
    try:
        item = decode(raw, _ITEM)
        refuse_repeated_fields(raw, JudgeBatchItem)
        return item
    except BefundError as error:
        error.move_below(f"/items/{place}")
        return error


def tasks_of(
    read: Sequence[JudgeItem | BefundError], answers: Answers, *, first: int = 0, seen: set[str] | None = None
) -> list[Task | Outcome]:
    """What is to be judged; where something is wrong with an answer, that. The rest is as with `Lookup.prepare`."""
    tasks: list[Task | Outcome] = []
    seen = set() if seen is None else seen
    for place, each in enumerate(read, start=first):
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


def _refuse_contradiction(options: JudgeOptions) -> None:
    if options.monitor is not None and options.run is not None:
        raise ContradictionError.at(
            "/monitor", "run-and-monitor", "A run keeps one judgment a question, a monitor every one. Send one of them."
        )
    if options.monitor is not None and options.replace_run:
        raise ContradictionError.at(
            "/replace_run", "monitor-replaced", "A monitor is only appended to. Send replace_run with a run."
        )
    most = LARGEST_CONFIG if options.monitor is None else monitors.LARGEST_CONFIG
    if len(msgspec.json.encode(options.config)) > most:
        of = "a run" if options.monitor is None else "an answer in a monitor"
        raise ContradictionError.at(
            "/config", "config-too-large", f"The configuration of {of} has at most {most} bytes."
        )
