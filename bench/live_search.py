"""What a live search costs beside a bare one: 1,000 questions through the use case, and through Chroma alone.

    python bench/live_search.py [--chunks 40000] [--questions 1000] [--rounds 7]

Both embed the same questions and search the same collection for ten chunks each, in turns in one process. The bare
search is wordllama and `collection.query` in batches of 100 with what it returns by default; the use case checks the
index for every gold chunk, reads texts and roles, counts tokens, and measures with intervals and findings. Tokens of a
chunk are counted once in the life of a process: the first round is reported apart. The index check is timed by itself.
"""

import argparse
import asyncio
import gc
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import chromadb
import msgspec
import wordllama
from chromadb.config import Settings

from befund.adapters.chroma import ChromaIndex, EmbeddedChroma
from befund.adapters.embedding import StaticEmbedder
from befund.bundled import bundled
from befund.ports import IndexedChunk
from befund.usecases.retrieve import begin, evaluate
from befund.usecases.search import SearchParts, as_sent, search, wanted_search

COLLECTION = "bench"
WORDS_A_CHUNK, WORDS_A_QUESTION, TOP_K = 100, 10, 10


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=40_000)
    parser.add_argument("--questions", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), options.chunks, options.questions, options.rounds))


async def measure(folder: Path, chunks: int, questions: int, rounds: int) -> None:
    """Fill the collection, then take turns."""
    words = corpus_words()
    chance = random.Random(1)  # noqa: S311 - the same corpus every time
    static, embedded = StaticEmbedder(), EmbeddedChroma(folder)
    embedded.open()
    index = ChromaIndex(embedded)
    await index.create(COLLECTION, embedder=await static.identity(), chunking="bench")
    texts = [passage(words, WORDS_A_CHUNK, chance) for _ in range(chunks)]
    written = [IndexedChunk(f"c{i}", text, {"document": f"d{i // 8}", "n": i}) for i, text in enumerate(texts)]
    await index.write(COLLECTION, written, await static.embed(texts))
    asked = [
        {
            "id": f"Q{i}",
            "question": passage(words, WORDS_A_QUESTION, chance),
            "relevant": [f"c{chance.randrange(chunks)}" for _ in range(3)],
            "expected_facts": [passage(words, 2, chance)],
        }
        for i in range(questions)
    ]
    body = msgspec.json.encode(
        {"dataset": {"questions": asked}, "retrieval": {"collection": COLLECTION, "top_k": TOP_K}, "k": [1, 5, 10]}
    )
    parts = SearchParts(index=index, embedder=static, tokenizer=static)
    bare = BareSearch(folder, [str(question["question"]) for question in asked])
    gc.freeze()  # as the service does when it has started
    first = await seconds(lambda: whole(body, parts))
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        theirs.append(await seconds(lambda: asyncio.to_thread(bare)))
        ours.append(await seconds(lambda: whole(body, parts)))
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    print(
        f"{questions:,} questions, {chunks:,} chunks, top_k {TOP_K}: bare {statistics.median(theirs) * 1000:,.0f} ms, "
        f"live search {statistics.median(ours) * 1000:,.0f} ms, ratio {ratio:.2f}; "
        f"the first, which counts tokens, {first * 1000:,.0f} ms"
    )
    ids = [chunk.id for chunk in written]
    checks = [await seconds(lambda: index.held(COLLECTION, ids)) for _ in range(rounds)]
    print(f"index check of {chunks:,} chunk ids: {statistics.median(checks) * 1000:,.0f} ms")
    bare.close()
    await index.close()
    await static.close()


async def whole(body: bytes, parts: SearchParts) -> None:
    """A live search as the service makes it, to the encoded answer."""
    clock = time.perf_counter
    begun = begin(body)
    wanted = wanted_search(begun.request, begun.dataset)
    assert wanted is not None
    found = await search(wanted, parts, clock=clock)
    msgspec.json.encode(evaluate(begun, clock=clock, started=clock(), searched=as_sent(wanted, found)))


class BareSearch:
    """The least that finds the same: the libraries by themselves."""

    def __init__(self, folder: Path, questions: list[str]) -> None:
        package = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=package, disable_download=True)
        settings: Any = Settings
        self._client = chromadb.PersistentClient(
            str(folder), settings=settings(_env_file=None, anonymized_telemetry=False)
        )
        self._collection = self._client.get_collection(COLLECTION, embedding_function=None)
        self._questions = questions

    def __call__(self) -> None:
        """Embed and search."""
        vectors = self._model.embed(self._questions, norm=True)
        for start in range(0, len(vectors), 100):
            self._collection.query(query_embeddings=vectors[start : start + 100], n_results=TOP_K)

    def close(self) -> None:
        """Let go of the folder."""
        self._client.close()


def corpus_words() -> list[str]:
    """The words of the bundled corpus, in order."""
    documents = sorted((bundled("teralune") / "teralune").rglob("*.md"))
    return " ".join(path.read_text(encoding="utf-8") for path in documents).split()


def passage(words: list[str], length: int, chance: random.Random) -> str:
    """Some words that follow each other."""
    start = chance.randrange(len(words) - length)
    return " ".join(words[start : start + length])


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """Wall time of one call; a part of it is waited for in other threads."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
