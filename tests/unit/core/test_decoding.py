import msgspec
import pytest
from msgspec import Struct

from befund.core.decoding import decode, may_repeat_keys, read_message, refuse_repeated_keys
from befund.core.errors import ContradictionError, MalformedRequestError


class Inner(Struct, forbid_unknown_fields=True):
    id: str


class Outer(Struct, forbid_unknown_fields=True):
    items: list[Inner] = []
    named: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("$", ""),
        ("$.questions[0].id", "/questions/0/id"),
        ("$.k[12]", "/k/12"),
        ("$[3]", "/3"),
        ("$.retrieval.rankings[...][2].id", "/retrieval/rankings"),
        ("$[...]", ""),
        ("$.a/b.c~d", "/a~1b/c~0d"),
        ("key` in `$.a", "/a"),
    ],
)
def test_the_place_msgspec_names_becomes_a_json_pointer(path: str, pointer: str) -> None:
    assert read_message(f"Expected `str`, got `int` - at `{path}`") == ("Expected `str`, got `int`", pointer)


@pytest.mark.parametrize(
    ("body", "pointer", "said"),
    [
        (b'{"items": [{"id": 5}]}', "/items/0/id", "Expected `str`, got `int`"),
        (b'{"items": [{}]}', "/items/0", "Object missing required field `id`"),
        (b'{"items": [{"id": "a", "x": 1}]}', "/items/0", "Object contains unknown field `x`"),
        (b'{"named": {"a": {"id": null}}}', "/named", "Expected `str`, got `null`"),
        (b"[]", "", "Expected `object`, got `array`"),
    ],
)
def test_a_misfit_names_its_place(body: bytes, pointer: str, said: str) -> None:
    with pytest.raises(MalformedRequestError) as caught:
        decode(body, msgspec.json.Decoder(Outer))
    assert [(place.pointer, place.detail) for place in caught.value.places] == [(pointer, said)]


@pytest.mark.parametrize("body", [b"", b"{", b'{"items": "\xff"}', b'{"items": ' + b"[" * 100_000])
def test_what_is_not_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedRequestError):
        decode(body, msgspec.json.Decoder(Outer))


def test_a_place_that_moves_is_said_in_the_text_too() -> None:
    with pytest.raises(MalformedRequestError) as caught:
        decode(b'{"items": [{"id": 5}]}', msgspec.json.Decoder(Outer))
    caught.value.move_below("/outer")
    assert caught.value.detail.startswith("Expected `str`, got `int` at /outer/items/0/id. ")
    assert [place.pointer for place in caught.value.places] == ["/outer/items/0/id"]


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":1,"\\u0061":1}', '{"b:":1,"a":1, "a" :1}'])
def test_a_key_given_twice_is_refused(text: str) -> None:
    with pytest.raises(ContradictionError) as caught:
        refuse_repeated_keys(msgspec.Raw(text.encode()), keys=len(msgspec.json.decode(text)))
    assert [place.pointer for place in caught.value.places] == ["/a"]


@pytest.mark.parametrize("text", ["{}", '{"a":1}', '{"a:b":1,"c":2}', '{"\\u003a":1,"x":2}'])
def test_keys_given_once_pass(text: str) -> None:
    refuse_repeated_keys(msgspec.Raw(text.encode()), keys=len(msgspec.json.decode(text)))


@pytest.mark.parametrize(
    ("text", "keys", "suspicious"),
    [
        (b'{"a:1":1,"b:2":2}', 2, False),
        (b'{"a:1":1,"a:1":2}', 1, True),
        (b'{"a:1" :1,"a:1":2}', 1, True),
        (b'{"a":1,"a" :2,"b\\":c" :3}', 2, True),
        (b'{"a":1,"\\u0061":2}', 1, True),
        (b'{"a":":","b":1}', 2, True),
    ],
)
def test_keys_that_hold_colons_are_told_from_keys_given_twice(text: bytes, keys: int, suspicious: bool) -> None:
    assert len(msgspec.json.decode(text)) == keys
    assert may_repeat_keys(text, keys=keys) is suspicious


@pytest.mark.parametrize(
    ("body", "half", "pointer"),
    [
        (rb'"\ud800"', r"\ud800", ""),
        (rb'  {"a": ["\ud83d\ude00", {"b/c": "long enough \uDC00 to go on"}]}', r"\uDC00", "/a/1/b~1c"),
        (rb'{"a": "\\ud800", "b": "\\\ud800x"}', r"\ud800", "/b"),
        (rb'{"a": "\ud800\ud800\udc00"}', r"\ud800", "/a"),
        (rb'{"a": {"\ud800": 1}}', r"\ud800", "/a"),
        (b"[" * 20 + rb'"\ud800"' + b"]" * 20, r"\ud800", "/0" * 16),
    ],
)
def test_half_of_a_surrogate_pair_is_named_with_its_place(body: bytes, half: str, pointer: str) -> None:
    with pytest.raises(MalformedRequestError) as caught:
        decode(body, msgspec.json.Decoder())
    place = caught.value.places[0]
    assert (place.pointer, place.detail) == (pointer, f"The text holds half of a surrogate pair ({half})")


@pytest.mark.parametrize("body", [rb'["\ud800", 5', rb'["\\ud800"', rb'["\ud8"]', rb'"\ud80', rb'{"\ud800"}'])
def test_what_is_no_json_for_another_reason_is_not_blamed_on_surrogates(body: bytes) -> None:
    with pytest.raises(MalformedRequestError, match="This is not JSON in UTF-8"):
        decode(body, msgspec.json.Decoder())
