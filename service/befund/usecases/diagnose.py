"""Diagnose answers: judge them where they are not judged, look for their evidence, say where it was lost."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import msgspec
from msgspec import Raw, Struct

from befund.contract import (
    DiagnoseBatchOptions,
    DiagnoseItem,
    DiagnoseRequest,
    Diagnosis,
    JudgeOptions,
    Judgment,
    RunSummary,
)
from befund.core.decoding import decode
from befund.core.diagnosis.cases import Case, Diagnosed, case_of, record_of, with_options
from befund.core.diagnosis.held import NOTHING, Held, contradictions, reusable
from befund.core.diagnosis.trace import Trace
from befund.core.errors import BefundError, ContradictionError
from befund.core.judge_tasks import Outcome, Task
from befund.core.repeated import refuse_repeated_fields
from befund.core.runs import DIAGNOSIS, Record
from befund.core.together import together
from befund.ports import Answered, FactReader, Metadata
from befund.usecases.budget import Budget
from befund.usecases.examining import Looked, examine
from befund.usecases.holding import held_by
from befund.usecases.judge import BatchTally, Judging
from befund.usecases.judge_lookup import Answers
from befund.usecases.probing import IndexParts, Probe, probe_collection
from befund.usecases.repetition import Caller, request_hash, unanswered

EXAMINED_AT_ONCE = 4
ANY_JUDGE = "default"
"""The judge of requests that name none; what a run holds of any judge is then as good."""
_ITEM = msgspec.json.Decoder(DiagnoseItem)
_MAPPING = msgspec.json.Decoder(dict[str, list[str]])


class DiagnosedTogether(Struct, frozen=True):
    """Answers diagnosed together, in the order in which they were sent, and their figures."""

    found: list[Diagnosed]
    summary: RunSummary


class _Work(Struct):
    """One answer on its way."""

    answers: Answers | None = None
    case: Case | None = None
    traces: Mapping[str, Trace] | None = None
    about: Mapping[str, Metadata] = {}
    reused: Judgment | None = None
    notes: Sequence[str] = ()
    judged: Outcome | None = None
    diagnosis: Diagnosis | None = None
    error: BefundError | None = None

    @property
    def judgment(self) -> Judgment | None:
        given = self.case.sent.judgment if self.case is not None else None
        return given or self.reused or (self.judged.judgment if self.judged is not None else None)

    @property
    def found(self) -> Diagnosed:
        task, sent = (None, None) if self.case is None else (self.case.task, self.case.sent)
        return Diagnosed(task, sent, self.diagnosis, self.judged, self.error)


class Diagnosing(Struct, frozen=True):
    """Diagnoses answers.

    Attributes:
        judging: Judges what is not judged yet; knows data sets and runs.
        parts: What looks into collections.
        reader: Reads texts for facts.
    """

    judging: Judging
    parts: IndexParts
    reader: FactReader

    async def one(self, request: DiagnoseRequest, caller: Caller) -> Diagnosed:
        """Answer POST /diagnose.

        Raises:
            ContradictionError: The request contradicts itself or says too little.
            NotFoundError: It names a data set or a collection that does not exist.
            ConflictError: The run it is to be kept under differs, or another embedder made the collection.
            JudgeError: There is no verdict.
            DependencyError: Store, index or embedder do not answer.
            AlreadyAnswered: It was carried out before.
        """
        names = (name for name in DiagnoseBatchOptions.__struct_fields__ if hasattr(request, name))
        given = {name: getattr(request, name) for name in names if getattr(request, name) is not None}
        options = DiagnoseBatchOptions(**given)
        repeats = await self._unanswered(options, caller, request_hash("/diagnose", msgspec.json.encode(request)))
        (work,) = await self._all([request], options)
        if work.error is not None:
            await self._keep([work], options, b"", None)
            raise work.error
        await self._keep([work], options, msgspec.json.encode(work.diagnosis), repeats)
        return work.found

    async def many(
        self,
        items: Sequence[Raw],
        options: DiagnoseBatchOptions,
        caller: Caller,
        *,
        encode: Callable[[DiagnosedTogether], bytes],
    ) -> DiagnosedTogether:
        """Diagnose many answers, each collection being looked into once. One that fails, fails alone.

        Raises:
            ContradictionError, NotFoundError, ConflictError, DependencyError: As `one`, about what all have in common.
            AlreadyAnswered: It was carried out before.
        """
        asked = request_hash("/diagnose/batch", msgspec.json.encode(options), *items)
        repeats = await self._unanswered(options, caller, asked)
        if options.collection is not None:
            await self.parts.index.collection(options.collection)
        works = await self._all([_read(raw) for raw in items], options)
        for place, work in enumerate(works):
            if work.error is not None:
                work.error.move_below(f"/items/{place}")
        together_ = DiagnosedTogether([work.found for work in works], _summary(works))
        await self._keep(works, options, encode(together_), repeats)
        return together_

    async def _unanswered(self, options: DiagnoseBatchOptions, caller: Caller, request: str) -> Answered | None:
        return None if options.run is None else await unanswered(self.judging.store, caller, request)

    async def _all(self, read: Sequence[DiagnoseItem | BefundError], options: DiagnoseBatchOptions) -> list[_Work]:
        works = [_Work(error=each if isinstance(each, BefundError) else None) for each in read]
        items = [(work, each) for work, each in zip(works, read, strict=True) if isinstance(each, DiagnoseItem)]
        await self._look_up(items, options)
        await self._probe([work for work in works if work.error is None])
        await self._judge([work for work in works if work.error is None], Budget(options.max_cost_usd))
        waiting = iter([work for work in works if work.error is None])

        async def examine() -> None:
            for work in waiting:
                await self._examine(work)

        await together(examine() for _ in range(EXAMINED_AT_ONCE))
        return works

    async def _look_up(self, items: Sequence[tuple[_Work, DiagnoseItem]], options: DiagnoseBatchOptions) -> None:
        """Make cases of what was sent, with the questions that it names."""
        groups: dict[str | None, list[tuple[_Work, DiagnoseItem]]] = {}
        for work, item in items:
            groups.setdefault(item.dataset or options.dataset, []).append((work, item))
        if options.run is not None and len(groups) > 1:
            detail = f"A run is measured on one data set; these are {', '.join(map(repr, groups))}. Name one."
            raise ContradictionError.at("/dataset", "several-datasets", detail)
        seen: set[str] = set()
        for dataset, group in groups.items():
            ids = dict.fromkeys(item.question_id for _, item in group if item.question_id is not None)
            named = dict.fromkeys(item.judge for _, item in group if item.judge is not None)
            answers = await self.judging.lookup.answers(
                _judge_options(options, dataset), list(ids), also=named, part=DIAGNOSIS
            )
            selection = answers.selection
            mapping = None if selection is None else _MAPPING.decode(selection.version.evidence_mapping)
            held = await self._held(answers)
            for work, item in group:
                work.answers = answers
                try:
                    _refuse_twice(item, seen, options)
                    task = answers.task(with_options(item, options))
                    known = held.get(item.question_id or "", NOTHING)
                    work.case = case_of(task, mapping, known)
                    work.reused = _reused(item, task, answers, known)
                    work.notes = [*contradictions(known, work.case.sent, task, reused=work.reused is not None)]
                except BefundError as error:
                    work.error = error

    async def _held(self, answers: Answers) -> Mapping[str, Held]:
        """What the run already holds about the questions; nothing where it is begun anew."""
        options, selection = answers.options, answers.selection
        if options.run is None or options.replace_run or selection is None:
            return {}
        return await held_by(self.judging.store, options.run, list(selection.questions.values()))

    async def _probe(self, works: Sequence[_Work]) -> None:
        """Look into every collection that is named, once for all its cases."""
        groups: dict[tuple[str, str | None], list[tuple[_Work, Case]]] = {}
        for work in works:
            case = work.case
            if case is not None and case.sent.collection is not None:
                groups.setdefault((case.sent.collection, case.sent.embedder), []).append((work, case))
        for (collection, embedder), group in groups.items():
            probes = [_probe_of(case) for _, case in group]
            try:
                probed = await probe_collection(self.parts, collection, probes, embedder=embedder)
            except BefundError as error:
                for work, _ in group:
                    work.error = error
                continue
            for (work, _), traces in zip(group, probed.traces, strict=True):
                work.traces, work.about = traces, probed.metadata

    async def _judge(self, works: Sequence[_Work], budget: Budget) -> None:
        """Ask the judge about what comes without a judgment."""
        by_answers: dict[int, list[_Work]] = {}
        for work in works:
            if work.judgment is None:
                by_answers.setdefault(id(work.answers), []).append(work)
        for group in by_answers.values():
            answers = group[0].answers
            tasks = [work.case.task for work in group if work.case is not None]
            outcomes = await self.judging.judge_all(tasks, cast(Answers, answers), budget)
            for work, outcome in zip(group, outcomes, strict=True):
                work.judged, work.error = outcome, outcome.error

    async def _examine(self, work: _Work) -> None:
        if work.case is None or work.judgment is None:
            return
        looked = Looked(work.traces, work.about)
        work.diagnosis = await examine(self.reader, work.case, work.judgment, looked, notes=work.notes)

    async def _keep(
        self, works: Sequence[_Work], options: DiagnoseBatchOptions, answer: bytes, repeats: Answered | None
    ) -> None:
        """Keep diagnoses, and the judgments made for them, in the run that the request names."""
        kept = [work for work in works if work.diagnosis is not None or work.judged is not None]
        if options.run is None or not kept:
            return
        answers = cast(Answers, kept[0].answers)
        asked = {answers.judge_of(work.judged.task).name for work in kept if work.judged and work.judged.task}
        judges = {name: judge for name, judge in answers.judges.items() if judge.name in asked}
        records = [record for work in kept for record in self._records(work, answers)]
        mine = msgspec.structs.replace(answers, judges=judges)
        await self.judging.keeping.write(mine, records, answer=answer, repeats=repeats)

    def _records(self, work: _Work, answers: Answers) -> Iterable[Record]:
        content = self.judging.content
        if work.judged is not None:
            yield from self.judging.keeping.records(answers, [work.judged], key_of=lambda _: self.judging.new_id())
        if work.case is not None and work.diagnosis is not None:
            yield record_of(work.case, work.diagnosis, judged=bool(work.judged or work.reused), content=content)


def _read(raw: Raw) -> DiagnoseItem | BefundError:
    try:
        item = decode(raw, _ITEM)
        refuse_repeated_fields(raw, DiagnoseItem)
        return item
    except BefundError as error:
        return error


def _judge_options(options: DiagnoseBatchOptions, dataset: str | None) -> JudgeOptions:
    names = set(JudgeOptions.__struct_fields__) & set(DiagnoseBatchOptions.__struct_fields__) - {"dataset"}
    return JudgeOptions(**{name: getattr(options, name) for name in names}, dataset=dataset)


def _reused(item: DiagnoseItem, task: Task, answers: Answers, held: Held) -> Judgment | None:
    """The judgment the run holds, unless one was sent, or another judge or a fresh verdict is asked for."""
    options = answers.options
    if item.judgment is not None or not options.use_cache or options.votes > 1:
        return None
    any_judge = (item.judge or options.judge) == ANY_JUDGE and not options.force_verdict
    return reusable(held, task, fingerprint=None if any_judge else answers.judge_of(task).fingerprint)


def _refuse_twice(item: DiagnoseItem, seen: set[str], options: DiagnoseBatchOptions) -> None:
    if options.run is None or item.question_id is None:
        return
    if item.question_id in seen:
        detail = f"Question {item.question_id!r} is answered twice; a run keeps one answer to each. Send one."
        raise ContradictionError.at("/question_id", "question-twice", detail)
    seen.add(item.question_id)


def _probe_of(case: Case) -> Probe:
    answers = case.expected == "answer"
    there = {*case.recorded.context, *(case.recorded.retrieved or ())}
    return Probe(
        question=case.sought.question,
        wanted=case.sought.wanted if answers else (),
        k=case.k,
        where=case.where,
        there=frozenset(there),
        context=list(case.recorded.context),
    )


def _summary(works: Sequence[_Work]) -> RunSummary:
    """The figures of answers that were diagnosed together; what failed counts as unscored."""
    tally = BatchTally()
    for place, work in enumerate(works):
        task = work.case.task if work.case is not None else None
        tally.add(Outcome(task, None if work.error else work.judgment, work.error))
        if work.diagnosis is not None:
            found = work.diagnosis
            tally.diagnosed.add(found.diagnosis, found.cause, question_id=found.question_id, item=place)
    return tally.summary()
