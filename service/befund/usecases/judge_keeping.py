"""Where judgments are kept: in the run that a request names, or in its monitor."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from befund.contract import Content
from befund.core.errors import ConflictError
from befund.core.judge_tasks import Outcome, failed_judgment, record_of
from befund.core.monitors import Entry, entry_of
from befund.core.runs import Record
from befund.ports import Answered, RunWrite, Store
from befund.usecases.judge_lookup import Answers, identity_of
from befund.usecases.repetition import answered_with, refuse_answered_meanwhile

KeyOf = Callable[[int], str]
"""Names the entry of a monitor by the place of its answer in the request."""


class Keeping(Struct, frozen=True):
    """Keeps judgments; `content` says whether texts are kept."""

    store: Store
    content: Content

    async def keep(
        self,
        answers: Answers,
        outcomes: Sequence[Outcome],
        *,
        key_of: KeyOf,
        answer: bytes = b"",
        repeats: Answered | None = None,
    ) -> None:
        """Keep what came of answers, and remember what the request was answered.

        Args:
            answers: The request; one that names neither run nor monitor keeps nothing.
            outcomes: What came of the answers.
            key_of: Names entries of a monitor, which take the place of those with the same key, and what failed.
            answer: The answer to the request.
            repeats: What to remember of it.

        Raises:
            ConflictError: The run was measured with something else.
            AlreadyAnswered: The same request was answered meanwhile.
        """
        if answers.options.monitor is None:
            await self.write(answers, self.records(answers, outcomes, key_of=key_of), answer=answer, repeats=repeats)
        elif entries := self._entries(answers, outcomes, key_of):
            answered = answered_with(repeats, answer) if answer else None
            async with self._once(repeats):
                await self.store.monitors.append(answers.options.monitor, entries, answered=answered)

    async def write(
        self, answers: Answers, records: Iterable[Record], *, answer: bytes = b"", repeats: Answered | None = None
    ) -> None:
        """Write records to the run that a request names, if it names one and there are any; raises as `keep`."""
        every = list(records) if answers.options.run is not None else []
        if not every or answers.options.run is None or answers.selection is None:
            return
        write = RunWrite(
            name=answers.options.run,
            identity=identity_of(answers, answers.selection.version),
            dataset_name=answers.dataset_name,
            edition=None,
            records=[every],
            replace=answers.options.replace_run,
        )
        async with self._once(repeats):
            await self.store.write_run(write, answered=answered_with(repeats, answer) if answer else None)

    @asynccontextmanager
    async def _once(self, repeats: Answered | None) -> AsyncIterator[None]:
        try:
            yield
        except ConflictError as error:
            if error.code == "answered-meanwhile":
                await refuse_answered_meanwhile(self.store, repeats)
            raise

    def _entries(self, answers: Answers, outcomes: Sequence[Outcome], key_of: KeyOf) -> list[Entry]:
        made = (
            entry_of(
                outcome,
                key=key_of(place),
                content=self.content,
                config=answers.options.config,
                judge=None if outcome.task is None else answers.judge_of(outcome.task).fingerprint,
            )
            for place, outcome in enumerate(outcomes)
        )
        return [entry for entry in made if entry is not None]

    def records(self, answers: Answers, outcomes: Sequence[Outcome], *, key_of: KeyOf) -> Iterator[Record]:
        """What a run keeps: judgments, and answers that got none as failed, so that they are missed in no figure.

        Args:
            answers: The request.
            outcomes: What came of the answers.
            key_of: Names what failed, by the place of its answer.
        """
        for place, outcome in enumerate(outcomes):
            task, judgment = outcome.task, outcome.judgment
            if task is None or task.place is None:
                continue
            if judgment is None and outcome.error is not None:
                judge = answers.info(answers.judge_of(task))
                judgment = failed_judgment(task, outcome.error, judge=judge, id=key_of(place))
            if judgment is not None:
                yield record_of(task, judgment, content=self.content)
