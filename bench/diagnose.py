"""What looking into the index costs: 1,000 cases, 100,000 chunks, in one batch, beside a single query for each.

    python bench/diagnose.py [--chunks 100000] [--cases 1000] [--rounds 5] [--folder FOLDER]

A single query embeds one question and asks Chroma for its ten nearest chunks, one after the other, as a pipeline does.
Probing does all that a diagnosis asks of the index, judging and reading texts for facts excluded: is the gold chunk
there, does its quote stand in it, does it pass the filter, at which rank does it stand, does a search return it, is its
vector that of its text. In half of the cases the question is taken from the gold chunk, in half from another. Printed
are medians over the rounds, and how much memory the process holds after each round. With --folder the collection is
kept there and found again, since filling it takes minutes.
"""

import argparse
import asyncio
import os
import random
import resource
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from live_search import corpus_words, passage

from befund.adapters.chroma import ChromaProbe, EmbeddedChroma
from befund.adapters.embedding import StaticEmbedder
from befund.core.diagnosis.gold import Wanted
from befund.core.errors import NotFoundError
from befund.core.evidence_mapping import fold
from befund.ports import IndexedChunk
from befund.usecases.probing import IndexParts, Probe, probe_collection

COLLECTION = "bench"
WORDS_A_CHUNK, WORDS_A_QUESTION, WORDS_A_QUOTE, TOP_K = 100, 10, 12, 10
WRITTEN_AT_ONCE = 10_000
LANGUAGES = ("de", "en")


def main() -> None:
    """Run the benchmark, with numpy set as the command `befund` sets it."""
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})  # noqa: S606
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(options.folder or Path(folder), options.chunks, options.cases, options.rounds))


async def measure(folder: Path, chunks: int, cases: int, rounds: int) -> None:
    """Fill the collection, then take turns."""
    static, embedded = StaticEmbedder(), EmbeddedChroma(folder)
    embedded.open()
    index = ChromaProbe(embedded)
    parts = IndexParts(index=index, probe=index, embedder=static)
    chance = random.Random(1)  # noqa: S311 - the same corpus every time
    await fill(index, static, chunks, chance)
    probes = await made(index, chunks, cases, chance)
    filtered = [replaced(probe, where={"language": LANGUAGES[0]}) for probe in probes]
    single: list[Taken] = []
    times: dict[str, list[Taken]] = {"without a filter": [], "with a filter": []}
    held = []
    for turn in range(-1, rounds):
        alone = await taken(lambda: queries(embedded, static, probes))
        for name, batch in (("without a filter", probes), ("with a filter", filtered)):
            ours = await taken(lambda batch=batch: probe_collection(parts, COLLECTION, batch))
            if turn >= 0:
                times[name].append(ours)
        if turn >= 0:
            single.append(alone)
            held.append(resident())
    print(f"{cases:,} cases, {chunks:,} chunks: single queries {shown(single, cases)}")
    for name, every in times.items():
        pairs = list(zip(every, single, strict=True))
        wall = statistics.median(ours.wall / alone.wall for ours, alone in pairs)
        cpu = statistics.median(ours.cpu / alone.cpu for ours, alone in pairs)
        print(f"  probing {name}: {shown(every, cases)}; beside single queries {wall:.2f} times, CPU {cpu:.2f} times")
    print(f"  memory after each round: {', '.join(f'{megabytes:,} MB' for megabytes in held)}; peak {peak():,} MB")
    tracemalloc.start()
    await probe_collection(parts, COLLECTION, filtered)
    print(f"  of it held at once by Python and numpy in one batch: {tracemalloc.get_traced_memory()[1] / 1e6:,.0f} MB")
    await index.close()
    await static.close()


async def fill(index: ChromaProbe, static: StaticEmbedder, chunks: int, chance: random.Random) -> None:
    """Write the collection, unless it is there."""
    try:
        if (await index.collection(COLLECTION)).count == chunks:
            return
    except NotFoundError:
        await index.create(COLLECTION, embedder=await static.identity(), chunking="bench")
    words = corpus_words()
    for start in range(0, chunks, WRITTEN_AT_ONCE):
        numbers = range(start, min(start + WRITTEN_AT_ONCE, chunks))
        texts = [passage(words, WORDS_A_CHUNK, chance) for _ in numbers]
        written = [
            IndexedChunk(name(i), text, {"document": f"d{i // 8}", "n": i, "language": LANGUAGES[i % 2]})
            for i, text in zip(numbers, texts, strict=True)
        ]
        await index.write(COLLECTION, written, await static.embed(texts))


async def made(index: ChromaProbe, chunks: int, cases: int, chance: random.Random) -> list[Probe]:
    """Cases whose gold is a chunk that passes the filter."""
    gold = [name(2 * chance.randrange(chunks // 2)) for _ in range(cases)]
    texts = {chunk.id: chunk.text or "" for chunk in await index.chunks(COLLECTION, gold)}
    probes = []
    for i, chunk in enumerate(gold):
        asked = texts[chunk] if i % 2 else texts[gold[i - 1]]
        wanted = Wanted(
            id=f"E{i}",
            grade=1.0,
            chunks=[chunk],
            document=chunk.partition("-")[0],
            quote=fold(passage(texts[chunk].split(), WORDS_A_QUOTE, chance)),
        )
        question = f"{passage(asked.split(), WORDS_A_QUESTION, chance)} {i}"
        probes.append(Probe(question=question, wanted=[wanted], k=TOP_K, where=None, there=frozenset()))
    return probes


def replaced(probe: Probe, where: dict[str, Any]) -> Probe:
    """The same case with a filter."""
    return Probe(question=probe.question, wanted=probe.wanted, k=probe.k, where=where, there=probe.there)


async def queries(chroma: EmbeddedChroma, static: StaticEmbedder, probes: list[Probe]) -> None:
    """One bare query of Chroma after the other."""
    collection = await chroma.call(lambda client: client.get_collection(COLLECTION, embedding_function=None))
    for probe in probes:
        vector = await static.embed([probe.question])
        await chroma.call(lambda _, vector=vector: collection.query(query_embeddings=vector, n_results=TOP_K))


def name(number: int) -> str:
    """The id of a chunk."""
    return f"d{number // 8}-chunk-{number % 8 + 1}"


class Taken(NamedTuple):
    """Seconds that passed, and those of this process's CPU."""

    wall: float
    cpu: float


def shown(every: list[Taken], cases: int) -> str:
    """Medians a case."""
    wall, cpu = (statistics.median(getattr(each, name) for each in every) for name in ("wall", "cpu"))
    return f"{wall / cases * 1000:.2f} ms a case, {cpu / cases * 1000:.2f} ms of CPU"


def resident() -> int:
    """Megabytes this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1_000_000


def peak() -> int:
    """The most megabytes it ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_000


async def taken(work: Callable[[], Awaitable[object]]) -> Taken:
    """What one call takes; a part of it is waited for in other threads."""
    started, cpu = time.perf_counter(), time.process_time()
    await work()
    return Taken(time.perf_counter() - started, time.process_time() - cpu)


if __name__ == "__main__":
    main()
