from typing import Any

import pytest

from befund.contract import RetrieveEvalResponse

from ..conftest import evaluate, question, refused, values

MAPPING = {"E1": ["a1", "a2"], "E2": ["b1"], "E3": ["b1", "c1"]}


def by_evidence(ranking: list[str], evidence: list[str], *, k: int, mapping: Any = MAPPING) -> dict[str, float | None]:
    given = [question(evidence=[{"id": name} for name in evidence])]
    return values(evaluate(given, {"Q": ranking}, mapping=mapping, level="evidence", k=[k]))


def test_evidence_is_retrieved_at_the_rank_of_its_first_chunk() -> None:
    assert by_evidence(["x", "a2", "a1"], ["E1"], k=3)["mrr@3"] == 0.5


def test_a_second_chunk_of_the_same_evidence_adds_nothing_to_recall() -> None:
    assert by_evidence(["a1", "a2"], ["E1", "E2"], k=2)["recall@2"] == 0.5


def test_one_chunk_may_carry_several_pieces_of_evidence() -> None:
    assert by_evidence(["b1"], ["E2", "E3"], k=1)["recall@1"] == 1.0


def test_precision_counts_chunks_that_carry_any_evidence() -> None:
    assert by_evidence(["a1", "a2", "x", "b1"], ["E1", "E2", "E3"], k=4)["precision@4"] == 0.75


def test_a_chunk_that_comes_back_twice_counts_once_for_precision() -> None:
    assert by_evidence(["a1", "a1"], ["E1"], k=2)["precision@2"] == 0.5


def test_evidence_beyond_k_is_not_retrieved() -> None:
    assert by_evidence(["x", "a1"], ["E1"], k=1) == {
        "hit_rate@1": 0.0,
        "precision@1": 0.0,
        "recall@1": 0.0,
        "mrr@1": 0.0,
    }


def test_irrelevant_evidence_is_not_counted() -> None:
    evidence = [{"id": "E1"}, {"id": "E2", "relevance": 0}]
    response = evaluate([question(evidence=evidence)], {"Q": ["a1"]}, mapping=MAPPING, level="evidence", k=[1])
    assert values(response)["recall@1"] == 1.0


def test_chunks_named_directly_are_their_own_evidence() -> None:
    response = evaluate([question(relevant={"a": 1, "b": 2, "c": 0})], {"Q": ["b", "c"]}, level="evidence", k=[2])
    assert values(response) == {"hit_rate@2": 1.0, "precision@2": 0.5, "recall@2": 0.5, "mrr@2": 1.0}


@pytest.mark.parametrize("name", ["ndcg", "map@5", "f1", "judged@1", "r_precision", "bpref"])
def test_what_graded_chunks_would_distort_is_not_offered(name: str) -> None:
    error = refused([question(relevant=["a"])], {"Q": ["a"]}, level="evidence", metrics=[name])
    assert error.code == "unknown-metric"
    assert [place.pointer for place in error.places] == ["/metrics"]


def test_two_chunkings_are_compared_on_equal_terms() -> None:
    evidence = [{"id": "E1"}, {"id": "E2"}]

    def measured(mapping: dict[str, list[str]], ranking: list[str], level: str) -> RetrieveEvalResponse:
        return evaluate(
            [question(evidence=evidence)],
            {"Q": ranking},
            mapping=mapping,
            level=level,
            k=[1, 3],
            metrics=["recall", "mrr"],
        )

    whole = {"E1": ["A"], "E2": ["B"]}, ["A", "B", "x"]
    split = {"E1": ["A-1", "A-2", "A-3"], "E2": ["B-1", "B-2"]}, ["A-2", "B-1", "x"]
    assert values(measured(*whole, "evidence")) == values(measured(*split, "evidence"))
    assert values(measured(*whole, "chunk"))["recall@3"] == 1.0
    assert values(measured(*split, "chunk"))["recall@3"] == 0.4


def test_at_level_chunk_the_highest_grade_of_several_evidences_counts() -> None:
    evidence = [{"id": "E2", "relevance": 1}, {"id": "E3", "relevance": 3}]
    response = evaluate([question(evidence=evidence)], {"Q": ["b1"]}, mapping=MAPPING, metrics=["ndcg@1", "ndcg@2"])
    assert values(response) == {"ndcg@1": 1.0, "ndcg@2": pytest.approx(3 / (3 + 3 / 1.5849625))}
