from typing import Any

import pytest
from msgspec import Raw

from befund.core.errors import BefundError
from befund.core.retrieval.envelope import read_ranking
from befund.core.retrieval.ranking import Retrieved, sight

from ..conftest import evaluate, question


def read(text: str) -> list[str]:
    return read_ranking(Raw(text.encode())).ids


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", []),
        ('["b", "a"]', ["b", "a"]),
        ('[{"id": "b", "score": 0.1}, {"id": "a", "score": 0.9}]', ["b", "a"]),
        ('["b", {"id": "a"}]', ["b", "a"]),
        ("{}", []),
        ('{"a": 1, "b": 2, "c": 1.5}', ["b", "c", "a"]),
        ('{"a": 1, "b": 1, "c": 1.0}', ["c", "b", "a"]),
        ('{"a": -1, "b": -0.5}', ["b", "a"]),
        ('{"a": 1e-320, "b": 0}', ["a", "b"]),
        ('{"d10": 0.5, "d9": 0.5}', ["d9", "d10"]),
        ('{"z": 1, "ä": 1, "\\ud83d\\ude00": 1, "\\uffff": 1}', ["😀", "\uffff", "ä", "z"]),
        ('["{", "a\\u0041"]', ["{", "aA"]),
    ],
)
def test_rankings_in_rank_order(text: str, expected: list[str]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ('["a", null]', "/1"),
        ('["a", ""]', "/1"),
        ('["a", 5]', "/1"),
        ('["a", ["b"]]', "/1"),
        ('[{"id": ""}]', "/0/id"),
        ('[{"score": 1}]', "/0"),
        ('[{"id": "a", "rank": 1}]', "/0"),
        ('[{"id": "a", "score": "high"}]', "/0/score"),
        ('{"a": "1"}', ""),
        ('{"a": null}', ""),
        ('{"": 1}', ""),
        ('{"a": 1e999}', ""),
        ('"a"', ""),
        ("null", ""),
        ("12", ""),
        ('{"a": 1, "a": 2}', "/a"),
    ],
)
def test_what_is_no_ranking_is_refused(text: str, pointer: str) -> None:
    with pytest.raises(BefundError) as caught:
        read(text)
    assert [place.pointer for place in caught.value.places] == [pointer]


@pytest.mark.parametrize("name", ["a" * 512, "ä" * 512, "a b", "\n", '"', "\x00", "😀"])
@pytest.mark.parametrize("per_question", [True, False])
def test_ids_are_opaque(name: str, per_question: bool) -> None:
    response = evaluate(
        [question(name, relevant=[name])], {name: ["x", name]}, metrics=["mrr@2"], per_question=per_question
    )
    assert response.metrics["mrr@2"].value == 0.5


@pytest.mark.parametrize(("gold", "retrieved"), [("a", "A"), ("a", "a "), ("é", "e\u0301"), ("1", "01")])
def test_ids_are_compared_exactly(gold: str, retrieved: Any) -> None:
    response = evaluate([question(relevant=[gold])], {"Q": [retrieved]}, metrics=["hit_rate@1"])
    assert response.metrics["hit_rate@1"].value == 0.0


def test_many_judged_chunks_in_one_long_ranking_are_found_in_one_pass() -> None:
    ids = [str(number) for number in range(100_000)]
    sighting = sight(Retrieved(ids), ids)
    assert sighting.ranks == list(range(1, 100_001))
