from datetime import date
from typing import Any

import pytest

from befund.core.corpus import Chunking, Document, MetadataError, corpus_hash, flat_metadata, plain_newlines
from befund.core.errors import ContradictionError


def test_a_chunking_is_known_by_its_name() -> None:
    chunking = Chunking(max_characters=400, overlap=50)
    assert chunking.name == "markdown/400/50"
    assert Chunking.named("markdown/400/50") == chunking


@pytest.mark.parametrize("name", [None, "", "ours/1", "markdown/0/0", "markdown/700/0/0", "markdown/07/0"])
def test_another_name_is_no_chunking_of_ours(name: str | None) -> None:
    assert Chunking.named(name) is None


def test_an_overlap_as_large_as_a_chunk_is_refused() -> None:
    with pytest.raises(ContradictionError) as raised:
        Chunking(max_characters=10, overlap=10).check()
    assert raised.value.code == "overlap-too-large"


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        ("staff", ["staff"]),
        ("partner, staff", ["partner", "staff"]),
        (["partner", "staff"], ["partner", "staff"]),
        (["sales, EMEA"], ["sales, EMEA"]),
        ("", []),
        ([], []),
        (5, ["5"]),
        ([1, True], ["1", "true"]),
    ],
)
def test_roles_become_a_list(given: Any, roles: list[str]) -> None:
    assert flat_metadata({"roles": given}) == {"roles": roles}


def test_roles_that_are_not_given_are_not_there() -> None:
    assert flat_metadata({"roles": None, "title": "A"}) == {"title": "A"}


@pytest.mark.parametrize("roles", [{"read": "staff"}, [["staff"]], [{"a": 1}]])
def test_roles_that_are_no_names_are_refused_since_a_guess_could_open_the_document(roles: Any) -> None:
    with pytest.raises(MetadataError, match="roles"):
        flat_metadata({"roles": roles})


def test_metadata_is_flattened() -> None:
    given = {
        "version": 3.0,
        "valid_from": date(2026, 3, 2),
        "owner": {"team": {"name": "docs"}},
        "tags": ["a", 2, None],
        "draft": False,
        "count": 2**70,
        "ratio": float("nan"),
        "nothing": [],
    }
    assert flat_metadata(given) == {
        "version": 3.0,
        "valid_from": "2026-03-02",
        "owner.team.name": "docs",
        "tags": ["a", "2"],
        "draft": False,
        "count": "1180591620717411303424",
        "ratio": "nan",
    }


def test_names_that_befund_stores_itself_are_left_out() -> None:
    assert flat_metadata({"document": "x", "number": 1, "content": "x", "title": "A"}) == {"title": "A"}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({f"field {number}": number for number in range(101)}, "more than 100 values"),
        ({"summary": "x" * 4097}, "summary is longer than 4096 characters"),
        ({"tags": ["x" * 2048] * 3}, "tags is longer than 4096 characters"),
        ({"x" * 129: 1}, "longer than 128 characters"),
        ({"": 1}, "empty"),
        ({"table": [[1]]}, "table is a list that holds lists or maps"),
    ],
)
def test_metadata_is_bounded(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(MetadataError, match=complaint):
        flat_metadata(given)


def test_line_ends_and_a_byte_order_mark_do_not_make_another_text() -> None:
    assert plain_newlines("\ufeffone\r\n\r\ntwo\rthree\n") == "one\n\ntwo\nthree\n"


def test_a_document_has_another_hash_when_its_text_or_its_metadata_change() -> None:
    documents = [
        Document(id="D1", text="A.", metadata={"roles": ["staff"], "version": "3.0"}),
        Document(id="D2", text="A.", metadata={"version": "3.0", "roles": ["staff"]}),
        Document(id="D1", text="A.", metadata={"roles": ["staff", "partner"], "version": "3.0"}),
        Document(id="D1", text="B.", metadata={"roles": ["staff"], "version": "3.0"}),
    ]
    first, same, *others = [document.content for document in documents]
    assert same == first
    assert len({first, *others}) == 3


def test_the_corpus_hash_does_not_depend_on_the_order() -> None:
    assert corpus_hash({"D1": "x", "D2": "y"}) == corpus_hash({"D2": "y", "D1": "x"})
    assert corpus_hash({"D1": "x", "D2": "y"}) != corpus_hash({"D1": "y", "D2": "x"})
