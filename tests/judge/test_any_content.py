"""Whatever bytes come back: an error of the kinds that are handled, or a reply; nothing else is raised."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from befund.adapters.openai_judge.failures import failure_of
from befund.adapters.openai_judge.forms import FORMS, NoReplyError, reply_in
from befund.core.judging import Observation, verdicts_of
from befund.core.quotes import stands_in
from befund.core.rubric.prompt import brief_of
from befund.core.rubric.reply import UnusableReplyError, read_reply

from .conftest import ITEM
from .endpoint import Asked, envelope, read_as_a_model

BRIEF = brief_of(ITEM)
NAMES = ["error", "message", "detail", "loc", "code", "param", "choices", "output", "content", "usage", "finish_reason"]
NAMES += ["status", "verdict", "facts", "sentences", "claims", "id", "quote", "behavior", "observed", "references"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(NAMES)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
ASKED = Asked("/v1/chat/completions", {}, {"messages": [{"content": BRIEF.system}, {"content": BRIEF.user}]})
GOOD = read_as_a_model(ASKED)


@given(st.binary(max_size=64) | VALUES.map(lambda value: json.dumps(value).encode()), st.integers(300, 599))
def test_any_error_is_sorted(body: bytes, status: int) -> None:
    failure_of(status, body, sent={"temperature", "code"})


@given(st.sampled_from(FORMS), st.binary(max_size=64) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_answer_is_a_reply_or_none(form: Any, body: bytes) -> None:
    try:
        reply_in(form, body)
    except NoReplyError:
        return


@given(st.text(max_size=64) | VALUES.map(json.dumps))
def test_any_text_is_unusable(text: str) -> None:
    try:
        read_reply(text, BRIEF)
    except UnusableReplyError:
        return
    raise AssertionError("something was read from nothing")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [place for key, part in inner for place in places(part, (*path, key))]


@given(st.sampled_from(places(GOOD)), VALUES)
def test_a_good_reply_with_anything_in_one_place_is_no_better_than_it_was(place: tuple[Any, ...], value: Any) -> None:
    changed: Any = json.loads(json.dumps(GOOD))
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        seen = read_reply(json.dumps(changed), BRIEF)
    except UnusableReplyError:
        return
    assert isinstance(seen, Observation)
    for fact in seen.facts:
        assert fact.verdict == "missing" or stands_in(fact.quote or "", ITEM.answer)
    if verdicts_of(ITEM, seen).faithful.verdict:
        assert all(claim.quote_verified for claim in seen.claims)
    msgspec.json.encode(seen)


def test_the_envelope_of_the_tests_is_read() -> None:
    assert reply_in("plain", json.dumps(envelope(ASKED, "x")).encode()).text == "x"
