from typing import Any

import pytest

from ..conftest import evaluate, finding, question


def single(ranking: Any, *, k: tuple[int, ...] = (1, 5), **fields: Any) -> Any:
    return evaluate([question(relevant=["a"], **fields)], {"Q": ranking}, k=list(k))


def many(ranks: list[int], *, k: list[int], **options: Any) -> Any:
    """A question for each rank at which its one gold chunk stands; 0 where it does not come back."""
    questions = [question(f"Q{number}", relevant=["a"]) for number in range(len(ranks))]
    rankings = {
        f"Q{number}": [*(f"x{place}" for place in range(1, rank)), "a"] if rank else ["x"]
        for number, rank in enumerate(ranks)
    }
    return evaluate(questions, rankings, k=k, **options)


def test_a_clean_run_has_only_its_size_said() -> None:
    assert [found.code for found in single(["a", "b"]).findings] == ["SMALL_SAMPLE"]


# RANKING_GAP: recall at the largest k at least 0.8, at the smallest at most 0.6 times that


@pytest.mark.parametrize(
    ("early", "late", "expected"),
    [
        (12, 20, True),
        (13, 20, False),
        (9, 16, True),
        (9, 15, False),
        (0, 20, True),
        (10, 16, False),
        (20, 20, False),
    ],
)
def test_a_ranking_gap(early: int, late: int, expected: bool) -> None:
    ranks = [1] * early + [4] * (late - early) + [0] * (20 - late)
    found = finding(many(ranks, k=[5, 1, 3]), "RANKING_GAP")
    assert (found is not None) is expected
    if found:
        assert found.questions == [f"Q{number}" for number in range(early, late)]
        assert "Rerank" in found.message


def test_with_one_cutoff_there_is_no_gap() -> None:
    assert finding(many([4] * 20, k=[5, 5]), "RANKING_GAP") is None


def test_a_ranking_that_no_order_would_improve_has_no_gap() -> None:
    response = evaluate([question(relevant=["a", "b"])], {"Q": ["a", "b"]}, k=[1, 5])
    assert finding(response, "RANKING_GAP") is None


def test_without_any_gold_the_ids_are_not_called_wrong() -> None:
    assert finding(evaluate([question()], {"Q": ["a"]}), "NO_ID_OVERLAP") is None


def test_the_gap_at_level_evidence_is_one_of_evidence() -> None:
    # The evidence has a chunk at rank 1; of its chunks only one of the two that could is among the first two.
    mapping = {"E": [f"c{number}" for number in range(4)]}
    questions = [question(evidence=[{"id": "E"}])]
    rankings = {"Q": ["c0", "x", "c1", "c2", "c3"]}
    by_chunk = evaluate(questions, rankings, mapping=mapping, k=[2, 5])
    by_evidence = evaluate(questions, rankings, mapping=mapping, k=[2, 5], level="evidence")
    assert finding(by_chunk, "RANKING_GAP") is not None
    assert by_evidence.metrics["recall@2"].value == 1.0
    assert finding(by_evidence, "RANKING_GAP") is None


# SMALL_SAMPLE


@pytest.mark.parametrize(("n", "worth"), [(1, "100.0"), (13, "7.7"), (99, "1.0")])
def test_a_small_sample_says_what_one_question_is_worth(n: int, worth: str) -> None:
    assert f"worth {worth} points" in finding(many([1] * n, k=[1]), "SMALL_SAMPLE").message


def test_a_hundred_questions_are_no_small_sample() -> None:
    assert finding(many([1] * 100, k=[1]), "SMALL_SAMPLE") is None


# Order: duplicates, scores, ties


def test_an_id_that_comes_back_twice_is_listed() -> None:
    response = single(["b", "a", "b", "b"])
    assert finding(response, "DUPLICATE_IDS").questions == ["Q"]
    assert response.per_question[0].duplicates == ["b"]


def test_an_id_that_comes_back_beyond_the_largest_k_counts_as_duplicate_too() -> None:
    assert finding(single(["a", "b", "b"], k=(1,)), "DUPLICATE_IDS") is not None


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.9, 0.5, 0.1], False),
        ([0.5, 0.5, 0.5], False),
        ([0.1, 0.5, 0.9], True),
        ([0.9, 0.1, 0.2], True),
        ([0.9, None, 0.95], True),
        ([0.9, None, 0.1], False),
        ([None, None, None], False),
        ([-1.0, -2.0, -3.0], False),
    ],
)
def test_scores_that_rise_down_the_list(scores: list[float | None], expected: bool) -> None:
    response = single([{"id": f"c{at}", "score": score} for at, score in enumerate(scores)])
    assert (finding(response, "SCORES_NOT_MONOTONE") is not None) is expected
    assert response.per_question[0].retrieved == ["c0", "c1", "c2"]


def test_a_distance_does_not_turn_the_ranking_round() -> None:
    response = single([{"id": "a", "score": 0.1}, {"id": "b", "score": 0.9}])
    assert response.metrics["mrr@1"].value == 1.0


def test_equal_scores_of_a_map_are_said() -> None:
    found = finding(single({"a": 1.0, "b": 1.0}), "TIED_SCORES")
    assert found.questions == ["Q"]


def test_scores_of_a_map_that_differ_in_double_precision_are_no_tie() -> None:
    response = single({"a": 1.00000001, "b": 1.0})
    assert finding(response, "TIED_SCORES") is None
    assert response.per_question[0].retrieved == ["a", "b"]


# NO_ID_OVERLAP


def test_ids_of_another_kind_are_noticed() -> None:
    response = evaluate([question(relevant=["D1-chunk-1"])], {"Q": ["D1", "D2"]})
    assert response.findings[0].code == "NO_ID_OVERLAP"


@pytest.mark.parametrize(
    ("questions", "rankings", "options"),
    [
        ([question(relevant=["a"])], {"Q": []}, {}),
        ([question(relevant=["a"])], {}, {}),
        ([question(relevant=["a"]), question("P", relevant=["b"])], {"Q": ["b"], "P": ["a"]}, {}),
        ([question(relevant=["a"]), question("P", relevant={"b": 0})], {"Q": ["b"]}, {}),
        ([question(relevant=["a"], non_relevant=["b"])], {"Q": ["b"]}, {}),
        ([question(relevant=["a"]), question("P", expected_behavior="deny", non_relevant=["b"])], {"Q": ["b"]}, {}),
        ([question(relevant=["a"])], {"Q": ["b"]}, {"index_chunk_ids": ["a", "b"]}),
        ([question(relevant=["a"])], {"Q": ["b"]}, {"mapping": {"E": ["b"]}}),
        ([question(relevant=["a"])], {"Q": ["c"], "unknown": ["a"]}, {}),
    ],
    ids=[
        "nothing retrieved",
        "no rankings",
        "gold of another question",
        "irrelevant gold of another question",
        "known false positive",
        "known false positive of an excluded question",
        "in the index",
        "mapped evidence",
        "ranking of an unknown question",
    ],
)
def test_ids_that_are_known_somewhere_are_no_other_kind(questions: Any, rankings: Any, options: Any) -> None:
    assert finding(evaluate(questions, rankings, **options), "NO_ID_OVERLAP") is None


@pytest.mark.parametrize("per_question", [True, False])
def test_ids_that_are_not_in_the_index_either(per_question: bool) -> None:
    response = evaluate([question(relevant=["a"])], {"Q": ["x"]}, index_chunk_ids=["a", "b"], per_question=per_question)
    assert finding(response, "NO_ID_OVERLAP") is not None


# Known false positives


def test_known_false_positives_that_come_back_are_named() -> None:
    response = single(["n2", "a", "n1", "n2"], non_relevant=["n1", "n2", "n3"])
    assert finding(response, "KNOWN_FALSE_POSITIVES").message.startswith("2 known false positives")
    assert response.per_question[0].known_false_positives == ["n2", "n1"]


def test_known_false_positives_are_watched_down_to_the_largest_k() -> None:
    assert finding(single(["a", "b", "n"], k=(1, 2), non_relevant=["n"]), "KNOWN_FALSE_POSITIVES") is None


def test_known_false_positives_of_an_excluded_question_are_watched_too() -> None:
    response = evaluate([question(expected_behavior="deny", non_relevant=["n"])], {"Q": ["n"]})
    assert finding(response, "KNOWN_FALSE_POSITIVES").questions == ["Q"]
    assert response.per_question[0].excluded == "behavior"


# Coverage


def test_an_eligible_question_without_a_ranking_scores_0_and_is_listed() -> None:
    response = evaluate([question(relevant=["a"]), question("P", relevant=["a"])], {"Q": ["a"]}, k=[1])
    assert response.questions.missing_from_run == ["P"]
    assert finding(response, "MISSING_FROM_RUN").questions == ["P"]
    assert response.metrics["hit_rate@1"].value == 0.5


def test_an_excluded_question_without_a_ranking_is_not_missing() -> None:
    response = evaluate([question(relevant=["a"]), question("P", expected_behavior="deny")], {"Q": ["a"]})
    assert response.questions.missing_from_run == []


def test_an_empty_list_scores_0_and_is_not_missing() -> None:
    response = evaluate([question(relevant=["a"])], {"Q": []}, k=[1])
    assert response.questions.missing_from_run == []
    assert response.metrics["precision@1"].value == 0.0


def test_rankings_of_unknown_questions_are_counted() -> None:
    response = evaluate([question(relevant=["a"])], {"Q": ["a"], "X": ["a"], "Y": []})
    assert response.questions.unknown_in_run == 2
    assert finding(response, "UNKNOWN_IN_RUN").message.startswith("2 rankings")


def test_where_nothing_is_eligible_values_are_null_and_it_is_said() -> None:
    response = evaluate([question(expected_behavior="deny")], {"Q": ["a"]}, k=[1])
    assert finding(response, "NO_ELIGIBLE_QUESTION") is not None
    assert response.metrics["hit_rate@1"].value is None
    assert response.metrics["hit_rate@1"].method == "too_few"


def test_a_generated_data_set_is_said() -> None:
    response = evaluate([question(relevant=["a"])], {"Q": ["a"]}, generated=True)
    assert finding(response, "GENERATED_DATASET") is not None
