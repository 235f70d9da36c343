import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest

from befund.adapters.embedding import EndpointEmbedder
from befund.core.errors import ContradictionError, DependencyError
from befund.ports import EmbedderIdentity

from .embedding_server import EmbeddingServer, Reply, Respond, embedding_server, failure, of_lengths, vectors

pytestmark = pytest.mark.anyio

Serve = Callable[..., EmbeddingServer]


class Waits:
    """Takes the place of sleeping, and remembers."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(*first: Reply, then: Respond = of_lengths) -> EmbeddingServer:
            replies: Iterator[Respond] = chain(((lambda _, reply=reply: reply) for reply in first), repeat(then))
            return stack.enter_context(embedding_server(replies))

        yield start


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., EndpointEmbedder]]:
    made: list[EndpointEmbedder] = []

    def to(server: EmbeddingServer, **options: Any) -> EndpointEmbedder:
        options = {"key": "hunter2", "sleep": Waits(), "chance": lambda: 0.0, **options}
        made.append(EndpointEmbedder("small", url=server.url, **options))
        return made[-1]

    yield to
    for embedder in made:
        await embedder.close()


Connect = Callable[..., EndpointEmbedder]


async def failure_of(embedder: EndpointEmbedder) -> DependencyError:
    with pytest.raises(DependencyError) as caught:
        await embedder.embed(["a", "b"])
    assert "hunter2" not in caught.value.detail
    return caught.value


async def test_texts_become_vectors_of_length_one(serve: Serve, connect: Connect) -> None:
    server = serve()
    answer = await connect(server).embed(["a"])
    np.testing.assert_allclose(answer, [[0.6, 0.8]], rtol=1e-6)
    assert answer.dtype == np.float32
    assert server.asked == [{"input": ["a"], "model": "small", "encoding_format": "float"}]
    assert server.keys == ["Bearer hunter2"]


async def test_many_texts_are_sent_in_parts_and_come_back_in_order(serve: Serve, connect: Connect) -> None:
    server = serve()
    answer = await connect(server).embed(["x" * (1 + number % 7) for number in range(300)])
    lengths = [4.0 * (1 + number % 7) for number in range(300)]
    np.testing.assert_allclose(answer[:, 1] / answer[:, 0] * 3, lengths, rtol=1e-5)
    assert sorted(len(request["input"]) for request in server.asked) == [44, 128, 128]


async def test_a_part_has_no_more_characters_than_a_request_may(serve: Serve, connect: Connect) -> None:
    server = serve()
    await connect(server).embed(["x" * 90_000] * 5)
    assert sorted(len(request["input"]) for request in server.asked) == [1, 2, 2]


async def test_rows_are_put_in_the_order_of_their_index(serve: Serve, connect: Connect) -> None:
    rows = [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]
    assert (await connect(serve(Reply({"data": rows}))).embed(["a", "b"])).tolist() == [[1.0, 0.0], [0.0, 1.0]]


async def test_the_dimension_is_asked_for_once(serve: Serve, connect: Connect) -> None:
    server = serve()
    embedder = connect(server)
    assert await embedder.identity() == EmbedderIdentity("small/2", 2)
    await embedder.identity()
    assert len(server.asked) == 1


async def test_no_more_requests_are_under_way_than_allowed(serve: Serve, connect: Connect) -> None:
    server = serve()
    await connect(server, at_once=2).embed(["x"] * 128 * 12)
    assert len(server.asked) == 12
    assert server.most_at_once <= 2


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_a_passing_failure_is_tried_again(serve: Serve, connect: Connect, status: int) -> None:
    waits = Waits()
    server = serve(failure(status), failure(status))
    assert len(await connect(server, sleep=waits).embed(["a"])) == 1
    assert waits.seconds == [0.25, 0.5]


async def test_a_lasting_failure_is_given_up(serve: Serve, connect: Connect) -> None:
    waits = Waits()
    server = serve(then=lambda _: failure(503))
    error = await failure_of(connect(server, sleep=waits))
    assert error.code == "embedder-down"
    assert "answered 503 (some_code) (5 attempts)" in error.detail
    assert waits.seconds == [0.25, 0.5, 1.0, 2.0]


async def test_the_wait_asked_for_is_kept(serve: Serve, connect: Connect) -> None:
    waits = Waits()
    server = serve(failure(429, retry_after="7"))
    await connect(server, sleep=waits, chance=lambda: 1.0).embed(["a"])
    assert waits.seconds == [7.25]


@pytest.mark.parametrize(("asked", "passed_on"), [("100", 100), ("9" * 400, 3600)])
async def test_a_wait_beyond_the_deadline_is_not_begun(
    serve: Serve, connect: Connect, asked: str, passed_on: int
) -> None:
    waits = Waits()
    server = serve(failure(429, retry_after=asked))
    error = await failure_of(connect(server, sleep=waits))
    assert error.code == "embedder-down"
    assert error.retry_after == passed_on
    assert waits.seconds == []
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_final(serve: Serve, connect: Connect, status: int) -> None:
    server = serve(failure(status))
    error = await failure_of(connect(server))
    assert error.code == "embedder-refused"
    assert f"answered {status} (some_code)" in error.detail
    assert len(server.asked) == 1


async def test_an_endpoint_that_does_not_answer_is_down_when_the_deadline_passes(
    serve: Serve, connect: Connect
) -> None:
    server = serve(then=lambda _: Reply(None))
    error = await failure_of(connect(server, attempt_seconds=0.2, deadline_seconds=0.5))
    assert error.code == "embedder-down"
    assert "did not answer in time" in error.detail
    assert len(server.asked) >= 2


async def test_an_endpoint_that_is_not_there_is_down(connect: Connect) -> None:
    nowhere = EmbeddingServer(iter(()))
    nowhere.url = "http://127.0.0.1:9/v1"
    error = await failure_of(connect(nowhere))
    assert error.code == "embedder-down"
    assert "cannot be reached" in error.detail


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (vectors([1.0, 2.0]), "1 vectors for 2 texts"),
        (vectors([1.0], [1.0], [1.0]), "3 vectors for 2 texts"),
        (vectors([1.0, 2.0], [1.0]), "vectors of different lengths"),
        (vectors([1.0, 2.0], [0.0, 0.0]), "zero or not finite"),
        (vectors([], []), "zero or not finite"),
        (vectors([1.0, float("nan")], [1.0, 0.0]), "no list of embeddings"),
        (vectors([1.0, None], [1.0, 0.0]), "no list of embeddings"),
        (Reply(b'{"data": [{"index": 0, "embedding": [1e400]}, {"index": 1, "embedding": [1]}]}'), "answered"),
        (Reply({"data": [{"index": 0, "embedding": [1.0]}] * 2}), "or not one a text"),
        (Reply({"choices": []}), "no list of embeddings"),
        (Reply(b"<html>"), "no list of embeddings"),
    ],
)
async def test_an_unusable_answer_is_an_error(serve: Serve, connect: Connect, reply: Reply, said: str) -> None:
    server = serve(reply)
    error = await failure_of(connect(server))
    assert error.code == "embedder-unusable"
    assert said in error.detail


async def test_huge_numbers_keep_their_direction(serve: Serve, connect: Connect) -> None:
    answer = await connect(serve(vectors([3e300, 4e300]))).embed(["a"])
    np.testing.assert_allclose(answer, [[0.6, 0.8]], rtol=1e-6)


async def test_vectors_of_another_length_than_before_are_refused(serve: Serve, connect: Connect) -> None:
    embedder = connect(serve(vectors([1.0, 0.0]), vectors([1.0], [1.0])))
    await embedder.embed(["a"])
    error = await failure_of(embedder)
    assert error.code == "embedder-unusable"
    assert "vectors of 1 numbers after some of 2" in error.detail


async def test_one_failing_part_fails_the_whole(serve: Serve, connect: Connect) -> None:
    with pytest.raises(DependencyError, match="answered 400"):
        await connect(serve(failure(400))).embed(["x"] * 500)


async def test_a_blank_text_is_refused_before_anything_is_sent(serve: Serve, connect: Connect) -> None:
    server = serve()
    with pytest.raises(ContradictionError, match="Text 2 of 2 is blank"):
        await connect(server).embed(["a", " "])
    assert server.asked == []


async def test_a_caller_who_goes_away_ends_the_request(serve: Serve, connect: Connect) -> None:
    server = serve(then=lambda _: Reply(None))
    task = asyncio.create_task(connect(server).embed(["a"]))
    await asyncio.to_thread(server.received.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
