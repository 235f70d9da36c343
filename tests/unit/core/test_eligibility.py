from typing import Any

import msgspec
import pytest

from befund.contract import QuestionFields
from befund.core.eligibility import Gold, exclusion_of, gold_of
from befund.core.errors import ContradictionError

MAPPING = {"E1": ["c1"], "E2": ["c1", "c2"], "E3": ["c3"], "none": []}


def question(**fields: Any) -> QuestionFields:
    return msgspec.convert({"id": "Q", "question": "?", **fields}, QuestionFields)


def graded(**grades: float) -> list[dict[str, Any]]:
    return [{"id": name, "relevance": grade} for name, grade in grades.items()]


def gold(relevant: Any = (), *, level: float = 0.5, **fields: Any) -> Gold:
    given = relevant if isinstance(relevant, dict) else list(relevant)
    return gold_of(question(**fields), given, MAPPING, relevance_level=level)


def test_evidence_is_mapped_to_chunks() -> None:
    found = gold(evidence=graded(E1=1, E3=2))
    assert found == Gold({"c1": 1.0, "c3": 2.0}, {"E1": ["c1"], "E3": ["c3"]}, [])


@pytest.mark.parametrize("grades", [{"E1": 1, "E2": 3}, {"E2": 3, "E1": 1}])
def test_several_evidences_on_one_chunk_give_it_the_highest_grade(grades: dict[str, float]) -> None:
    assert gold(evidence=graded(**grades)).grades["c1"] == 3.0


def test_evidence_of_grade_0_beside_a_relevant_one_does_not_lower_the_chunk() -> None:
    assert gold(evidence=graded(E1=0, E2=2)).grades == {"c1": 2.0, "c2": 2.0}


def test_negative_evidence_keeps_its_grade() -> None:
    assert gold(evidence=graded(E1=-1, E3=1)).grades == {"c1": -1.0, "c3": 1.0}


def test_relevant_evidence_without_chunks_is_unmapped() -> None:
    assert gold(evidence=graded(none=1, unknown=1, E1=1)).unmapped == ["none", "unknown"]


def test_irrelevant_evidence_needs_no_chunks() -> None:
    assert gold(evidence=graded(unknown=0, E1=1)).unmapped == []


def test_a_plain_list_of_chunks_has_grade_1() -> None:
    assert gold(["a", "b", "a"]).grades == {"a": 1.0, "b": 1.0}


def test_non_relevant_chunks_are_judged_with_grade_0() -> None:
    assert gold({"a": 2}, non_relevant=["x"]).grades == {"x": 0.0, "a": 2}


@pytest.mark.parametrize("grade", [0, -1])
def test_a_chunk_may_be_graded_irrelevant_and_listed_as_such(grade: float) -> None:
    assert gold({"a": grade}, non_relevant=["a"]).grades == {"a": grade}


@pytest.mark.parametrize(
    ("relevant", "fields", "code", "pointer"),
    [
        (["a"], {"evidence": graded(E1=1)}, "gold-given-twice", "/relevant"),
        ([], {"evidence": [*graded(E1=1), *graded(E1=2)]}, "graded-twice", "/evidence/1"),
        (["a"], {"non_relevant": ["x", "a"]}, "relevant-and-not", "/non_relevant/1"),
        ([], {"evidence": graded(E1=1), "non_relevant": ["c1"]}, "relevant-and-not", "/non_relevant/0"),
    ],
)
def test_gold_that_contradicts_itself_is_refused(relevant: Any, fields: Any, code: str, pointer: str) -> None:
    with pytest.raises(ContradictionError) as caught:
        gold(relevant, **fields)
    assert caught.value.code == code
    assert [place.pointer for place in caught.value.places] == [pointer]


def test_evidence_named_twice_with_one_grade_is_one() -> None:
    assert gold(evidence=[*graded(E1=1), *graded(E1=1)]).evidence == {"E1": ["c1"]}


def test_items_are_evidence_where_there_is_any() -> None:
    assert gold(evidence=graded(E1=1, E3=0)).items(0.5) == {"E1": ["c1"]}


def test_items_are_relevant_chunks_where_they_are_named_directly() -> None:
    assert gold({"a": 1, "b": 0, "c": 2}).items(0.5) == {"a": ["a"], "c": ["c"]}


# Exclusion


def exclusion(relevant: Any = (), *, index: set[str] | None = None, level: float = 0.5, **fields: Any) -> str | None:
    held = None if index is None else frozenset(index)
    return exclusion_of(question(**fields), gold(relevant, level=level, **fields), index=held, relevance_level=level)


def test_a_question_with_gold_is_eligible() -> None:
    assert exclusion(["a"]) is None


@pytest.mark.parametrize("behavior", ["clarify", "no_answer", "deny"])
def test_a_question_not_to_be_answered_is_excluded(behavior: str) -> None:
    assert exclusion(["a"], expected_behavior=behavior) == "behavior"


@pytest.mark.parametrize("relevant", [[], {}, {"a": 0}, {"a": -1, "b": 0}])
def test_a_question_with_nothing_relevant_is_excluded(relevant: Any) -> None:
    assert exclusion(relevant) == "ground_truth"


def test_a_question_with_known_false_positives_alone_is_excluded() -> None:
    assert exclusion(non_relevant=["x"]) == "ground_truth"


def test_a_question_with_irrelevant_evidence_alone_lacks_ground_truth_not_a_mapping() -> None:
    assert exclusion(evidence=graded(unknown=0)) == "ground_truth"


def test_one_unmapped_evidence_among_mapped_ones_excludes() -> None:
    assert exclusion(evidence=graded(E1=1, unknown=1)) == "mapping"


def test_gold_that_is_not_in_the_index_excludes() -> None:
    assert exclusion(["a", "b"], index={"a"}) == "index"


def test_irrelevant_gold_need_not_be_in_the_index() -> None:
    assert exclusion({"a": 1, "b": 0}, index={"a"}) is None


def test_an_index_not_known_excludes_nothing() -> None:
    assert exclusion(["a"], index=None) is None


def test_an_empty_index_excludes() -> None:
    assert exclusion(["a"], index=set()) == "index"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"expected_behavior": "deny", "evidence": graded(unknown=1)}, "behavior"),
        ({"expected_behavior": "deny"}, "behavior"),
        ({"evidence": graded(unknown=1, E1=1)}, "mapping"),
        ({"evidence": graded(E1=1)}, "index"),
    ],
)
def test_the_first_reason_wins(fields: dict[str, Any], reason: str) -> None:
    assert exclusion(index=set(), **fields) == reason


def test_below_the_relevance_level_there_is_no_ground_truth() -> None:
    assert exclusion({"a": 1}, level=2) == "ground_truth"
    assert exclusion({"a": 2}, level=2) is None


def test_unmapped_evidence_excludes_whatever_the_relevance_level() -> None:
    found = gold(evidence=graded(E1=2, none=1), level=2.0)
    assert exclusion_of(question(), found, index=None, relevance_level=2.0) == "mapping"


def test_a_chunk_below_the_relevance_level_must_be_in_the_index_too() -> None:
    found = gold({"a": 2.0, "b": 1.0}, level=2.0)
    assert exclusion_of(question(), found, index=frozenset({"a"}), relevance_level=2.0) == "index"
