"""The answers of a stored run under another judge."""

from collections.abc import Callable, Collection, Sequence

import msgspec
from msgspec import Struct

from befund.contract import JudgeItem, JudgeOptions, JudgmentRecord, RejudgeRequest
from befund.core.errors import ConflictError, ContradictionError
from befund.core.judge_batch import AT_ONCE
from befund.core.judge_tasks import Outcome
from befund.core.names import read_name
from befund.core.runs import JUDGMENT, RETRIEVAL, Record, Run
from befund.ports import RunWrite
from befund.usecases.budget import Budget
from befund.usecases.judge import Judging
from befund.usecases.judge_lookup import Answers
from befund.usecases.repetition import Caller, answered_with, refuse_answered_meanwhile, request_hash, unanswered
from befund.usecases.runs import Runs

_JUDGMENT = msgspec.json.Decoder(JudgmentRecord)


class Rejudged(Struct, frozen=True):
    """What came of the answers, and the questions that have none to be judged."""

    outcomes: Sequence[Outcome]
    without_answer: Sequence[str]


class Rejudging(Struct, frozen=True):
    """Judges the answers of stored runs anew."""

    runs: Runs
    judging: Judging

    async def rejudge(
        self, name: str, request: RejudgeRequest, caller: Caller, *, encode: Callable[[Rejudged], bytes]
    ) -> Rejudged:
        """Judge the answers of a run anew, and keep the judgments in another, beside what retrieval found.

        Args:
            name: The run.
            request: How, and where to.
            caller: Who asks.
            encode: Writes the answer to the request.

        Raises:
            NotFoundError: There is no such run, or judge.
            ContradictionError: It is to be kept in itself, holds no answer, or more than are judged at once.
            ConflictError: The run it is to be kept under differs.
            DependencyError: The store does not answer.
            AlreadyAnswered: It was carried out before.
        """
        if request.run == name:
            raise ContradictionError.at("/run", "same-run", "Judge into another run, so that both can be compared.")
        read_name(request.run)
        asked = request_hash(f"/runs/{name}/rejudge", msgspec.json.encode(request))
        repeats = await unanswered(self.judging.store, caller, asked)
        run, records = await self.runs.whole(name)
        wanted = frozenset(request.questions or (record.question_id for record in records))
        kept = [record for record in records if record.question_id in wanted]
        answers = _answers(name, records, wanted)
        about = await self._about(run, answers, request)
        tasks = [about.task(_item(question, record)) for question, record in answers.items()]
        done = Rejudged(
            await self.judging.judge_all(tasks, about, Budget(request.max_cost_usd)),
            list(dict.fromkeys(record.question_id for record in kept if record.question_id not in answers)),
        )
        try:
            write = self._write(run, kept, about, done.outcomes, request)
            await self.judging.store.write_run(write, answered=answered_with(repeats, encode(done)))
        except ConflictError as error:
            if error.code == "answered-meanwhile":
                await refuse_answered_meanwhile(self.judging.store, repeats)
            raise
        return done

    async def _about(self, run: Run, answers: Collection[str], request: RejudgeRequest) -> Answers:
        judge = self.judging.judges.named(request.judge)
        store = self.judging.store
        return Answers(
            JudgeOptions(judge=request.judge, votes=request.votes, use_cache=request.use_cache),
            {request.judge: judge},
            await store.selection_of_version(run.dataset.version.hash, list(answers)),
            run.dataset_name,
            await store.calibrations([judge.fingerprint]),
        )

    def _write(
        self,
        run: Run,
        records: Sequence[Record],
        about: Answers,
        outcomes: Sequence[Outcome],
        request: RejudgeRequest,
    ) -> RunWrite:
        judge = self.judging.judges.named(request.judge)
        written = [record for record in records if record.part == RETRIEVAL]  # a diagnosis rests on the old verdicts
        written += self.judging.keeping.records(about, outcomes, key_of=lambda _: self.judging.new_id())
        identity = msgspec.structs.replace(
            run.identity,
            judges={judge.name: judge.fingerprint},
            said={part: keys for part, keys in run.identity.said.items() if part in (RETRIEVAL, JUDGMENT)},
        )
        return RunWrite(
            name=request.run,
            identity=identity,
            dataset_name=run.dataset_name,
            edition=None,
            records=[written],
            replace=request.replace_run,
        )


def _item(question: str, record: JudgmentRecord) -> JudgeItem:
    return JudgeItem(
        question_id=question,
        answer=record.answer or "",
        context=record.context,
        expected_behavior=record.expected_behavior,
        generation=record.generation,
    )


def _answers(name: str, records: Sequence[Record], wanted: Collection[str]) -> dict[str, JudgmentRecord]:
    """The answers that are wanted, by question."""
    unknown = sorted(set(wanted).difference(record.question_id for record in records))
    if unknown:
        raise ContradictionError.at(
            "/questions", "unknown-question", f"Run {name!r} holds nothing about question {unknown[0]!r}."
        )
    judged = {record.question_id: _JUDGMENT.decode(record.json) for record in records if record.part == JUDGMENT}
    answers = {question: each for question, each in judged.items() if each.answer is not None}
    if not answers:
        raise ContradictionError(
            "no-answers",
            f"Run {name!r} holds no answer to judge: nothing was judged in it, or texts are not kept "
            "(BEFUND_STORE_CONTENT).",
        )
    answers = {question: each for question, each in answers.items() if question in wanted}
    if len(answers) > AT_ONCE:
        raise ContradictionError.at(
            "/questions",
            "too-many-items",
            f"{len(answers)} answers are more than are judged at once ({AT_ONCE}). Name questions, in portions; "
            "`befund runs rejudge` does.",
        )
    return answers
