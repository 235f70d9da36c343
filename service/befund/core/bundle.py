"""A run as one file: a head, a line a question of its data set, a line a record."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from befund.contract import Content, DiagnosisRecord, JudgmentRecord, Name, RetrievalRecord
from befund.core.bundle_check import contradiction
from befund.core.datasets import Edition, KeptQuestion, edition_of, version_hash
from befund.core.errors import BefundError, ContradictionError
from befund.core.retrieval.content import total_hash
from befund.core.retrieval.envelope import LazyDataset
from befund.core.runs import DIAGNOSIS, JUDGMENT, LARGEST_CONFIG, RETRIEVAL, Identity, Record, Run

FORMAT = 1
_KINDS: dict[str, type[Any]] = {RETRIEVAL: RetrievalRecord, JUDGMENT: JudgmentRecord, DIAGNOSIS: DiagnosisRecord}
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2970, 1, 1, tzinfo=UTC)
"""Between these a run may have been created."""


class BundledRun(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a bundle says of its run."""

    name: Name
    dataset_name: Name | None
    identity: Identity
    created: Annotated[datetime, Meta(tz=True)]
    records: int


class BundledDataset(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a bundle says of its data set; `content` is `ids` where texts are missing."""

    questions: int
    content: Content
    generated: bool
    evidence_mapping: Raw


class Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line."""

    befund_bundle: int
    run: BundledRun
    dataset: BundledDataset


class _Format(Struct, frozen=True):
    befund_bundle: int


class _QuestionLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hash: Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}(?![\s\S])")]
    question: Raw


class _RecordLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    question_id: str
    part: str
    found: Raw


class Bundle(Struct, frozen=True):
    """A bundle that was read and found whole."""

    run: BundledRun
    edition: Edition
    records: list[Record]


def bundle_head(run: Run) -> bytes:
    """The first line of a run's bundle."""
    version = run.dataset.version
    head = Head(
        befund_bundle=FORMAT,
        run=BundledRun(
            name=run.name,
            dataset_name=run.dataset_name,
            identity=run.identity,
            created=run.created,
            records=run.records,
        ),
        dataset=BundledDataset(
            questions=version.questions,
            content=version.content,
            generated=version.generated,
            evidence_mapping=Raw(version.evidence_mapping),
        ),
    )
    return msgspec.json.encode(head) + b"\n"


def question_line(question: KeptQuestion) -> bytes:
    """The line of a question."""
    return msgspec.json.encode(_QuestionLine(hash=question.hash, question=Raw(question.json))) + b"\n"


def record_line(record: Record) -> bytes:
    """The line of a record."""
    line = _RecordLine(question_id=record.question_id, part=record.part, found=Raw(record.json))
    return msgspec.json.encode(line) + b"\n"


def read_bundle(body: bytes, *, content: Content) -> Bundle:
    """Read a bundle and check that it is whole and says the same everywhere.

    Args:
        body: All of its lines.
        content: Whether texts are kept.

    Raises:
        ContradictionError: `bundle-damaged`, `bundle-unknown`, or what is wrong with its data set.
    """
    lines = iter(body.split(b"\n"))
    first = next(lines)
    known = _decode(first, _Format, 1).befund_bundle
    if known != FORMAT:
        raise ContradictionError(
            "bundle-unknown", f"The bundle has format {known}; this version reads {FORMAT}. Use the one it came from."
        )
    head = _decode(first, Head, 1)
    _check_run(head.run)
    questions = [_decode(next(lines, b""), _QuestionLine, 2 + i) for i in range(head.dataset.questions)]
    edition = _edition(head, questions, content)
    places = {question.id: i for i, question in enumerate(edition.questions)}
    start = 2 + len(questions)
    records = [_record(line, start + i, edition, places) for i, line in enumerate(lines) if line]
    if len({(each.question_id, each.part) for each in records}) != len(records):
        raise _damaged("it holds two records of one question")
    if len(records) != head.run.records:
        raise _damaged(f"it holds {len(records)} records and says that there are {head.run.records}")
    wrong = contradiction(edition, head.run.identity.measured, records)
    if wrong is not None:
        raise _damaged(wrong)
    return Bundle(head.run, edition, records)


def _check_run(run: BundledRun) -> None:
    if not EARLIEST <= run.created <= LATEST:
        raise _damaged(f"its run was not created between {EARLIEST.year} and {LATEST.year}")
    if len(msgspec.json.encode(run.identity.config)) > LARGEST_CONFIG:
        raise _damaged(f"its configuration has more than {LARGEST_CONFIG} bytes")
    if any(key not in run.identity.config for keys in run.identity.said.values() for key in keys):
        raise _damaged("a part of the service is said to have given what its configuration does not hold")


def _edition(head: Head, lines: list[_QuestionLine], content: Content) -> Edition:
    dataset = LazyDataset(
        questions=[line.question for line in lines],
        evidence_mapping=head.dataset.evidence_mapping,
        generated=head.dataset.generated,
    )
    try:
        edition = edition_of(dataset, content="ids" if head.dataset.content == "ids" else content)
    except BefundError as error:
        error.move_below("/dataset")
        raise
    if head.dataset.content == "ids":
        edition = _with_hashes(edition, [line.hash for line in lines])
    elif [line.hash for line in lines] != [question.hash for question in edition.questions]:
        raise _damaged("the hash of a question is not that of its content")
    if edition.version.hash != head.run.identity.version:
        raise _damaged("its data set is not the one its run was measured on")
    return edition


def _with_hashes(edition: Edition, hashes: list[str]) -> Edition:
    """The edition with the hashes that its questions had before their texts were left out."""
    kept = [
        msgspec.structs.replace(question, hash=hash_) for question, hash_ in zip(edition.questions, hashes, strict=True)
    ]
    version = edition.version
    questions_hash = total_hash({question.id: question.hash for question in kept})
    whole = version_hash(questions_hash=questions_hash, mapping_hash=version.mapping_hash, generated=version.generated)
    return Edition(msgspec.structs.replace(version, hash=whole, questions_hash=questions_hash), kept, verified=False)


def _record(line: bytes, number: int, edition: Edition, places: dict[str, int]) -> Record:
    read = _decode(line, _RecordLine, number)
    kind = _KINDS.get(read.part)
    if kind is None:
        raise _damaged(f"line {number} is from a part of a newer version, {read.part!r}")
    if read.question_id not in places:
        raise _damaged(f"line {number} is about a question that its data set does not have")
    position = places[read.question_id]
    return Record(
        question_id=read.question_id,
        question_hash=edition.questions[position].hash,
        position=position,
        part=read.part,
        json=msgspec.json.encode(_decode(read.found, kind, number)),
    )


def _decode(line: bytes | Raw, kind: type[Any], number: int) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(f"line {number} cannot be read: {error}") from error


def _damaged(why: str) -> ContradictionError:
    return ContradictionError("bundle-damaged", f"The bundle is damaged: {why}. Export the run again.")
