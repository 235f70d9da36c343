"""Live search: what the questions of a request find in a collection, in the form of rankings that were sent.

In three steps, since reading and writing rankings is work for a thread and searching is not: `wanted_search` reads the
questions, `search` asks the embedder and the index, `as_sent` makes rankings of what was found.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from befund.contract import Finding, RankingEntry
from befund.core.access import roles_of
from befund.core.eligibility import Gold, gold_of
from befund.core.errors import BefundError, ConflictError, ContradictionError
from befund.core.evidence_mapping import Quoted, fits
from befund.core.facts import ExpectedFacts, fold
from befund.core.retrieval.envelope import (
    LazyDataset,
    LazyQuestion,
    LazyRetrieveEvalRequest,
    read_mapping,
    read_questions,
)
from befund.ports import Collection, Embedder, EmbedderIdentity, Hit, Index, IndexedChunk, Tokenizer
from befund.usecases.map_evidence import placed

DEFAULT_EMBEDDER = "default"
MOST_RESULTS = 1_000_000
"""Questions times chunks a question: what is found is held in memory."""
MOST_LOOKED_AT = 1_000
"""Chunks that are read to see whether the quotes of the gold stand in them."""
MOST_NAMED = 8
"""Evidence that a finding names."""

Clock = Callable[[], float]
T = TypeVar("T")


class SearchParts(Struct, frozen=True):
    """What a live search needs from outside."""

    index: Index
    embedder: Embedder
    tokenizer: Tokenizer


class MappedQuote(Struct, frozen=True):
    """A question's evidence and the chunks that are said to hold its quote."""

    question: str
    evidence: Quoted
    chunks: list[str]


class WantedSearch(Struct, frozen=True):
    """A request for a live search, read.

    Attributes:
        request: The request.
        collection: The collection it names.
        questions: The questions it selects, with their gold.
        gold: Every chunk that any of them wants.
        quotes: Some of their evidence with a quote, to see whether the mapping fits the collection.
    """

    request: LazyRetrieveEvalRequest
    collection: str
    questions: list[tuple[LazyQuestion, Gold]]
    gold: list[str]
    quotes: list[MappedQuote]


class Found(Struct, frozen=True):
    """What a live search found.

    Attributes:
        collection: The collection as it was.
        embedder: What embedded the questions.
        ids: For each question the chunks found, nearest first.
        chunks: Those chunks, and those the quotes of the gold are mapped to.
        tokens: How many tokens each of them has; missing where it has no text.
        tokenizer: What counted them.
        held: Those of the wanted chunks that the collection holds.
        embed_ms: Milliseconds of embedding.
        search_ms: Milliseconds of everything asked of the index.
    """

    collection: Collection
    embedder: EmbedderIdentity
    ids: list[list[str]]
    chunks: Mapping[str, IndexedChunk]
    tokens: Mapping[str, int]
    tokenizer: str
    held: frozenset[str]
    embed_ms: float
    search_ms: float


class Searched(Struct, frozen=True):
    """A live search as if its rankings had been sent, and what is known beside them.

    Attributes:
        request: The request with rankings in place of the collection.
        config: What the service knows of the configuration, by the known keys.
        findings: What a reader should know of the search.
        wrong_ids: Whether the collection holds none of the wanted chunks.
        tokens_per_question: Mean tokens down to the largest k; None where texts are not known.
        tokenizer: What counted them.
        embed_ms: Milliseconds of embedding.
        search_ms: Milliseconds of everything asked of the index.
        tokens: How many tokens each retrieved chunk has; missing where it has no text.
    """

    request: LazyRetrieveEvalRequest
    config: dict[str, Any]
    findings: list[Finding]
    wrong_ids: bool
    tokens_per_question: float | None
    tokenizer: str
    embed_ms: float
    search_ms: float
    tokens: Mapping[str, int]


def wanted_search(request: LazyRetrieveEvalRequest, dataset: LazyDataset) -> WantedSearch | None:
    """Read what is to be searched for; None where the request brings its rankings.

    Raises:
        MalformedRequestError: A question does not decode.
        ContradictionError: A question contradicts itself or has no text, or there are rankings too.
    """
    retrieval = request.retrieval
    if retrieval.collection is None or retrieval.has_rankings:
        return None
    questions = list(_selected(request, dataset))
    gold = {chunk: None for _, of_question in questions for chunk, grade in of_question.grades.items() if grade > 0}
    return WantedSearch(request, retrieval.collection, questions, list(gold), _mapped_quotes(questions))


async def search(wanted: WantedSearch, parts: SearchParts, *, clock: Clock) -> Found:
    """Search for every question.

    Raises:
        NotFoundError: There is no such collection.
        ConflictError: It was made by another embedder, or its vectors have another length.
        ContradictionError: The filter cannot be read, or more results are asked for than fit.
        DependencyError: Index or embedder are down, damaged or unusable.
    """
    retrieval, name = wanted.request.retrieval, wanted.collection
    began = clock()
    collection = await parts.index.collection(name)
    looked_up = clock() - began
    embedder = await embedder_for(collection, parts.embedder, asked=retrieval.embedder)
    _refuse_too_many(len(wanted.questions), min(retrieval.top_k, collection.count))
    asked = [question.question for question, _ in wanted.questions]
    (vectors, embed_ms), (held, held_ms) = await asyncio.gather(
        _timed(parts.embedder.embed(asked), clock), _timed(parts.index.held(name, wanted.gold), clock)
    )
    began = clock()
    try:
        hits = await parts.index.search(name, vectors, top_k=retrieval.top_k, where=retrieval.where)
    except BefundError as error:
        error.move_below("/retrieval")
        raise
    ids, needed = await asyncio.to_thread(_ids_of, hits, wanted.quotes)
    chunks = await parts.index.chunks(name, needed)
    searched = clock()
    texts = {chunk.id: chunk.text for chunk in chunks if chunk.text is not None}
    counts = await parts.tokenizer.count(list(texts.values()))
    return Found(
        collection=collection,
        embedder=embedder,
        ids=ids,
        chunks={chunk.id: chunk for chunk in chunks},
        tokens=dict(zip(texts, counts, strict=True)),
        tokenizer=parts.tokenizer.name,
        held=held,
        embed_ms=embed_ms,
        search_ms=held_ms + (looked_up + searched - began) * 1000,
    )


async def _timed(work: Awaitable[T], clock: Clock) -> tuple[T, float]:
    """What the work gives, and the milliseconds it took."""
    began = clock()
    return await work, (clock() - began) * 1000


def as_sent(wanted: WantedSearch, found: Found) -> Searched:
    """Make rankings of what was found, and say what is known beside them."""
    request = wanted.request
    rankings = {
        question.id: _ranking(ids, found) for (question, _), ids in zip(wanted.questions, found.ids, strict=True)
    }
    retrieval = msgspec.structs.replace(request.retrieval, collection=None, rankings=Raw(msgspec.json.encode(rankings)))
    return Searched(
        request=msgspec.structs.replace(request, retrieval=retrieval, index_chunk_ids=sorted(found.held)),
        config=_config(request, found),
        findings=list(_findings(wanted, found)),
        wrong_ids=bool(wanted.gold) and not found.held,
        tokens_per_question=_tokens_per_question(found, max(request.k)),
        tokenizer=found.tokenizer,
        embed_ms=found.embed_ms,
        search_ms=found.search_ms,
        tokens=found.tokens,
    )


def _selected(request: LazyRetrieveEvalRequest, dataset: LazyDataset) -> Iterator[tuple[LazyQuestion, Gold]]:
    try:
        mapping = read_mapping(dataset)
    except BefundError as error:
        error.move_below("/dataset")
        raise
    known: set[str] = set()
    try:
        for i, (question, grades) in enumerate(read_questions(dataset.questions)):
            try:
                gold = gold_of(question, grades, mapping)
                if _is_selected(question, request):
                    _refuse_blank(question)
                    yield question, gold
            except BefundError as error:
                error.move_below(f"/{i}")
                raise
            if question.id in known:
                detail = f"Question {question.id!r} is given twice. Keep one."
                raise ContradictionError.at(f"/{i}/id", "question-twice", detail)
            known.add(question.id)
    except BefundError as error:
        error.move_below("/dataset/questions")
        raise


def _is_selected(question: LazyQuestion, request: LazyRetrieveEvalRequest) -> bool:
    return (request.split is None or question.split == request.split) and (
        not request.tags or not set(request.tags).isdisjoint(question.tags)
    )


def _refuse_blank(question: LazyQuestion) -> None:
    if not question.question.strip():
        detail = f"Question {question.id!r} has no text, so that nothing can be searched for. Give it one."
        raise ContradictionError.at("/question", "blank-question", detail)


def _mapped_quotes(questions: list[tuple[LazyQuestion, Gold]]) -> list[MappedQuote]:
    """The first quotes, as far as their chunks are not too many to be read."""
    quotes = []
    left = MOST_LOOKED_AT
    for question, gold in questions:
        for evidence in question.evidence:
            chunks = gold.evidence.get(evidence.id)
            if chunks and evidence.quote and evidence.quote.strip() and len(chunks) <= left:
                quoted = Quoted(id=evidence.id, quote=evidence.quote, document=evidence.document)
                quotes.append(MappedQuote(question.id, quoted, chunks))
                left -= len(chunks)
    return quotes


def _ids_of(hits: list[list[Hit]], quotes: list[MappedQuote]) -> tuple[list[list[str]], list[str]]:
    """The ids found for each question, and once each of them and of the chunks that quotes are mapped to."""
    ids = [[hit.id for hit in of_question] for of_question in hits]
    mapped = (quote.chunks for quote in quotes)
    return ids, list(dict.fromkeys(chain.from_iterable(chain(ids, mapped))))


async def embedder_for(
    collection: Collection, embedder: Embedder, *, asked: str, at: str = "/retrieval/embedder"
) -> EmbedderIdentity:
    """What embeds the questions, if the collection can be searched with it.

    Args:
        collection: The collection.
        embedder: The embedder there is.
        asked: The one that the request names.
        at: Where the request does so.

    Raises:
        ContradictionError: There is no such embedder.
        ConflictError: The collection was made by another embedder, or its vectors have another length.
        DependencyError: The embedder is down.
    """
    identity = await embedder.identity()
    if asked not in (DEFAULT_EMBEDDER, identity.name):
        raise ContradictionError.at(
            at,
            "unknown-embedder",
            f"There is no embedder {asked!r} here. There is {identity.name!r}, also named {DEFAULT_EMBEDDER!r}.",
        )
    made_with = collection.embedder
    if made_with is not None and made_with.name != identity.name:
        raise ConflictError(
            "embedder-mismatch",
            f"Collection {collection.name!r} was made with {made_with.name}, and questions would be embedded with "
            f"{identity.name}: their vectors cannot be compared. Configure that embedder (BEFUND_EMBEDDER), or ingest "
            "the documents anew.",
        )
    if collection.dimension is not None and collection.dimension != identity.dimension:
        raise ConflictError(
            "dimension-mismatch",
            f"Collection {collection.name!r} holds vectors of {collection.dimension} numbers, and {identity.name} "
            f"makes some of {identity.dimension}. Configure the embedder it was made with (BEFUND_EMBEDDER).",
        )
    return identity


def _refuse_too_many(questions: int, results: int) -> None:
    if questions * results > MOST_RESULTS:
        raise ContradictionError.at(
            "/retrieval/top_k",
            "too-many-results",
            f"{questions} questions with {results} chunks each are more than {MOST_RESULTS} results. Ask for fewer "
            "chunks, or send fewer questions at once.",
        )


def _ranking(ids: list[str], found: Found) -> list[str] | list[RankingEntry]:
    """A ranking as a caller would send it, nearest first; with roles where the collection uses them.

    Distances are left out: they rise down the list, and would be taken for scores.
    """
    if not found.collection.uses_roles:
        return ids
    return [RankingEntry(id=id_, roles=_roles(found.chunks.get(id_))) for id_ in ids]


def _roles(chunk: IndexedChunk | None) -> list[str]:
    """Who may read a chunk of a collection that uses roles: nobody, where it does not say."""
    return [] if chunk is None else roles_of(chunk.metadata) or []


def _config(request: LazyRetrieveEvalRequest, found: Found) -> dict[str, Any]:
    given = request.config.get("retrieval")
    asked = {
        "collection": found.collection.name,
        "top_k": request.retrieval.top_k,
        "where": request.retrieval.where or None,
    }
    known = {
        "retrieval": given | asked if isinstance(given, dict) else asked,
        "embedder": found.embedder.name,
        "chunking": request.config.get("chunking", found.collection.chunking),
        "corpus_version": request.config.get("corpus_version", found.collection.corpus),
    }
    return {key: value for key, value in known.items() if value is not None}


def _findings(wanted: WantedSearch, found: Found) -> Iterator[Finding]:
    retrieval, collection = wanted.request.retrieval, found.collection
    if collection.embedder is None:
        yield Finding(
            code="EMBEDDER_NOT_RECORDED",
            message=f"Nobody recorded what made the vectors of {collection.name!r}. They have the length of those of "
            f"{found.embedder.name}; if another embedder made them, what was found is chance.",
        )
    if max(wanted.request.k) > retrieval.top_k:
        asked_for = "1 chunk was" if retrieval.top_k == 1 else f"{retrieval.top_k} chunks were"
        yield Finding(
            code="CUTOFF_OVER_TOP_K",
            message=f"k goes up to {max(wanted.request.k)}, but {asked_for} asked for (top_k): "
            f"metrics at a larger k see {retrieval.top_k}.",
        )
    yield from _mapped_elsewhere(wanted, found)
    if retrieval.where and collection.count and not any(found.ids):
        yield Finding(
            code="NOTHING_FOUND",
            message="Nothing came back for any question: no chunk passes the filter "
            f"{msgspec.json.encode(retrieval.where).decode()}; check its field names and values.",
        )
        short = []
    else:
        short = [
            question.id
            for (question, _), ids in zip(wanted.questions, found.ids, strict=True)
            if len(ids) < retrieval.top_k
        ]
    if short:
        yield Finding(
            code="FEWER_THAN_TOP_K",
            message=f"Fewer than {retrieval.top_k} chunks came back: the collection holds {collection.count}"
            f"{', and the filter leaves out some' if retrieval.where else ''}.",
            questions=short,
        )
    yield from _incomplete_gold(wanted, found)


def _mapped_elsewhere(wanted: WantedSearch, found: Found) -> Iterator[Finding]:
    """Quotes that do not stand in their chunks: ids of another chunking often exist in this one too."""
    looked_at, elsewhere = 0, []
    for mapped in wanted.quotes:
        chunks = list(placed([found.chunks[id_] for id_ in mapped.chunks if id_ in found.chunks]))
        looked_at += bool(chunks)
        if chunks and (len(chunks) < len(mapped.chunks) or not fits(mapped.evidence, chunks)):
            elsewhere.append(mapped)
    if elsewhere:
        named = ", ".join(dict.fromkeys(mapped.evidence.id for mapped in elsewhere[:MOST_NAMED]))
        more = f" and {len(elsewhere) - MOST_NAMED} more" if len(elsewhere) > MOST_NAMED else ""
        yield Finding(
            code="MAPPING_ELSEWHERE",
            message=f"Evidence is mapped to chunks that do not hold its quote, or not all of it: {len(elsewhere)} of "
            f"{looked_at} looked at ({named}{more}). The mapping does not fit this collection; `befund dataset map` "
            "makes one that does.",
            questions=list(dict.fromkeys(mapped.question for mapped in elsewhere)),
        )


def _incomplete_gold(wanted: WantedSearch, found: Found) -> Iterator[Finding]:
    """Unjudged chunks that state all expected facts, down to the largest k."""
    largest = max(wanted.request.k)
    folded: dict[str, str] = {}
    stating: dict[str, str] = {}
    for (question, gold), ids in zip(wanted.questions, found.ids, strict=True):
        if not question.expected_facts or question.expected_behavior != "answer":
            continue
        facts = ExpectedFacts(question.expected_facts)
        for id_ in ids[:largest]:
            if id_ in gold.grades:
                continue
            text = folded.get(id_)
            if text is None:
                text = folded[id_] = fold(_text(found, id_))
            if facts.stated_in(text):
                stating[question.id] = id_
                break
    if stating:
        question_id, chunk = next(iter(stating.items()))
        yield Finding(
            code="INCOMPLETE_GOLD",
            message="Chunks came back that nobody judged and that state every expected fact, as "
            f"{chunk!r} for question {question_id!r}: review the gold.",
            questions=list(stating),
        )


def _text(found: Found, id_: str) -> str:
    chunk = found.chunks.get(id_)
    return "" if chunk is None else chunk.text or ""


def _tokens_per_question(found: Found, largest: int) -> float | None:
    shown = [ids[:largest] for ids in found.ids]
    if not shown or any(id_ not in found.tokens for ids in shown for id_ in ids):
        return None
    return sum(found.tokens[id_] for ids in shown for id_ in ids) / len(shown)
