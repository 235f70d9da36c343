"""Which questions count: filters, exclusions as they are listed, slices, the entries of single questions."""

from typing import Any

import pytest

from befund.contract import Context, Excluded, QuestionResult
from befund.core.retrieval import summary

from ..conftest import evaluate, question, refused, values

TAGGED = [
    question("A", relevant=["a"], tags=["x"], split="dev"),
    question("B", relevant=["b"], tags=["y", "x"], split="test"),
    question("C", relevant=["c"], split="test"),
    question("D", expected_behavior="deny", tags=["x"], split="test"),
]
RANKINGS = {"A": ["a"], "B": ["z"], "C": ["c"], "D": ["a"]}


@pytest.mark.parametrize(
    ("options", "total", "eligible", "hit_rate"),
    [
        ({}, 4, 3, 2 / 3),
        ({"tags": ["x"]}, 3, 2, 0.5),
        ({"tags": ["y"]}, 1, 1, 0.0),
        ({"tags": ["y", "unused"]}, 1, 1, 0.0),
        ({"tags": ["x", "y"]}, 3, 2, 0.5),
        ({"split": "test"}, 3, 2, 0.5),
        ({"split": "test", "tags": ["x"]}, 2, 1, 0.0),
    ],
)
@pytest.mark.parametrize("per_question", [True, False])
def test_filters(options: dict[str, Any], total: int, eligible: int, hit_rate: float, per_question: bool) -> None:
    response = evaluate(TAGGED, RANKINGS, k=[1], per_question=per_question, **options)
    assert (response.questions.total, response.questions.eligible) == (total, eligible)
    assert response.metrics["hit_rate@1"].value == pytest.approx(hit_rate)


def test_rankings_of_questions_that_a_filter_leaves_out_are_not_unknown() -> None:
    assert evaluate(TAGGED, RANKINGS, split="dev").questions.unknown_in_run == 0


@pytest.mark.parametrize(
    ("options", "pointer"),
    [({"tags": ["z"]}, "/tags"), ({"split": "smoke"}, "/split"), ({"split": "dev", "tags": ["y"]}, "/tags")],
)
def test_a_filter_that_selects_nothing_is_refused(options: dict[str, Any], pointer: str) -> None:
    error = refused(TAGGED, RANKINGS, **options)
    assert error.code == "nothing-selected"
    assert [place.pointer for place in error.places] == [pointer]


@pytest.mark.parametrize("per_question", [True, False])
def test_a_broken_ranking_is_refused_though_a_filter_leaves_it_out(per_question: bool) -> None:
    error = refused(TAGGED, {**RANKINGS, "B": [5]}, split="dev", per_question=per_question)
    assert [place.pointer for place in error.places] == ["/retrieval/rankings/B/0"]


def test_slices_are_the_metrics_of_the_questions_with_a_tag() -> None:
    response = evaluate(TAGGED, RANKINGS, k=[1], metrics=["hit_rate"])
    assert {tag: (part.n, part.metrics["hit_rate@1"].value) for tag, part in response.slices.items()} == {
        "x": (2, 0.5),
        "y": (1, 0.0),
    }


def test_a_tag_named_twice_counts_its_question_once() -> None:
    response = evaluate([question(relevant=["a"], tags=["x", "x"])], {"Q": ["a"]})
    assert response.slices["x"].n == 1


@pytest.mark.parametrize("per_question", [True, False])
def test_the_most_frequent_tags_are_reported_and_the_limit_is_said(per_question: bool) -> None:
    questions = [question(f"Q{number}", relevant=["a"], tags=[f"t{number:03}", "all"]) for number in range(201)]
    response = evaluate(questions, {"Q0": ["a"]}, k=[1], metrics=["recall"], per_question=per_question)
    assert len(response.slices) == 200
    assert "all" in response.slices
    assert "t199" not in response.slices
    assert [found.code for found in response.findings if found.code == "SLICES_LIMITED"]


def test_many_metrics_leave_room_for_fewer_slices() -> None:
    questions = [question(f"Q{number}", relevant=["a"], tags=[f"t{number:03}", "all"]) for number in range(20)]
    response = evaluate(questions, {"Q0": ["a"]}, k=list(range(1, 101)))
    assert len(response.metrics) == 801
    assert list(response.slices) == ["all", "t000", "t001", "t002", "t003", "t004", "t005", "t006"]


@pytest.mark.parametrize(("per_question", "advice"), [(True, "set per_question to false"), (False, "cutoffs.")])
def test_more_values_than_fit_are_refused(per_question: bool, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_LISTED_VALUES", 3)
    monkeypatch.setattr(summary, "MOST_VALUES", 3)
    questions = [question(f"Q{number}", relevant=["a"]) for number in range(2)]
    error = refused(questions, {"Q0": ["a"]}, k=[1, 2], metrics=["recall"], per_question=per_question)
    assert (error.code, error.places[0].pointer) == ("too-many-values", "/metrics")
    assert error.detail.startswith("2 metrics of 2 questions are 4 values, more than 3.")
    assert advice in error.detail


def test_exclusions_are_listed_by_reason() -> None:
    questions = [
        question("behavior", expected_behavior="no_answer"),
        question("nothing"),
        question("unmapped", evidence=[{"id": "E"}]),
        question("unindexed", relevant=["b"]),
        question("fine", relevant=["a"]),
    ]
    response = evaluate(questions, {"fine": ["a"]}, index_chunk_ids=["a"])
    assert response.questions.excluded == Excluded(
        behavior=["behavior"], ground_truth=["nothing"], mapping=["unmapped"], index=["unindexed"]
    )
    assert (response.questions.total, response.questions.eligible) == (5, 1)


def test_an_index_that_was_not_given_was_not_checked() -> None:
    assert evaluate([question(relevant=["a"])], {"Q": ["a"]}).questions.excluded.index is None


def test_the_entry_of_a_question() -> None:
    given = question(relevant={"a": 2, "b": 1, "c": 0}, non_relevant=["n"])
    (entry,) = evaluate([given], {"Q": ["x", "n", "a", "x", "b"]}, k=[3], metrics=["mrr", "judged"]).per_question
    assert entry == QuestionResult(
        id="Q",
        relevant=["a", "b"],
        retrieved=["x", "n", "a"],
        first_relevant_rank=3,
        metrics={"mrr@3": 1 / 3, "judged@3": 2 / 3},
        known_false_positives=["n"],
        unjudged=1,
        duplicates=["x"],
        acl_leaks=[],
        returned=5,
        excluded=None,
    )


def test_the_entry_of_a_question_missing_from_the_run() -> None:
    questions = [question(relevant=["a"]), question("P", relevant=["a"])]
    entry = evaluate(questions, {"P": ["a"]}, metrics=["recall@1", "judged@1"]).per_question[0]
    assert (entry.retrieved, entry.returned, entry.first_relevant_rank) == ([], 0, None)
    assert entry.metrics == {"recall@1": 0.0, "judged@1": None}


def test_an_excluded_question_without_a_ranking_has_no_entry() -> None:
    response = evaluate([question(relevant=["a"]), question("P")], {"Q": ["a"]})
    assert [entry.id for entry in response.per_question] == ["Q"]


def test_what_is_not_defined_is_unscored_and_not_in_the_mean() -> None:
    questions = [question(f"Q{number}", relevant=["a"]) for number in range(12)]
    response = evaluate(questions, {"Q0": ["a", "b"], "Q1": []}, metrics=["judged@2"])
    found = response.metrics["judged@2"]
    assert (found.value, found.n, found.attempted, found.unscored) == (0.5, 1, 12, 11)
    assert (found.ci, found.method) == (None, "too_few")


def test_context_is_what_a_generator_would_get() -> None:
    questions = [question("P", relevant=["a"]), question("Q", expected_behavior="deny"), question("R", relevant=["a"])]
    response = evaluate(questions, {"P": ["a", "b", "c", "d"], "Q": ["a"]}, k=[1, 3])
    assert response.context == Context(chunks_per_question=2.0, tokens_per_question=None, tokenizer=None)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, 17),
        (["ndcg"], 2),
        (["ndcg@7"], 1),
        (["ndcg@7", "ndcg@7"], 1),
        (["r_precision", "bpref"], 2),
        (["ndcg", "ndcg@1"], 2),
        (["map@100000"], 1),
    ],
)
def test_metrics_that_were_asked_for(asked: list[str] | None, expected: int) -> None:
    response = evaluate([question(relevant=["a"])], {"Q": ["a"]}, k=[5, 1, 5], metrics=asked)
    assert len(values(response)) == expected


@pytest.mark.parametrize(
    "name", ["", "ndcg@", "ndcg@0", "ndcg@100001", "ndcg@1.5", "ndcg@-1", "ndcg@ 1", "ndcg@٣", "bpref@5", "NDCG@5"]
)
def test_a_metric_that_does_not_exist_is_refused(name: str) -> None:
    assert refused([question(relevant=["a"])], {"Q": ["a"]}, metrics=[name]).code == "unknown-metric"


def test_the_content_hash_does_not_depend_on_how_a_data_set_is_written_down() -> None:
    first = [question("A", relevant={"a": 1, "b": 1}), question("B", relevant=["c"])]
    second = [question("B", relevant={"c": 1.0}), question("A", relevant=["b", "a"])]
    hashes = [evaluate(questions, {"A": ["a"]}).config["dataset"]["questions"] for questions in (first, second)]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("change", [{"relevant": {"a": 2}}, {"question": "Other?"}, {"tags": ["x"]}])
def test_the_content_hash_depends_on_what_a_question_says(change: dict[str, Any]) -> None:
    hashes = [
        evaluate([given], {"Q": ["a"]}).config["dataset"]["questions"]
        for given in (question(relevant={"a": 1}), question(relevant={"a": 1}) | change)
    ]
    assert hashes[0] != hashes[1]
