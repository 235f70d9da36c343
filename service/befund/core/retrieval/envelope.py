"""The request of POST /retrieve-eval as the service reads it: outer object first, questions and rankings one by one.

Decoding everything at once would hold every id of every ranking in memory. These types mirror those of the contract
field by field, with the large parts left as raw JSON.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from befund.contract import (
    DatasetReference,
    Id,
    Name,
    QuestionFields,
    Ranking,
    RankingEntry,
    Request,
    RetrievalOptions,
    RetrieveEvalOptions,
)
from befund.core.decoding import decode, may_repeat_keys, refuse_repeated_keys, refuse_twice
from befund.core.errors import BefundError
from befund.core.repeated import may_repeat_fields, refuse_repeated_fields, without
from befund.core.retrieval.ranking import Retrieved, in_rank_order

NO_OBJECT = Raw(b"{}")
NO_RANKINGS = Raw(b"null")

_QUESTIONS_AT_ONCE = 256


class QuestionId(str):
    """A key of `rankings`, told apart from other strings so that a repeated key can be noticed."""

    __slots__ = ()


class LazyQuestion(QuestionFields, frozen=True, kw_only=True, gc=False):
    """`Question` with its two maps unread."""

    relevant: Raw = NO_OBJECT
    metadata: Raw = NO_OBJECT


class LazyDataset(Request, frozen=True, kw_only=True):
    """`Dataset` with its questions and mapping unread."""

    questions: list[Raw]
    name: Name | None = None
    evidence_mapping: Raw = NO_OBJECT
    generated: bool = False


class LazyRetrieval(RetrievalOptions, frozen=True, kw_only=True):
    """`Retrieval` with its rankings unread."""

    rankings: Raw = NO_RANKINGS

    @property
    def has_rankings(self) -> bool:
        """Whether rankings were sent."""
        sent = memoryview(self.rankings)
        return len(sent) != len(b"null") or bytes(sent) != b"null"


class LazyRetrieveEvalRequest(RetrieveEvalOptions, frozen=True, kw_only=True):
    """`RetrieveEvalRequest` with its large parts unread."""

    dataset: DatasetReference | LazyDataset
    retrieval: LazyRetrieval


Grades = dict[Id, float] | list[Id]

_REQUEST = msgspec.json.Decoder(LazyRetrieveEvalRequest)
_QUESTION = msgspec.json.Decoder(LazyQuestion)
_QUESTIONS = msgspec.json.Decoder(list[LazyQuestion])
_METADATA = msgspec.json.Decoder(dict[str, Any])
_ALL_METADATA = msgspec.json.Decoder(list[dict[str, Any]])
_GRADES = msgspec.json.Decoder(Grades)
_ALL_GRADES = msgspec.json.Decoder(list[Grades])
_MAPPING = msgspec.json.Decoder(dict[Id, list[Id]])
_IDS = msgspec.json.Decoder(list[Id])
_RANKING = msgspec.json.Decoder(Ranking)


def read_request(body: bytes) -> LazyRetrieveEvalRequest:
    """The outer request.

    Raises:
        MalformedRequestError: The body does not decode, or names a field twice.
    """
    request = decode(body, _REQUEST)
    questions = [] if isinstance(request.dataset, str) else request.dataset.questions
    refuse_repeated_fields(without(body, questions, [request.retrieval.rankings]), LazyRetrieveEvalRequest)
    return request


def read_rankings(request: LazyRetrieveEvalRequest) -> dict[QuestionId, Raw]:
    """The request's rankings, each unread; raises as `by_question`."""
    return by_question(request.retrieval.rankings, pointer="/retrieval/rankings")


def by_question(raw: Raw, *, pointer: str) -> dict[QuestionId, Raw]:
    """Rankings by question, each unread, which stand at `pointer` in the request.

    Raises:
        MalformedRequestError: They are no JSON object.
        ContradictionError: A question has two rankings.
    """
    questions: list[str] = []

    def question_id(_: type, key: str) -> QuestionId:
        questions.append(key)
        return QuestionId(key)

    try:
        decoder = msgspec.json.Decoder(dict[QuestionId, Raw], dec_hook=question_id)
        rankings = decode(raw, decoder)
        if len(questions) != len(rankings):
            refuse_twice(questions)
    except BefundError as error:
        error.move_below(pointer)
        raise
    return rankings


def read_questions(raws: Sequence[Raw]) -> Iterator[tuple[LazyQuestion, Grades]]:
    """Questions and their relevant chunks, in order.

    Decoding some of them as one array takes half the time; where that fails, they are read one by one to say where.
    """
    for first in range(0, len(raws), _QUESTIONS_AT_ONCE):
        part = raws[first : first + _QUESTIONS_AT_ONCE]
        try:
            yield from _read_together(part)
        except (ValueError, RecursionError):
            for i, raw in enumerate(part, start=first):
                try:
                    yield read_question(raw)
                except BefundError as error:
                    error.move_below(f"/{i}")
                    raise


def _read_together(raws: Sequence[Raw]) -> list[tuple[LazyQuestion, Grades]]:
    """Raises ValueError (msgspec's errors are such) or RecursionError where anything must be looked at more closely."""
    text = b"[%b]" % b",".join(raws)
    questions = _QUESTIONS.decode(text)
    if may_repeat_fields(text, list[LazyQuestion]):
        raise ValueError("a field may be named twice")
    relevant = b",".join([question.relevant for question in questions])
    grades = _ALL_GRADES.decode(b"[%b]" % relevant)
    if may_repeat_keys(relevant, keys=sum([len(graded) for graded in grades if isinstance(graded, dict)])):
        raise ValueError("a chunk may be graded twice")
    if any(question.metadata is not NO_OBJECT for question in questions):
        text = b"[%b]" % b",".join([question.metadata for question in questions])
        _ALL_METADATA.decode(text)
        if may_repeat_fields(text, list[dict[str, Any]]):
            raise ValueError("a key may be named twice")
    return list(zip(questions, grades, strict=True))


def read_question(raw: Raw) -> tuple[LazyQuestion, Grades]:
    """One question and its relevant chunks."""
    question = decode(raw, _QUESTION)
    refuse_repeated_fields(raw, LazyQuestion)
    if question.metadata is not NO_OBJECT:
        metadata_of(question)
    if question.relevant is NO_OBJECT:
        return question, {}
    try:
        grades = decode(question.relevant, _GRADES)
        if isinstance(grades, dict):
            refuse_repeated_keys(question.relevant, keys=len(grades))
    except BefundError as error:
        error.move_below("/relevant")
        raise
    return question, grades


def metadata_of(question: LazyQuestion) -> dict[str, Any]:
    """The question's metadata.

    Raises:
        MalformedRequestError: It is no JSON object.
    """
    try:
        metadata = decode(question.metadata, _METADATA)
        refuse_repeated_fields(question.metadata, dict[str, Any])
        return metadata
    except BefundError as error:
        error.move_below("/metadata")
        raise


def read_mapping(dataset: LazyDataset) -> dict[str, list[str]]:
    """The data set's mapping of evidence ids to chunk ids."""
    try:
        mapping = decode(dataset.evidence_mapping, _MAPPING)
        refuse_repeated_keys(dataset.evidence_mapping, keys=len(mapping))
    except BefundError as error:
        error.move_below("/evidence_mapping")
        raise
    return mapping


def read_ranking(raw: Raw) -> Retrieved:
    """One ranking. A list of plain ids is by far the most common, and the fastest to read."""
    if b"{" not in bytes(raw):
        return Retrieved(decode(raw, _IDS))
    ranking: Ranking = decode(raw, _RANKING)
    if isinstance(ranking, dict):
        refuse_repeated_keys(raw, keys=len(ranking))
    else:
        refuse_repeated_fields(raw, list[Id | RankingEntry])
    return in_rank_order(ranking)
