"""Stored runs: listed, read, deleted, and carried between machines."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from itertools import groupby
from typing import TypeVar, cast

import msgspec
from msgspec import Raw, Struct

from befund.contract import (
    Content,
    DiagnosisRecord,
    JudgmentRecord,
    Question,
    RetrievalRecord,
    RunAnswer,
    RunDataset,
    RunImported,
    RunList,
    RunListing,
    RunQuestion,
    RunRecord,
    RunSummary,
)
from befund.core.bundle import Bundle, bundle_head, question_line, record_line
from befund.core.errors import DependencyError, MalformedRequestError, NotFoundError
from befund.core.names import read_name
from befund.core.runs import DIAGNOSIS, JUDGMENT, RETRIEVAL, Record, Run, Tally
from befund.ports import RunWrite, Store
from befund.usecases.datasets import described

PORTION = 500
"""Records read at a time."""
AT_ONCE = 25
"""Records looked at before the event loop is free in between: each may be long."""
READINGS = 5
"""How often a run is read that is begun anew while it is read."""

_JUDGMENT = msgspec.json.Decoder(JudgmentRecord)
_DIAGNOSIS = msgspec.json.Decoder(DiagnosisRecord)
_CURSOR = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")
_POSITION = re.compile(r"[0-9]{1,9}")

T = TypeVar("T")
Compute = Callable[[Callable[[], T]], Awaitable[T]]
"""Runs off the event loop what takes time."""


class _NothingHeldError(Exception):
    """A run holds nothing about a question; reading it again would not change that."""

    def __init__(self, run: str, question_id: str) -> None:
        super().__init__(f"Run {run!r} holds nothing about question {question_id!r}. Check the id.")


class Runs(Struct, frozen=True):
    """What can be done with stored runs; `content` says whether texts are kept of those that come in."""

    store: Store
    content: Content

    async def every(self, *, limit: int, cursor: str | None) -> RunList:
        """A page of runs, the last written first."""
        _check(cursor, _CURSOR)
        page = await self.store.runs(limit=limit, before=cursor)
        return RunList(runs=list(map(_listing, page.runs)), next=page.next)

    async def get(self, name: str, *, limit: int, cursor: str | None, compute: Compute[RunSummary]) -> RunAnswer:
        """One run: its summary, then a page of its records."""
        _check(cursor, _POSITION)

        async def read(run: Run) -> RunAnswer:
            return await self._answer(run, limit=limit, cursor=cursor, compute=compute)

        return await self._whole(read_name(name), read)

    async def _answer(self, run: Run, *, limit: int, cursor: str | None, compute: Compute[RunSummary]) -> RunAnswer:
        tally, after = Tally(), None if cursor is None else int(cursor)
        async for record in self._records(run):
            if record.part == RETRIEVAL:
                tally.add(record.json)
            elif record.part == JUDGMENT:
                tally.judged.add_stored(record.json)
            elif record.part == DIAGNOSIS:
                tally.diagnosed.add_stored(record.json, record.question_id)
        calibrations = await self.store.calibrations(tally.judged.judges)
        summary = await compute(lambda: tally.summary(run.questions, calibrations))
        records = await self.store.records(run, after=after, limit=limit + 1) if limit else []
        positions = sorted({record.position for record in records})
        more = len(positions) > limit > 0
        shown = [record for record in records if not more or record.position < positions[-1]]
        return RunAnswer(
            **msgspec.structs.asdict(summary),
            name=run.name,
            dataset=_dataset(run),
            config={**run.identity.whole, "fingerprint": run.identity.fingerprint},
            measured=run.identity.measured,
            created=run.created,
            updated=run.updated,
            records=[_record(list(parts)) for _, parts in groupby(shown, key=lambda record: record.position)],
            next=str(positions[limit - 1]) if more else None,
        )

    async def whole(self, name: str) -> tuple[Run, list[Record]]:
        """One run with all of its records."""

        async def read(run: Run) -> tuple[Run, list[Record]]:
            return run, [record async for record in self._records(run)]

        return await self._whole(read_name(name), read)

    async def question(self, name: str, question_id: str) -> RunQuestion:
        """What a run holds about one question.

        Raises:
            NotFoundError: There is no such run, or it holds nothing about it.
        """

        async def read(run: Run) -> RunQuestion:
            selection = await self.store.selection_of_version(run.dataset.version.hash, [question_id])
            place = selection.questions.get(question_id)
            records = [] if place is None else await self.store.records(run, after=place.position - 1, limit=1)
            own = [record for record in records if record.question_id == question_id]
            if place is None or not own:
                raise _NothingHeldError(run.name, question_id)
            record = _record(own)
            return RunQuestion(
                **{name: getattr(record, name) for name in RunRecord.__struct_fields__},
                name=run.name,
                dataset=_dataset(run),
                question=cast(Question, Raw(place.question.json)),  # sent as it is stored
            )

        try:
            return await self._whole(read_name(name), read)
        except _NothingHeldError as error:
            raise NotFoundError("unknown-question", str(error)) from error

    async def delete(self, name: str) -> None:
        """Delete a run with all of its records."""
        await self.store.delete_run(read_name(name))

    async def delete_question(self, name: str, question_id: str) -> None:
        """Delete what a run holds about one question."""
        await self.store.delete_question(read_name(name), question_id)

    async def export(self, name: str) -> AsyncIterator[bytes]:
        """A run as one file of lines; raises before the first line where there is no such run."""
        return await self._whole(read_name(name), self._begin_export)

    async def _begin_export(self, run: Run) -> AsyncIterator[bytes]:
        edition = await self.store.dataset_version(run.dataset.version.hash)
        head = b"".join((bundle_head(run), *map(question_line, edition.questions)))
        return self._lines(run, head, await self.store.records(run, limit=PORTION))

    async def put(self, name: str, bundle: Bundle, *, replace: bool) -> RunImported:
        """Write the records of a bundle to a run, as any write does."""
        run = bundle.run
        await self.store.write_run(
            RunWrite(
                name=read_name(name),
                identity=run.identity,
                dataset_name=run.dataset_name,
                edition=bundle.edition,
                records=[bundle.records],
                replace=replace,
                created=run.created,
            )
        )
        return RunImported(
            name=name,
            questions=len({record.question_id for record in bundle.records}),
            dataset_version=run.identity.version,
        )

    async def _whole(self, name: str, read: Callable[[Run], Awaitable[T]]) -> T:
        """Read one run, and not the half of it: again, where it was begun anew meanwhile."""
        for _ in range(READINGS):
            run = await self.store.run(name)
            with suppress(NotFoundError):
                return await read(run)
        raise DependencyError(
            "run-busy", f"Run {name!r} is begun anew again and again. Read it again later.", retry_after=1
        )

    async def _lines(self, run: Run, head: bytes, first: list[Record]) -> AsyncIterator[bytes]:
        """Breaks off, which readers notice, where the run is deleted or begun anew meanwhile."""
        yield head
        for record in first:
            yield record_line(record)
        async for record in self._records(run, after=first[-1].position if first else None):
            yield record_line(record)

    async def _records(self, run: Run, after: int | None = None) -> AsyncIterator[Record]:
        while portion := await self.store.records(run, after=after, limit=PORTION):
            for i, record in enumerate(portion):
                if not i % AT_ONCE:
                    await asyncio.sleep(0)
                yield record
            after = portion[-1].position


def _listing(run: Run) -> RunListing:
    return RunListing(
        name=run.name,
        dataset=_dataset(run),
        fingerprint=run.identity.fingerprint,
        questions=run.questions,
        created=run.created,
        updated=run.updated,
    )


def _dataset(run: Run) -> RunDataset:
    return RunDataset(name=run.dataset_name, version=described(run.dataset))


def _record(parts: list[Record]) -> RunRecord:
    """What the parts of the service found for one question."""
    found = {record.part: record.json for record in parts}
    return RunRecord(
        question_id=parts[0].question_id,
        question_hash=parts[0].question_hash,
        retrieval=cast(RetrievalRecord, Raw(found[RETRIEVAL])) if RETRIEVAL in found else None,  # sent as it is stored
        judgment=_JUDGMENT.decode(found[JUDGMENT]) if JUDGMENT in found else None,
        diagnosis=_DIAGNOSIS.decode(found[DIAGNOSIS]) if DIAGNOSIS in found else None,
    )


def _check(cursor: str | None, form: re.Pattern[str]) -> None:
    if cursor is not None and not form.fullmatch(cursor):
        raise MalformedRequestError("The cursor cannot be used", "Give `next` of the page before, or none.")
