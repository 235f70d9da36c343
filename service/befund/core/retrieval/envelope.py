"""The request of POST /retrieve-eval as the service reads it: outer object first, questions and rankings one by one.

Decoding everything at once would hold every id of every ranking in memory. These types mirror those of the contract
field by field, with the large parts left as raw JSON.
"""

import msgspec
from msgspec import Raw

from befund.contract import (
    DatasetReference,
    Id,
    Name,
    QuestionFields,
    Ranking,
    Request,
    RetrievalOptions,
    RetrieveEvalOptions,
)
from befund.core.decoding import decode, refuse_repeated_keys, refuse_twice
from befund.core.errors import MalformedRequestError
from befund.core.retrieval.ranking import Retrieved, in_rank_order

NO_OBJECT = Raw(b"{}")


class QuestionId(str):
    """A key of `rankings`, told apart from other strings so that a repeated key can be noticed."""

    __slots__ = ()


class LazyQuestion(QuestionFields, frozen=True, kw_only=True):
    """`Question` with its relevant chunks unread."""

    relevant: Raw = NO_OBJECT


class LazyDataset(Request, frozen=True, kw_only=True):
    """`Dataset` with its questions and mapping unread."""

    questions: list[Raw]
    name: Name | None = None
    evidence_mapping: Raw = NO_OBJECT
    generated: bool = False


class LazyRetrieval(RetrievalOptions, frozen=True, kw_only=True):
    """`Retrieval` with its rankings unread."""

    rankings: dict[QuestionId, Raw] | None = None


class LazyRetrieveEvalRequest(RetrieveEvalOptions, frozen=True, kw_only=True):
    """`RetrieveEvalRequest` with its large parts unread."""

    dataset: DatasetReference | LazyDataset
    retrieval: LazyRetrieval


Grades = dict[Id, float] | list[Id]

_QUESTION = msgspec.json.Decoder(LazyQuestion)
_GRADES = msgspec.json.Decoder(Grades)
_MAPPING = msgspec.json.Decoder(dict[Id, list[Id]])
_IDS = msgspec.json.Decoder(list[Id])
_RANKING = msgspec.json.Decoder(Ranking)


def read_request(body: bytes) -> LazyRetrieveEvalRequest:
    """The outer request.

    Raises:
        MalformedRequestError: The body does not decode.
        ContradictionError: A question has two rankings.
    """
    questions: list[str] = []

    def question_id(kind: type, key: str) -> QuestionId:
        questions.append(key)
        return QuestionId(key)

    request = decode(body, msgspec.json.Decoder(LazyRetrieveEvalRequest, dec_hook=question_id))
    if len(questions) != len(request.retrieval.rankings or {}):
        refuse_twice(questions, at="/retrieval/rankings")
    return request


def read_question(raw: Raw, *, at: str) -> tuple[LazyQuestion, Grades]:
    """One question and its relevant chunks."""
    question = decode(raw, _QUESTION, at=at)
    if question.relevant is NO_OBJECT:
        return question, {}
    grades = decode(question.relevant, _GRADES, at=f"{at}/relevant")
    if isinstance(grades, dict):
        refuse_repeated_keys(question.relevant, keys=len(grades), at=f"{at}/relevant")
    return question, grades


def read_mapping(dataset: LazyDataset, *, at: str) -> dict[str, list[str]]:
    """The data set's mapping of evidence ids to chunk ids."""
    mapping = decode(dataset.evidence_mapping, _MAPPING, at=f"{at}/evidence_mapping")
    refuse_repeated_keys(dataset.evidence_mapping, keys=len(mapping), at=f"{at}/evidence_mapping")
    return mapping


def read_ranking(raw: Raw, *, at: str) -> Retrieved:
    """One ranking. A list of plain ids is by far the most common, and the fastest to read."""
    if b"{" not in bytes(raw):
        return Retrieved(decode(raw, _IDS, at=at))
    ranking: Ranking = decode(raw, _RANKING, at=at)
    if isinstance(ranking, dict):
        refuse_repeated_keys(raw, keys=len(ranking), at=at)
    return in_rank_order(ranking)


def refuse_bad_question_id(question: str) -> None:
    """Refuse a key of `rankings` that no question could have."""
    if not 1 <= len(question) <= 512:
        raise MalformedRequestError(f"A key of rankings has {len(question)} characters; question ids have 1 to 512.")
