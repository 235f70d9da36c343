"""Whatever a file holds, a reader reads it or says what is wrong with it."""

from contextlib import suppress
from typing import get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from befund_client import DatasetFormat, FileError, RankingsFormat, read_dataset, read_rankings

from .conftest import Write

WORDS = "id question chunk_id score rank relevant retrieved questions rankings 1 -0.5 1e999 NaN null true \\ud800"
STARTS = [
    '{"questions": [',
    '{"q1": {"d1": 1}}',
    '[{"query": "?", "relevant": ["a"]}]',
    '"id":',
    "q1 Q0 d1 1 0.5 t\n",
    "q1 0 d1 1\n",
    "id,question\n",
    "question_id,chunk_id\n",
]
PIECES = st.sampled_from([*'{}[]",:;|\n\r\t #\x00\x1c\u2028ä\ufeff', *WORDS.split(), *STARTS])
CONTENT = st.lists(PIECES, max_size=12).map("".join)
MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("form", [None, *get_args(DatasetFormat)])
@MANY
@given(content=CONTENT)
def test_data_sets(write: Write, content: str, form: DatasetFormat | None) -> None:
    path = write("file", content)
    with suppress(FileError):
        msgspec.json.encode(read_dataset(path, format=form).value)


@pytest.mark.parametrize("form", [None, *get_args(RankingsFormat)])
@MANY
@given(content=CONTENT)
def test_rankings(write: Write, content: str, form: RankingsFormat | None) -> None:
    path = write("file", content)
    with suppress(FileError):
        msgspec.json.encode(read_rankings(path, format=form).value)


@MANY
@given(content=st.binary(max_size=60))
def test_bytes(write: Write, content: bytes) -> None:
    with suppress(FileError):
        read_dataset(write("file", content))
