from typing import Any

import pytest

from befund.core.where import failing_clause, fields_of

CHUNK = {"version": "3.0", "pages": 4, "draft": False, "roles": ["public", "staff"]}

PASSED: list[dict[str, Any]] = [
    {"version": "3.0"},
    {"pages": 4.0},
    {"pages": {"$gte": 4}},
    {"version": {"$in": ["2.4", "3.0"]}},
    {"roles": {"$contains": "staff"}},
    {"draft": False},
    {"language": {"$ne": "de"}},
    {"language": {"$nin": ["de"]}},
    {"language": {"$not_contains": "de"}},
    {"$or": [{"version": "2.4"}, {"pages": {"$lt": 5}}]},
]
FAILED: list[dict[str, Any]] = [
    {"version": "2.4"},
    {"version": 3.0},
    {"pages": {"$gt": 4}},
    {"pages": True},
    {"draft": 0},
    {"version": {"$gt": 2}},
    {"roles": {"$contains": "partner"}},
    {"roles": "public"},
    {"roles": {"$not_contains": "staff"}},
    {"language": "de"},
    {"version": {"$nin": ["3.0"]}},
]


@pytest.mark.parametrize("where", PASSED, ids=str)
def test_a_chunk_passes(where: dict[str, Any]) -> None:
    assert failing_clause(where, CHUNK) is None


@pytest.mark.parametrize("where", FAILED, ids=str)
def test_a_chunk_is_left_out_by_the_clause_itself(where: dict[str, Any]) -> None:
    assert failing_clause(where, CHUNK) == where


def test_of_joined_clauses_the_first_that_fails_is_named() -> None:
    where = {"$and": [{"pages": 4}, {"$and": [{"draft": False}, {"version": "2.4"}]}, {"pages": 5}]}
    assert failing_clause(where, CHUNK) == {"version": "2.4"}


def test_alternatives_fail_as_one_clause() -> None:
    where = {"$or": [{"version": "2.4"}, {"pages": 5}]}
    assert failing_clause({"$and": [{"draft": False}, where]}, CHUNK) == where


def test_fields_are_named_once() -> None:
    assert fields_of({"$and": [{"a": 1}, {"$or": [{"b": 2}, {"a": 3}]}]}) == ["a", "b"]
