from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import wordllama

from befund.adapters.embedding import StaticEmbedder
from befund.core.errors import ContradictionError
from befund.ports import EmbedderIdentity

pytestmark = pytest.mark.anyio

TEXTS = [
    "How long does Orbit 3.0 retry failed webhooks?",
    "x",
    "Wie lange werden Webhooks wiederholt? 漢字 \U0001f600",
    "a much longer text " * 500,
]


@pytest.fixture
async def embedder() -> AsyncIterator[StaticEmbedder]:
    embedder = StaticEmbedder()
    yield embedder
    await embedder.close()


async def test_its_identity_names_the_model_and_the_dimension(embedder: StaticEmbedder) -> None:
    assert await embedder.identity() == EmbedderIdentity("wordllama/l2_supercat/256", 256)


async def test_vectors_are_those_of_the_library(embedder: StaticEmbedder) -> None:
    library = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    np.testing.assert_allclose(await embedder.embed(TEXTS), library.embed(TEXTS, norm=True), atol=1e-5)


async def test_vectors_have_length_one_and_single_precision(embedder: StaticEmbedder) -> None:
    vectors = await embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)


async def test_a_text_has_the_same_vector_whatever_stands_beside_it(embedder: StaticEmbedder) -> None:
    together = await embedder.embed(TEXTS * 100)
    np.testing.assert_array_equal(together[:4], await embedder.embed(TEXTS))
    np.testing.assert_array_equal(together[-4:], together[:4])


async def test_no_texts_have_no_vectors(embedder: StaticEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 256)


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", "\u2003"])
async def test_a_blank_text_is_refused_by_its_place(embedder: StaticEmbedder, blank: str) -> None:
    with pytest.raises(ContradictionError, match="Text 2 of 3 is blank") as caught:
        await embedder.embed(["a", blank, "b"])
    assert caught.value.code == "blank-text"
    assert [place.pointer for place in caught.value.places] == ["/1"]


async def test_tokens_are_counted_without_padding(embedder: StaticEmbedder) -> None:
    assert await embedder.count(["hello world", "x", "", "hello world " * 3]) == [2, 1, 0, 7]


async def test_counts_are_the_same_when_they_are_remembered(embedder: StaticEmbedder) -> None:
    first = await embedder.count([*TEXTS, "new", *TEXTS])
    assert await embedder.count(["new", *TEXTS]) == [first[4], *first[:4]]
    assert first[5:] == first[:4]
