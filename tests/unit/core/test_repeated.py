import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct

from befund.contract import Question, RankingEntry, RetrieveEvalRequest
from befund.core.errors import MalformedRequestError
from befund.core.repeated import may_repeat_fields, refuse_repeated_fields, without
from befund.core.retrieval.envelope import LazyQuestion, LazyRetrieveEvalRequest

REQUEST = """{
  "dataset": {"questions": [{"id": "Q1", "question": "?"}, {"id": "Q2", "question": "?"}], "name": "mine"},
  "retrieval": {"rankings": {"Q1": ["a"], "Q2": ["b"], "Q3": []}, "top_k": 5},
  "k": [1], "config": {"chunking": {"size": 5}}
}"""


def places(raw: str, kind: Any) -> list[tuple[str, str]]:
    with pytest.raises(MalformedRequestError) as caught:
        refuse_repeated_fields(raw.encode(), kind)
    return [(place.pointer, place.detail) for place in caught.value.places]


@pytest.mark.parametrize("kind", [Question, LazyQuestion, dict[str, Any], Any])
@pytest.mark.parametrize(
    ("question", "pointer", "name"),
    [
        ('{"id": "Q1", "relevant": ["a"], "relevant": []}', "/relevant", "relevant"),
        ('{"id": "Q1", "relevant": ["a"], "relevant": ["a"]}', "/relevant", "relevant"),
        ('{"id": "Q1", "id" :\n"Q1", "tags": ["a:b"]}', "/id", "id"),
        ('{"id": "Q1", "\\u0069d": "Q2"}', "/id", "id"),
        ('{"id": "Q1", "evidence": [{"id": "a"}, {"id": "b", "quote": "c", "id": "d"}]}', "/evidence/1/id", "id"),
        ('{"id": "Q1", "question": "\\u003a", "question": ""}', "/question", "question"),
    ],
)
def test_a_field_given_twice_is_named_with_its_place(kind: Any, question: str, pointer: str, name: str) -> None:
    assert places(question, kind) == [(pointer, f"Object contains field `{name}` more than once")]


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ('"k"', '"k": [5], "k"', "/k"),
        ('"dataset"', '"dataset": "teralune", "dataset"', "/dataset"),
        ('"retrieval"', '"retrieval": {"collection": "docs"}, "retrieval"', "/retrieval"),
        ('"rankings"', '"rankings": {}, "rankings"', "/retrieval/rankings"),
        ('"questions"', '"questions": [], "questions"', "/dataset/questions"),
        ('"name"', '"name": "other", "name"', "/dataset/name"),
        ('"top_k"', '"where": {"a": {"b": 1, "b": 2}}, "top_k"', "/retrieval/where/a/b"),
        ('"size"', '"size": 4, "size"', "/config/chunking/size"),
    ],
)
@pytest.mark.parametrize("kind", [RetrieveEvalRequest, LazyRetrieveEvalRequest])
def test_every_level_of_a_request_is_looked_at(kind: Any, old: str, new: str, pointer: str) -> None:
    assert REQUEST.count(old) == 1
    assert [where for where, _ in places(REQUEST.replace(old, new), kind)] == [pointer]


@pytest.mark.parametrize("kind", [RetrieveEvalRequest, LazyRetrieveEvalRequest, Any])
@pytest.mark.parametrize(
    "raw", [REQUEST, "{}", "[]", "5", "{", "", "\xff", '{"config": {"\\u003a": "\\u003A", "a": ":"}}', "[" * 100_000]
)
def test_what_names_nothing_twice_passes_and_what_does_not_decode_is_left_to_others(kind: Any, raw: str) -> None:
    refuse_repeated_fields(raw.encode("latin-1"), kind)


@pytest.mark.parametrize("before", ['{"a": ' * 30 + "%s" + "}" * 30, "[" + "[]," * 100_001 + "%s]"])
def test_what_is_too_deep_or_too_far_to_be_found_is_refused_without_a_place(before: str) -> None:
    assert places(before % '{"b": 1, "b": 2}', Any) == [("", "An object names a field more than once")]


def test_parts_left_raw_are_not_looked_into() -> None:
    refuse_repeated_fields(b'{"id": "Q1", "relevant": {"a": 1, "a": 2}}', LazyQuestion)


def test_entries_of_a_ranking_are_looked_at() -> None:
    kind = list[str | RankingEntry]
    refuse_repeated_fields(b'["a", {"id": "b", "score": 1}]', kind)
    assert places('["a", {"id": "b", "score": 1, "score": 2}]', kind)[0][0] == "/1/score"


def test_many_parts_are_cleared_at_once() -> None:
    parts = [b'{"id": "Q%d", "question": "a:b", "critical": false}' % number for number in range(700)]
    assert may_repeat_fields(b"[%b]" % b",".join(parts), list[LazyQuestion]) is False
    parts[650] = b'{"id": "Q650", "critical": true, "critical": false}'
    assert may_repeat_fields(b"[%b]" % b",".join(parts), list[LazyQuestion]) is True


class Part(Struct):
    items: list[Raw] = []
    map: Raw = Raw(b"{}")


class Whole(Struct):
    first: Part
    second: Part


def test_large_parts_can_be_left_out() -> None:
    text = b' {"second": {"items": [{"a": 1}, 2, [3]], "map" : {"b": [4]}}, "first": {"items": []}, "k": 5}\n'
    whole = msgspec.json.decode(text, type=Whole)
    left = without(text, whole.first.items, [whole.first.map], whole.second.items, [whole.second.map])
    assert left == b' {"second": {"items": [0], "map" : 0}, "first": {"items": []}, "k": 5}\n'


TEXTS = st.sampled_from(["a", "b", ":", '"', "\\", "\u00e4", "a:b"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(TEXTS, inner), max_size=3).map(tuple),
    max_leaves=12,
)


def written(value: Any, escaped: bool) -> str:
    """JSON, in which a tuple is an object that may name a key twice."""
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{written(name, escaped)}:{written(inner, escaped)}" for name, inner in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(inner, escaped) for inner in value) + "]"
    text = json.dumps(value)
    return text.replace(":", "\\u003a") if escaped else text


def names_twice(value: Any) -> bool:
    if isinstance(value, tuple):
        names = [name for name, _ in value]
        return len(set(names)) < len(names) or any(names_twice(inner) for _, inner in value)
    return isinstance(value, list) and any(map(names_twice, value))


@given(VALUES, st.booleans())
def test_exactly_the_objects_that_name_a_key_twice_are_refused(value: Any, escaped: bool) -> None:
    raw = written(value, escaped).encode()
    try:
        refuse_repeated_fields(raw, Any)
        refused = False
    except MalformedRequestError:
        refused = True
    assert refused == names_twice(value)
