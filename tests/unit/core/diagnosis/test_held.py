from typing import Any

import msgspec

from befund.contract import JudgeItem, JudgmentRecord
from befund.core.diagnosis.held import Held, held_of, reusable
from befund.core.judge_tasks import Task, hash_of_judged, task_of
from befund.core.runs import RETRIEVAL, Record

from .conftest import judgment

TASK = task_of(JudgeItem(question="How long?", answer="48 hours.", expected_facts=["72 hours"]), None)


def held(task: Task = TASK, **verdicts: Any) -> Held:
    record = JudgmentRecord(
        judgment=judgment(**verdicts),
        answer=task.sent.answer,
        context=None,
        expected_behavior=None,
        judged=hash_of_judged(task.item),
    )
    return Held(judged=record)


def retrieved(ranking: str, config: dict[str, Any]) -> Held:
    json = b'{"ranking": %s}' % ranking.encode()
    return held_of([Record(question_id="Q1", question_hash="h", position=0, part=RETRIEVAL, json=json)], config)


def test_any_judge_will_do_where_none_is_named() -> None:
    assert reusable(held(), TASK, fingerprint=None) is not None
    assert reusable(held(), TASK, fingerprint="sha256:0") is not None


def test_another_judge_is_asked_for() -> None:
    assert reusable(held(), TASK, fingerprint="sha256:1") is None


def test_a_judgment_that_was_not_reached_is_none() -> None:
    assert reusable(held(correct=None), TASK, fingerprint=None) is None


def test_a_question_not_to_be_answered_needs_the_verdict_on_its_behaviour() -> None:
    task = task_of(JudgeItem(question="How long?", answer="Which?", expected_behavior="clarify"), None)
    assert reusable(held(task, correct=None), task, fingerprint=None) is not None
    assert reusable(held(task, correct=None, behaved=None), task, fingerprint=None) is None


def test_a_judgment_without_texts_does_not_tell_what_it_judged() -> None:
    record = msgspec.structs.replace(held().judged, judged=None)  # type: ignore[type-var]
    assert reusable(Held(judged=record), TASK, fingerprint=None) is None


def test_a_ranking_comes_with_what_the_run_says_of_its_search() -> None:
    found = retrieved('["a", {"id": "b", "roles": []}]', {"retrieval": {"top_k": 2, "where": {"version": "3.0"}}})
    assert (found.ranking, found.top_k, found.where) == (["a", "b"], 2, {"version": "3.0"})


def test_a_configuration_of_any_other_form_says_nothing() -> None:
    for retrieval in ("bm25", {"top_k": "5", "where": [], "collection": 7}, {"top_k": True}, {"top_k": 0}):
        found = retrieved("null", {"retrieval": retrieval})
        assert (found.ranking, found.top_k, found.where, found.collection) == (None, None, None, None)
        assert retrieved('["a"]', {"retrieval": retrieval}).top_k is None
