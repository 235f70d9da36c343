import msgspec
import pytest

from befund.core.decoding import decode, read_message, refuse_repeated_keys
from befund.core.errors import ContradictionError, MalformedRequestError

NUMBERS = msgspec.json.Decoder(dict[str, list[int]])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Object missing required field `id`", ("Object missing required field `id`", "")),
        ("Expected `str` - at `$.a[0].b`", ("Expected `str`", "/a/0/b")),
        ("Expected `str` - at `$.rankings[...][2]`", ("Expected `str`", "/rankings")),
        ("Expected `str` - at `key` in `$.a`", ("Expected `str`", "/a")),
        ("Expected `int` - at `$.a/b~c`", ("Expected `int`", "/a~1b~0c")),
        ("Expected `int` - at `$`", ("Expected `int`", "")),
    ],
)
def test_a_message_is_taken_apart(message: str, expected: tuple[str, str]) -> None:
    assert read_message(message) == expected


@pytest.mark.parametrize(
    ("raw", "pointer", "said"),
    [
        (b'{"a": [1, "x"]}', "/", "Expected `int`, got `str`"),
        (b'{"a": [1', "", "This is not JSON in UTF-8: "),
        (b'{"\xff": [1]}', "", "This is not JSON in UTF-8: "),
        (b"", "", "This is not JSON in UTF-8: "),
        (b'{"a": [NaN]}', "", "This is not JSON in UTF-8: "),
    ],
)
def test_what_does_not_decode_says_where(raw: bytes, pointer: str, said: str) -> None:
    with pytest.raises(MalformedRequestError) as caught:
        decode(raw, NUMBERS)
    assert [place.detail.startswith(said) for place in caught.value.places] == [True]
    assert caught.value.places[0].pointer == pointer.rstrip("/")


def test_what_nests_without_end_is_too_deep() -> None:
    with pytest.raises(MalformedRequestError, match="nested too deeply"):
        decode(b"[" * 100_000 + b"]" * 100_000, msgspec.json.Decoder(object))


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":1,"\\u0061":1}', '{"b:":1,"a":1, "a" :1}'])
def test_a_key_given_twice_is_refused(text: str) -> None:
    with pytest.raises(ContradictionError) as caught:
        refuse_repeated_keys(msgspec.Raw(text.encode()), keys=len(msgspec.json.decode(text)))
    assert [place.pointer for place in caught.value.places] == ["/a"]


@pytest.mark.parametrize("text", ["{}", '{"a":1}', '{"a:b":1,"c":2}', '{"\\u003a":1,"x":2}'])
def test_keys_given_once_pass(text: str) -> None:
    refuse_repeated_keys(msgspec.Raw(text.encode()), keys=len(msgspec.json.decode(text)))
