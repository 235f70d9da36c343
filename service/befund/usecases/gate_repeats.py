"""Judge anew the verdicts a gate hangs on."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from befund.contract import CompareOptions, CompareResponse, Gate, GateResult, JudgeItem, JudgmentRecord
from befund.core.comparison.compare import Compares, evidence_of, finished
from befund.core.comparison.names import GIVEN_CLAIMS
from befund.core.comparison.side import Scored
from befund.core.datasets import Edition, Placed
from befund.core.errors import ContradictionError, JudgeError
from befund.core.gates.decide import Evidence, decide
from befund.core.gates.near import deciding, with_verdicts
from befund.core.judge_tasks import task_of
from befund.core.runs import JUDGMENT, Record
from befund.core.together import together
from befund.ports import Judge, Judges
from befund.usecases.votes import judge_by_votes

_RECORD = msgspec.json.Decoder(JudgmentRecord)
NO_VERDICT = Scored(None, "failed")

Ask = Callable[[], Awaitable[Scored]]


class Answers(Struct, frozen=True):
    """The stored answers of one side: its records, and the data set they belong to."""

    records: Mapping[str, Record]
    edition: Edition

    @classmethod
    def of(cls, records: Sequence[Record], edition: Edition) -> "Answers":
        """The judgments among the records of a run."""
        return cls({record.question_id: record for record in records if record.part == JUDGMENT}, edition)


class Repeating(Struct, frozen=True):
    """Judges anew, on both sides, what gates with `repeats` hang on.

    Attributes:
        judges: Who can judge.
        sides: The answers of baseline and candidate; None for a side of rankings.
    """

    judges: Judges
    sides: tuple[Answers | None, Answers | None]

    async def decide_anew(
        self, together_: Compares, answer: CompareResponse, options: CompareOptions, gates: Sequence[Gate]
    ) -> CompareResponse:
        """The answer, with every gate near its threshold decided on verdicts that were asked for again."""
        evidence = evidence_of(together_, options)
        results = list(answer.gates)
        for place, (gate, result) in enumerate(zip(gates, answer.gates, strict=True)):
            questions = deciding(gate, result, evidence)
            if questions:
                results[place] = await self._gate(gate, result, questions, evidence)
        return finished(answer, results)

    async def _gate(self, gate: Gate, result: GateResult, questions: Sequence[str], evidence: Evidence) -> GateResult:
        column = evidence.columns[gate.metric]
        try:
            before = await self._side(self.sides[0], questions, gate)
            after = await self._side(self.sides[1], questions, gate)
        except ContradictionError as error:
            return _undecided(result, error.detail)
        anew = with_verdicts(column, evidence.paired.ids, before, after)
        columns = {**evidence.columns, gate.metric: anew}
        decided = decide(gate, msgspec.structs.replace(evidence, columns=columns), repeated=questions)
        how = (
            f"{len(questions)} of the answers were judged {gate.repeats} times anew; at first it said {result.status}."
        )
        return msgspec.structs.replace(decided, detail=f"{decided.detail} {how}")

    async def _side(self, answers: Answers | None, questions: Sequence[str], gate: Gate) -> dict[str, Scored]:
        if answers is None:
            return {}
        kept = {question.id: (place, question) for place, question in enumerate(answers.edition.questions)}
        asked: dict[str, tuple[Judge, JudgeItem, Placed]] = {}
        for question in questions:
            if question in answers.records:
                record = _RECORD.decode(answers.records[question].json)
                item = _item(question, record)
                asked[question] = self._judge(record), item, Placed(*kept[question])
        found = await together(_verdict(judge, item, place, gate) for judge, item, place in asked.values())
        return dict(zip(asked, found, strict=True))

    def _judge(self, record: JudgmentRecord) -> Judge:
        """Who judged this answer, as it is configured now.

        Raises:
            ContradictionError: It is not there any more, or another one than it was.
        """
        judge = self.judges.named(record.judgment.judge.name)
        if judge.fingerprint != record.judgment.judge.fingerprint:
            raise ContradictionError(
                "judge-changed", f"The judge {judge.name!r} is another than the one that judged these answers."
            )
        return judge


async def _verdict(judge: Judge, item: JudgeItem, place: Placed, gate: Gate) -> Scored:
    """The majority of so many new verdicts; a judge that fails gives none."""
    dimension = "faithful" if gate.metric == GIVEN_CLAIMS else gate.metric
    try:
        judged = await judge_by_votes(judge, task_of(item, place).item, votes=gate.repeats, use_cache=False)
    except JudgeError:
        return NO_VERDICT
    outcome = getattr(judged.verdicts, dimension)
    return Scored(outcome.verdict, outcome.status)


def _item(question: str, record: JudgmentRecord) -> JudgeItem:
    """The answer as it was judged.

    Raises:
        ContradictionError: Its text is not kept.
    """
    if record.answer is None:
        raise ContradictionError(
            "no-answers", "The answers are not kept (BEFUND_STORE_CONTENT), so none is judged anew."
        )
    return JudgeItem(
        question_id=question,
        answer=record.answer,
        context=record.context,
        expected_behavior=record.expected_behavior,
        generation=record.generation,
    )


def _undecided(result: GateResult, why: str) -> GateResult:
    """A gate that asked for repetitions and got none does not pass; what failed without them stays failed."""
    status = "inconclusive" if result.status == "pass" else result.status
    return msgspec.structs.replace(result, status=status, detail=f"{result.detail} Near its threshold. {why}")
