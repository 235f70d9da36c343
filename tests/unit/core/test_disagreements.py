"""Which disagreements are told first, and how much of them."""

from befund.contract import CalibrationItem, HumanVerdicts, JudgeInfo
from befund.core.calibration import Pair
from befund.core.disagreements import LONGEST_TEXT, MOST_TOLD, group_of, worst_of
from befund.core.judge_tasks import Outcome, judgment_of, task_of
from befund.core.judged import judged_by
from befund.core.judging import Fact, Observation


def outcome(answer: str = "An answer.") -> Outcome:
    task = task_of(CalibrationItem(question="?", answer=answer, human=HumanVerdicts()), None)
    judged = judged_by("j", task.item, Observation([Fact("f", "stated")], observed_behavior="answer", reason="So."))
    info = JudgeInfo(name="j", model=None, rubric=None, fingerprint="sha256:1")
    return Outcome(task, judgment_of(task, judged, judge=info, id="1", latency_ms=1.0))


def test_the_surest_first_then_what_passes_and_should_not() -> None:
    pairs = [
        Pair(0, True, False, "a", 0.6),
        Pair(1, False, True, "b", 0.6),
        Pair(2, True, False, "c", 0.9),
        Pair(3, True, True, "d", 1.0),
        Pair(4, True, None, "e"),
        Pair(5, False, True, "f"),
    ]
    assert [each.index for each in worst_of(pairs, [outcome()] * 6)] == [2, 1, 0, 5]


def test_there_are_not_too_many_and_none_is_too_long() -> None:
    pairs = [Pair(place, True, False, str(place)) for place in range(MOST_TOLD + 1)]
    told = worst_of(pairs, [outcome("x" * (LONGEST_TEXT + 1))] * (MOST_TOLD + 1))
    assert (len(told), len(told[0].answer), told[0].answer[-1]) == (MOST_TOLD, LONGEST_TEXT, "…")


def test_answers_to_one_question_are_a_group_unless_one_is_named() -> None:
    human = HumanVerdicts()
    named = CalibrationItem(question="Q?", answer="A", human=human, group="g", question_id="7")
    by_id = CalibrationItem(question="Q?", answer="A", human=human, question_id="7")
    by_text = CalibrationItem(question="Q?", answer="B", human=human)
    assert [group_of(each, 0) for each in (named, by_id, by_text)] == ["group g", "id 7", "question Q?"]
