"""Looking at rankings in blocks must show what reading them one by one shows, or leave them to that."""

import json
import time
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from befund.contract import RetrieveEvalResponse
from befund.core.errors import BefundError
from befund.core.retrieval.envelope import read_ranking
from befund.core.retrieval.judged import JudgedIds, look
from befund.core.retrieval.plain import BLOCK_BYTES, NotPlainError, plain_blocks
from befund.core.retrieval.ranking import sight
from befund.usecases.retrieve import evaluate_retrieval

from ..conftest import body_of, evaluate, question, refused, values

GOLDEN_RATIO = 0x9E3779B97F4A7C15
LONG = "a-very-long-identifier-of-many-words"

Found = list[tuple[int, list[tuple[str, int]]] | None]


def seen(rankings: list[bytes], judged: list[list[str]], *, block_bytes: int = BLOCK_BYTES) -> Found | None:
    """For each ranking how many ids it has and which judged ids stand where, None where an id stands twice.

    None for all of them where they are not plain.
    """
    run = Raw(b"{%b}" % b",".join(b'"%d":%b' % (number, ranking) for number, ranking in enumerate(rankings)))
    msgspec.json.decode(run, type=Raw)
    ids = JudgedIds()
    for names in judged:
        ids.add(names)
    names = [name for names in judged for name in names]
    sightings: Found = []
    try:
        for block in plain_blocks(run, block_bytes=block_bytes):
            questions = np.array([int(question) for question in block.questions()])
            found = look(block, questions, ids)
            in_block: list[Any] = [(count, []) for count in block.count.tolist()]
            for at, rank, which in zip(
                *(part.tolist() for part in (found.ranking, found.rank, found.judged)), strict=True
            ):
                assert names[which] in judged[questions[at]]
                in_block[at][1].append((names[which], rank))
            for at in found.repeating.tolist():
                in_block[at] = None
            sightings.extend(at and (at[0], sorted(at[1], key=lambda item: item[1])) for at in in_block)
    except NotPlainError:
        return None
    return sightings


def read(ranking: bytes, judged: list[str]) -> tuple[int, list[tuple[str, int]]]:
    sighting = sight(read_ranking(Raw(ranking)), judged)
    return sighting.returned, sorted(zip(sighting.found, sighting.ranks, strict=True), key=lambda item: item[1])


@pytest.mark.parametrize(
    ("ranking", "judged", "expected"),
    [
        (b'["a","b","c"]', ["c", "a"], (3, [("a", 1), ("c", 3)])),
        (b'["a", "b", "c"]', ["b"], (3, [("b", 2)])),
        (b'["a", "b","c"]', ["c"], (3, [("c", 3)])),
        (b'["{","a"]', ["a"], (2, [("a", 2)])),
        (b"[]", ["a"], (0, [])),
        (b'["a"]', [], (1, [])),
        (b'["12345678","123456789"]', ["123456789"], (2, [("123456789", 2)])),
        (b'["a]","[b",",",":"]', [",", "[b"], (4, [("[b", 2), (",", 3)])),
        ('["ä","ß","日本語"]'.encode(), ["日本語"], (3, [("日本語", 3)])),
    ],
)
def test_a_plain_ranking_is_seen(ranking: bytes, judged: list[str], expected: Any) -> None:
    assert seen([ranking], [judged]) == [expected]
    assert seen([b'["z"]', ranking, b'["y","z"]'], [["z"], judged, ["z"]]) == [
        (1, [("z", 1)]),
        expected,
        (2, [("z", 2)]),
    ]


@pytest.mark.parametrize(
    ("ranking", "judged"),
    [
        (f'["aaa","{LONG}"]', ["aaa"]),
        ('["aaa"]', ["aaa", LONG]),
        (f'["aaa","{LONG}"]', ["aaa", "twelve-bytes"]),
    ],
)
def test_the_length_of_other_ids_hides_none(ranking: str, judged: list[str]) -> None:
    assert seen([ranking.encode()], [judged]) == [read(ranking.encode(), judged)]


@pytest.mark.parametrize(
    "ranking",
    [
        b'["a" ,"b"]',
        b'["a",\n"b"]',
        b'["a",  "b"]',
        b'[ "a"]',
        b'["a" ]',
        b"[ ]",
        b'["a",["b"]]',
        b'[["a","b"]]',
        b'["a",1]',
        b'[1,"a"]',
        b'["a",null,"b"]',
        b"[null]",
        b'["a\\u0062"]',
        b'["a\\"b"]',
        b'[{"id":"a"}]',
        b'{"a":1}',
        b"{}",
        b'[""]',
        b'["","a"]',
        b'"a"',
        b'""',
        b"12",
        b"-1",
        b"null",
        b"true",
        b"1",
        b'["' + b"x" * 121 + b'"]',
        '["{}"]'.format("ä" * 61).encode(),
        b'["\xff"]',
        b'["\xed\xa0\x80"]',
    ],
)
def test_what_is_not_plain_is_left_to_the_ordinary_reading(ranking: bytes) -> None:
    assert seen([ranking], [["a"]]) is None
    assert seen([b'["z"]', ranking, b'["z"]'], [["z"], ["a"], ["z"]]) is None


def test_a_ranking_in_which_an_id_stands_twice_is_named() -> None:
    assert seen([b'["a","b"]', b'["a","b","a"]'], [["a"], ["a"]]) == [(2, [("a", 1)]), None]


def test_a_ranking_that_holds_its_question_as_a_chunk_is_named() -> None:
    assert seen([b'["a"]', b'["a","1"]'], [["a"], ["1"]]) == [(1, [("a", 1)]), None]


def test_a_judged_id_that_is_only_the_question_is_not_found() -> None:
    assert seen([b'["a"]'], [["0"]]) == [(1, [])]


@pytest.mark.parametrize("block_bytes", [1, 7, 16, 40, 64])
def test_rankings_are_the_same_wherever_the_text_is_cut(block_bytes: int) -> None:
    rankings = [b'["a","bb"]', b"[]", '["日本語", "a]","x"]'.encode(), b'["a"]', b"[]"]
    judged = [["bb"], ["a"], ["x", "日本語"], ["b"], []]
    assert seen(rankings, judged, block_bytes=block_bytes) == [
        (2, [("bb", 2)]),
        (0, []),
        (3, [("日本語", 1), ("x", 3)]),
        (1, []),
        (0, []),
    ]


def test_an_id_is_found_for_its_own_question_only() -> None:
    assert seen([b'["a","b"]', b'["b","a"]'], [["a"], ["c"]]) == [(2, [("a", 1)]), (2, [])]


def test_the_same_id_is_judged_for_several_questions() -> None:
    assert seen([b'["x"]', b'["y","x"]'], [["x"], ["x"]]) == [(1, [("x", 1)]), (2, [("x", 2)])]


def test_ids_of_different_questions_with_the_same_hash_are_told_apart() -> None:
    made = 0
    for first in range(1, 60):
        for second in range(first + 1, 60):
            mask = (first * GOLDEN_RATIO ^ second * GOLDEN_RATIO) & (2**64 - 1)
            pairs = [_twins(byte) for byte in mask.to_bytes(8, "little")]
            if any(pair is None for pair in pairs):
                continue
            one, other = ("".join(chars) for chars in zip(*pairs, strict=True))
            rankings, judged = [b"[]"] * second, [["z"]] * second
            judged[first - 1] = [one]
            rankings[second - 1] = json.dumps([other]).encode()
            found = seen(rankings, judged)
            assert found is None or found[second - 1] == (1, [])
            made += 1
    assert made == 5


def _twins(mask: int) -> tuple[str, str] | None:
    """Two plain characters that differ in just these bits."""
    for code in range(33, 127):
        other = code ^ mask
        if 33 <= other < 127 and not {chr(code), chr(other)} & set('"\\{}'):
            return chr(code), chr(other)
    return None


# Generated blocks: mostly plain, with oddities of every kind

POOL = [
    "a",
    "b",
    "aa",
    "12345678",
    "123456789",
    LONG,
    "ä",
    "日本語日本語",
    ",",
    "],[",
    "a,b",
    "a:b",
    "x" * 120,
    "x" * 121,
]
IDS = st.one_of(
    st.sampled_from(POOL),
    st.sampled_from(POOL),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.text('"\\{}[]:, \x00\n/é', min_size=1, max_size=4),
    st.text("xy", min_size=110, max_size=130),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-20, 120), st.floats(-9, 9), st.just(""), IDS)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(IDS, inner, max_size=2),
    max_leaves=6,
)
ENTRIES = st.fixed_dictionaries(
    {"id": IDS}, optional={"score": st.floats(-9, 9), "roles": st.none() | st.lists(st.just("staff"), max_size=1)}
)
PLAIN = st.lists(IDS, max_size=8, unique=True)
ODD = st.one_of(
    st.lists(IDS, max_size=5),
    st.lists(st.one_of(IDS, ENTRIES), max_size=5),
    st.dictionaries(IDS, st.integers(0, 3), max_size=4),
    ANYTHING,
)


@st.composite
def written(draw: st.DrawFn, value: st.SearchStrategy[Any]) -> bytes:
    """JSON of a value, in one of the ways people write it."""
    separators = draw(
        st.sampled_from([(",", ":"), (",", ":"), (", ", ": "), (",\n", ":"), (" ,", ":"), (",  ", ": "), ("\t,", ":")])
    )
    text = json.dumps(draw(value), ensure_ascii=draw(st.booleans()), separators=separators)
    if draw(st.integers(0, 15)) == 0:
        text = f"{text[0]} {text[1:-1]}\n{text[-1]}" if text[0] == "[" else text
    return text.encode()


@st.composite
def blocks(draw: st.DrawFn) -> tuple[list[bytes], list[list[str]]]:
    kinds = PLAIN if draw(st.booleans()) else st.one_of(PLAIN, PLAIN, PLAIN, ODD)
    rankings = draw(st.lists(written(kinds), min_size=1, max_size=6))
    judged = [draw(st.lists(IDS, max_size=5, unique=True)) for _ in rankings]
    return rankings, judged


@settings(max_examples=200, deadline=None)
@given(blocks(), st.integers(1, 80))
def test_a_block_shows_what_reading_shows(block: tuple[list[bytes], list[list[str]]], block_bytes: int) -> None:
    rankings, judged = block
    found = seen(rankings, judged, block_bytes=block_bytes)
    for ranking, names, sighting in zip(rankings, judged, found or [None] * len(rankings), strict=True):
        if sighting is not None:
            assert sighting == read(ranking, names)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=12), st.lists(st.sampled_from(POOL), max_size=3, unique=True))
@example(b"12", ["a"])
def test_any_bytes_are_seen_as_they_are_read(inside: bytes, judged: list[str]) -> None:
    for ranking in (inside, b'["' + inside + b'"]', b'["a"' + inside + b'"b"]', b"[" + inside + b"]"):
        try:
            found = seen([b"[]", ranking, b'["a"]'], [judged] * 3)
        except (msgspec.DecodeError, ValueError):
            continue
        if found is not None and found[1] is not None:
            assert found[1] == read(ranking, judged)


# Whole requests

GRADES = st.sampled_from([-1, 0, 0.5, 1, 2, 3])
GOLD = st.one_of(
    st.dictionaries(st.sampled_from(POOL), GRADES, max_size=4), st.lists(st.sampled_from(POOL), max_size=3)
)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(IDS, min_size=1, max_size=6, unique=True))
    questions = []
    for name in names:
        fields: dict[str, Any] = {"relevant": draw(GOLD)}
        if draw(st.integers(0, 5)) == 0:
            fields["non_relevant"] = draw(st.lists(st.sampled_from(POOL), max_size=2))
        if draw(st.integers(0, 5)) == 0:
            fields["role"] = "staff"
        if draw(st.integers(0, 5)) == 0:
            fields["expected_behavior"] = "deny"
        if draw(st.integers(0, 2)) == 0:
            fields["tags"] = draw(st.lists(st.sampled_from(["t", "u"]), max_size=2))
        questions.append(question(name, **fields))
    asked = st.sampled_from(names) | IDS
    kinds = PLAIN if draw(st.booleans()) else st.one_of(PLAIN, PLAIN, ODD)
    request: dict[str, Any] = {"questions": questions, "rankings": draw(st.dictionaries(asked, kinds, max_size=6))}
    if draw(st.booleans()):
        request["index_chunk_ids"] = POOL[: draw(st.integers(0, len(POOL)))]
    if draw(st.integers(0, 3)) == 0:
        request["tags"] = ["t"]
    return request


def outcome(request: dict[str, Any], *, per_question: bool) -> RetrieveEvalResponse | None:
    """The answer; None where the request is refused."""
    body = body_of(**request, k=[1, 2, 5], metrics=EVERY_METRIC, per_question=per_question)
    try:
        return evaluate_retrieval(body, clock=time.monotonic)
    except BefundError:
        return None


EVERY_METRIC = ["hit_rate", "precision", "recall", "mrr", "ndcg", "map", "f1", "judged", "r_precision", "bpref"]


@settings(max_examples=100, deadline=None)
@given(requests())
def test_asking_for_each_question_changes_no_figure(request: dict[str, Any]) -> None:
    one_by_one, in_blocks = (outcome(request, per_question=each) for each in (True, False))
    if one_by_one is None or in_blocks is None:
        assert one_by_one is in_blocks
        return
    for part in ("metrics", "slices", "questions", "findings", "context", "config"):
        assert getattr(one_by_one, part) == getattr(in_blocks, part)


def test_figures_in_blocks_do_not_depend_on_how_long_ids_are() -> None:
    response = evaluate(
        [question(relevant=["aaa"])], {"Q": ["aaa", LONG]}, metrics=["recall"], k=[3], per_question=False
    )
    assert values(response) == {"recall@3": 1.0}


@pytest.mark.parametrize("per_question", [True, False])
def test_a_number_is_no_ranking(per_question: bool) -> None:
    questions = [question("P", relevant=["a"]), question("Q", relevant=["a"])]
    error = refused(questions, {"P": ["a"], "Q": 12}, per_question=per_question)
    assert [place.pointer for place in error.places] == ["/retrieval/rankings/Q"]


@pytest.mark.parametrize("name", ["P", "nobody"])
@pytest.mark.parametrize("per_question", [True, False])
def test_a_question_with_two_rankings_is_refused(name: str, per_question: bool) -> None:
    body = body_of([question("P", relevant=["a"])], {"P": ["a"], "X": ["b"], "Y": ["c"]}, per_question=per_question)
    for other in (b'"X"', b'"Y"'):
        body = body.replace(other, b'"%b"' % name.encode())
    with pytest.raises(BefundError, match="given twice") as caught:
        evaluate_retrieval(body, clock=time.monotonic)
    assert [place.pointer for place in caught.value.places] == [f"/retrieval/rankings/{name}"]


def test_notes_come_in_the_order_of_the_data_set() -> None:
    names = ["A", "B", "C"]
    questions = [question(name, relevant=["a"], non_relevant=["z"]) for name in names]
    rankings = {name: ["a", "z", "a"] for name in reversed(names)}
    found = evaluate(questions, rankings, per_question=False).findings
    noted = {finding.code: finding.questions for finding in found if finding.questions}
    assert noted == {"KNOWN_FALSE_POSITIVES": names, "DUPLICATE_IDS": names}


def test_more_questions_than_a_block_holds() -> None:
    names = [f"Q{number}" for number in range(20_000)]
    questions = [question(name, relevant=[f"{name}-gold"]) for name in names]
    rankings = {name: ["x", f"{name}-gold"] if number % 3 else ["x", "y"] for number, name in enumerate(names)}
    response = evaluate(questions, rankings, metrics=["mrr@2"], per_question=False)
    assert values(response) == {"mrr@2": pytest.approx(13_333 / 20_000 / 2)}
