"""Data sets by content: what is stored of one, and its hashes."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from befund.contract import Content, Evidence
from befund.core.eligibility import gold_of
from befund.core.errors import BefundError, ContradictionError
from befund.core.expected import refuse_wordless
from befund.core.retrieval.content import ContentHash, hash_of
from befund.core.retrieval.envelope import (
    NO_OBJECT,
    Grades,
    LazyDataset,
    LazyQuestion,
    read_mapping,
    read_questions,
)


class KeptQuestion(Struct, frozen=True, gc=False):
    """A question as it is stored: its hash is that of all of it, its JSON what is kept of it, on one line."""

    id: str
    hash: str
    json: bytes


class Version(Struct, frozen=True, kw_only=True):
    """What is known of one data set version without its questions; see `befund.contract.DatasetVersion`."""

    hash: str
    questions_hash: str
    mapping_hash: str
    generated: bool
    evidence_mapping: bytes
    questions: int
    splits: dict[str, int]
    behaviors: dict[str, int]
    content: Content


class StoredVersion(Struct, frozen=True):
    """A version, and when it was first stored."""

    version: Version
    created: datetime


class Edition(Struct, frozen=True):
    """One data set version with its questions, in their order.

    `verified` says whether its hash was made from all of its content, rather than said by whoever sent it.
    """

    version: Version
    questions: list[KeptQuestion]
    verified: bool = True

    def dataset(self, name: str | None = None) -> LazyDataset:
        """The data set in the form requests are read in."""
        return LazyDataset(
            questions=[Raw(question.json) for question in self.questions],
            name=name,
            evidence_mapping=Raw(self.version.evidence_mapping),
            generated=self.version.generated,
        )


class Placed(Struct, frozen=True):
    """A question and its place in its data set, from 0."""

    position: int
    question: KeptQuestion


class Selection(Struct, frozen=True):
    """Some questions of one data set version, by id."""

    version: Version
    questions: dict[str, Placed]


def version_hash(*, questions_hash: str, mapping_hash: str, generated: bool) -> str:
    """The hash that says which data set this is, whatever it is called."""
    return hash_of({"questions": questions_hash, "evidence_mapping": mapping_hash, "generated": generated})


def edition_of(dataset: LazyDataset, *, content: Content) -> Edition:
    """Check a data set as an evaluation would, hash it, and take from it what is to be stored.

    Args:
        dataset: The data set.
        content: `full` keeps questions as they are, `ids` without any text of theirs.

    Raises:
        MalformedRequestError: A question or the mapping does not decode.
        ContradictionError: It has no question, one twice, or gold that contradicts itself.
    """
    if not dataset.questions:
        raise ContradictionError.at("/questions", "empty-dataset", "The data set has no questions. Send some.")
    mapping = read_mapping(dataset)
    hashes = ContentHash()
    splits, behaviors = Counter[str](), Counter[str]()
    kept: dict[str, KeptQuestion] = {}
    try:
        for raw, (question, grades) in zip(dataset.questions, read_questions(dataset.questions), strict=True):
            if question.id in kept:
                detail = f"Question {question.id!r} is given twice. Keep one."
                raise ContradictionError.at(f"/{len(kept)}/id", "question-twice", detail)
            _check(question, grades, mapping, place=len(kept))
            hashes.add(question, grades)
            splits.update([question.split] if question.split is not None else [])
            behaviors[question.expected_behavior] += 1
            kept[question.id] = KeptQuestion(question.id, hashes.of(question.id), _kept(raw, question, content))
    except BefundError as error:
        error.move_below("/questions")
        raise
    questions_hash, mapping_hash = hashes.hexdigest(), hash_of(mapping)
    version = Version(
        hash=version_hash(questions_hash=questions_hash, mapping_hash=mapping_hash, generated=dataset.generated),
        questions_hash=questions_hash,
        mapping_hash=mapping_hash,
        generated=dataset.generated,
        evidence_mapping=msgspec.json.encode(mapping),
        questions=len(kept),
        splits=dict(sorted(splits.items())),
        behaviors=dict(sorted(behaviors.items())),
        content=content,
    )
    return Edition(version, list(kept.values()))


def without_texts(question: LazyQuestion) -> LazyQuestion:
    """The question with its ids, gold, tags and role alone: no question, fact, answer, quote or metadata."""
    return msgspec.structs.replace(
        question,
        question="",
        expected_facts=(),
        reference_answers=(),
        evidence=[_without_quote(evidence) for evidence in question.evidence],
        metadata=NO_OBJECT,
    )


def encoded_dataset(edition: Edition) -> Iterator[bytes]:
    """The JSON of a data set, in parts."""
    yield b'{"generated":' + msgspec.json.encode(edition.version.generated)
    yield b',"evidence_mapping":' + edition.version.evidence_mapping + b',"questions":['
    for i, question in enumerate(edition.questions):
        yield (b"," if i else b"") + question.json
    yield b"]}"


def _check(question: LazyQuestion, grades: Grades, mapping: dict[str, list[str]], *, place: int) -> None:
    try:
        refuse_wordless(question)
        gold_of(question, grades, mapping)
    except BefundError as error:
        error.move_below(f"/{place}")
        raise


def _kept(raw: Raw, question: LazyQuestion, content: Content) -> bytes:
    whole = bytes(raw) if content == "full" else msgspec.json.encode(without_texts(question))
    return msgspec.json.format(whole, indent=-1)


def _without_quote(evidence: Evidence) -> Evidence:
    return msgspec.structs.replace(evidence, quote=None)
