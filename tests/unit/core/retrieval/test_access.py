import time
from typing import Any

import pytest

from befund.usecases.retrieve import evaluate_retrieval

from ..conftest import body_of, evaluate, finding, question


def entry(name: str, roles: list[str] | None = None) -> dict[str, Any]:
    return {"id": name} if roles is None else {"id": name, "roles": roles}


def leaks(ranking: list[Any], *, role: str | None = "partner") -> list[str]:
    """The chunks of one question's ranking that its role may not read."""
    given = question(relevant=["a"]) | ({"role": role} if role else {})
    response = evaluate([given], {"Q": ranking})
    leaked = response.per_question[0].acl_leaks
    assert (finding(response, "ACL_LEAK") is not None) is bool(leaked)
    return leaked


def test_a_chunk_whose_roles_leave_out_the_role_leaks() -> None:
    assert leaks([entry("a", ["partner"]), entry("b", ["staff"])]) == ["b"]


def test_one_of_several_roles_is_enough() -> None:
    assert leaks([entry("a", ["staff", "partner"])]) == []


def test_roles_are_compared_exactly() -> None:
    assert leaks([entry("a", ["Partner"]), entry("b", ["partner "])]) == ["a", "b"]


@pytest.mark.parametrize("without", ["b", {"id": "b"}, {"id": "b", "roles": None}, {"id": "b", "roles": []}])
def test_once_roles_are_used_a_chunk_without_any_is_denied(without: Any) -> None:
    assert leaks([entry("a", ["partner"]), without]) == ["b"]


def test_an_empty_list_of_roles_is_a_use_of_roles() -> None:
    assert leaks(["a", entry("b", [])]) == ["a", "b"]


@pytest.mark.parametrize("ranking", [["a", "b"], [entry("a"), {"id": "b", "roles": None}]])
def test_where_roles_are_never_used_nothing_leaks(ranking: list[Any]) -> None:
    assert leaks(ranking) == []


def test_a_question_without_a_role_is_not_checked() -> None:
    assert leaks([entry("a", ["staff"])], role=None) == []


def test_a_chunk_that_leaks_twice_is_named_once() -> None:
    assert leaks([entry("b", ["staff"]), entry("b", ["staff"]), entry("a", ["partner"])]) == ["b"]


def test_a_leak_beyond_the_largest_k_is_a_leak() -> None:
    ranking = [entry(f"c{number}", ["partner"]) for number in range(20)] + [entry("z", ["staff"])]
    assert leaks(ranking) == ["z"]


@pytest.mark.parametrize("per_question", [True, False])
@pytest.mark.parametrize("user", [{"S": [entry("s", ["staff"])]}, {"unknown": [entry("s", ["staff"])]}])
def test_roles_used_in_any_ranking_of_the_run_are_used(per_question: bool, user: dict[str, Any]) -> None:
    questions = [question(relevant=["a"], role="partner"), question("S", relevant=["s"])]
    response = evaluate(questions, {"Q": ["a"], **user}, per_question=per_question)
    assert finding(response, "ACL_LEAK").questions == ["Q"]


@pytest.mark.parametrize(
    "fields", [{"expected_behavior": "deny"}, {"relevant": []}, {"relevant": [], "evidence": [{"id": "unknown"}]}]
)
@pytest.mark.parametrize("per_question", [True, False])
def test_excluded_questions_are_checked_too(fields: dict[str, Any], per_question: bool) -> None:
    response = evaluate(
        [question(role="partner", **fields)], {"Q": [entry("secret", ["staff"])]}, per_question=per_question
    )
    assert response.questions.eligible == 0
    assert finding(response, "ACL_LEAK").questions == ["Q"]


@pytest.mark.parametrize("per_question", [True, False])
def test_roles_are_found_however_their_name_is_written(per_question: bool) -> None:
    body = body_of(
        [question(relevant=["a"], role="partner")], {"Q": [entry("a", ["staff"])]}, per_question=per_question
    ).replace(b'"roles"', b'"\\u0072oles"')
    assert finding(evaluate_retrieval(body, clock=time.monotonic), "ACL_LEAK") is not None


def test_what_leaks_still_counts_as_retrieved() -> None:
    response = evaluate([question(relevant=["a"], role="partner")], {"Q": [entry("a", ["staff"])]}, k=[1])
    assert response.metrics["hit_rate@1"].value == 1.0


def test_the_number_of_chunks_is_said() -> None:
    questions = [question(name, relevant=["a"], role="partner") for name in ("P", "Q")]
    rankings = {"P": [entry("a", ["staff"]), entry("b", ["staff"])], "Q": [entry("c", ["staff"])]}
    found = finding(evaluate(questions, rankings), "ACL_LEAK")
    assert found.message.startswith("3 chunks")
    assert found.questions == ["P", "Q"]


def test_chunks_that_name_no_role_are_told_from_those_of_other_roles() -> None:
    ranking = [entry("a", ["staff"]), entry("b"), entry("b"), entry("c", [])]
    found = finding(evaluate([question(relevant=["a"], role="partner")], {"Q": ranking}), "ACL_LEAK")
    assert found.message == (
        "3 chunks came back for a role that may not read them (2 of them name no role): filter by role in the search, "
        "not after it."
    )
