"""What is wrong with a data set, and what its author should know of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from befund.contract import Evidence, EvidenceMappingResponse, Exclusion, Question
from befund.core.eligibility import Gold, Mapped, exclusion_of, gold_of
from befund.core.empty import is_wordless
from befund.core.errors import ContradictionError
from befund.core.evidence_mapping import fold
from befund.core.near_duplicates import near_duplicates

NO_SPLIT = "–"
_ELIGIBLE = "eligible"

Severity = Literal["error", "note"]


class Issue(Struct, frozen=True, kw_only=True):
    """Something about a data set.

    Attributes:
        code: Stable name of the kind.
        severity: `error`: something is measured wrongly or not at all; `note`: it may be meant.
        message: What it is, and what to do.
        ids: The questions, evidence or chunks it is about.
    """

    code: str
    severity: Severity
    message: str
    ids: list[str] = []


class DatasetReport(Struct, frozen=True, kw_only=True):
    """A data set, checked.

    Attributes:
        questions: How many there are.
        splits: For each split how many questions are eligible for retrieval, and how many are not by reason.
        behaviors: How many questions expect which behaviour.
        tags: How many questions carry which tag, the most frequent first.
        issues: What there is to say, errors first.
    """

    questions: int
    splits: dict[str, dict[str, int]]
    behaviors: dict[str, int]
    tags: dict[str, int]
    issues: list[Issue]


def check_dataset(
    questions: Sequence[Question], evidence_mapping: Mapped, *, collection: EvidenceMappingResponse | None = None
) -> DatasetReport:
    """Check a data set.

    Args:
        questions: Its questions; an id that stands twice is reported.
        evidence_mapping: Its mapping.
        collection: What a collection says to its evidence and its gold chunks, if it was asked.
    """
    golds, contradictions = _golds(questions, evidence_mapping)
    index = None
    if collection is not None:
        missing = set(collection.missing_chunks)
        index = frozenset(chunk for gold in golds.values() for chunk in gold.grades if chunk not in missing)
    issues = [
        *_twice(questions),
        *contradictions,
        *_texts(questions),
        *_blank_expectations(questions),
        *_expectations(questions),
        *_evidence(questions, evidence_mapping),
        *(_collection(collection, evidence_mapping) if collection is not None else ()),
        *_duplicates(questions),
    ]
    return DatasetReport(
        questions=len(questions),
        splits=_splits(questions, golds, index),
        behaviors=dict(Counter(question.expected_behavior for question in questions).most_common()),
        tags=dict(Counter(tag for question in questions for tag in dict.fromkeys(question.tags)).most_common()),
        issues=sorted(issues, key=lambda issue: issue.severity != "error"),
    )


def evidence_of(questions: Iterable[Question]) -> dict[str, Evidence]:
    """Every piece of evidence once, by its id."""
    return {evidence.id: evidence for question in questions for evidence in question.evidence}


def differing_evidence(questions: Sequence[Question]) -> list[str]:
    """Evidence ids that stand for several quotes or documents; of these `evidence_of` keeps the last."""
    every = evidence_of(questions)
    differing = [
        evidence.id
        for question in questions
        for evidence in question.evidence
        if (fold(evidence.quote or ""), evidence.document)
        != (fold(every[evidence.id].quote or ""), every[evidence.id].document)
    ]
    return list(dict.fromkeys(differing))


def gold_chunks(questions: Iterable[Question], evidence_mapping: Mapped) -> list[str]:
    """Every chunk that is relevant to a question, each once."""
    golds, _ = _golds(questions, evidence_mapping)
    return list(dict.fromkeys(chunk for gold in golds.values() for chunk, grade in gold.grades.items() if grade > 0))


def _golds(questions: Iterable[Question], evidence_mapping: Mapped) -> tuple[dict[str, Gold], list[Issue]]:
    golds: dict[str, Gold] = {}
    issues: list[Issue] = []
    for question in questions:
        try:
            golds[question.id] = gold_of(question, question.relevant, evidence_mapping)
        except ContradictionError as error:
            issues.append(Issue(code="CONTRADICTION", severity="error", message=error.detail, ids=[question.id]))
    return golds, issues


def _twice(questions: Sequence[Question]) -> Iterator[Issue]:
    counted = Counter(question.id for question in questions)
    twice = [name for name, number in counted.items() if number > 1]
    yield from _issue(
        "QUESTION_TWICE", "error", "These question ids are given more than once. Keep one of each.", twice
    )


def _texts(questions: Sequence[Question]) -> Iterator[Issue]:
    blank = [question.id for question in questions if not question.question.strip()]
    yield from _issue("BLANK_QUESTION", "error", "These questions have no text.", blank)


def _blank_expectations(questions: Sequence[Question]) -> Iterator[Issue]:
    blank = [
        question.id
        for question in questions
        if any(map(is_wordless, (*question.expected_facts, *question.reference_answers)))
    ]
    message = "These questions expect what nobody can state, as an empty text. Say what is right, or leave it out."
    yield from _issue("BLANK_EXPECTATION", "error", message, blank)


def _expectations(questions: Sequence[Question]) -> Iterator[Issue]:
    answered = [question for question in questions if question.expected_behavior == "answer"]
    without_gold = {question.id for question in answered if not question.evidence and not question.relevant}
    without_facts = {
        question.id for question in answered if not question.expected_facts and not question.reference_answers
    }
    neither = [question.id for question in answered if question.id in without_gold & without_facts]
    yield from _issue(
        "NOTHING_EXPECTED",
        "error",
        "An answer is expected, yet there is neither gold nor a fact: nothing can be measured. Say what is right, or "
        "set expected_behavior.",
        neither,
    )
    yield from _issue(
        "NO_GOLD",
        "note",
        "An answer is expected and no evidence is given: retrieval is not measured.",
        [question.id for question in answered if question.id in without_gold - without_facts],
    )
    yield from _issue(
        "NO_FACTS",
        "note",
        "An answer is expected, and neither facts nor a reference answer are given: answers cannot be judged.",
        [question.id for question in answered if question.id in without_facts - without_gold],
    )
    yield from _issue(
        "GOLD_NOT_USED",
        "note",
        "No answer is expected, yet there is gold: it is not measured.",
        [
            question.id
            for question in questions
            if question.expected_behavior != "answer" and (question.evidence or question.relevant)
        ],
    )


def _evidence(questions: Sequence[Question], evidence_mapping: Mapped) -> Iterator[Issue]:
    every = evidence_of(questions)
    yield from _issue(
        "EVIDENCE_DIFFERS",
        "error",
        "One evidence id has several quotes or documents. Give different evidence different ids.",
        differing_evidence(questions),
    )
    relevant = [
        (question.id, evidence)
        for question in questions
        if question.expected_behavior == "answer"
        for evidence in question.evidence
        if evidence.relevance > 0
    ]
    unmapped = list(dict.fromkeys(name for name, evidence in relevant if not evidence_mapping.get(evidence.id)))
    yield from _issue(
        "UNMAPPED",
        "note",
        "Evidence of these questions maps to no chunk, so that they are not measured. befund dataset map maps it by "
        "its quotes.",
        unmapped,
    )
    yield from _issue(
        "NO_QUOTE",
        "note",
        "This evidence has no quote: it cannot be found in another chunking.",
        [name for name, evidence in every.items() if not (evidence.quote or "").strip()],
    )
    yield from _issue(
        "UNKNOWN_EVIDENCE",
        "note",
        "The mapping names evidence that no question has.",
        [name for name in evidence_mapping if name not in every],
    )


def _collection(found: EvidenceMappingResponse, evidence_mapping: Mapped) -> Iterator[Issue]:
    yield from _issue(
        "CHUNKS_MISSING",
        "error",
        "These gold chunks are not in the collection. Map the evidence anew: befund dataset map.",
        found.missing_chunks,
    )
    unfit, elsewhere_too = _unfit(found, evidence_mapping)
    yield from _issue(
        "MAPPING_ELSEWHERE",
        "error",
        "This evidence is mapped to chunks that do not hold its quote, or not all of it. Map it anew: befund dataset "
        "map.",
        unfit,
    )
    yield from _issue(
        "QUOTE_ELSEWHERE_TOO",
        "note",
        "The quote of this evidence stands in further chunks, which are not known as relevant. befund dataset map "
        "finds them all; a longer quote would tell them apart.",
        elsewhere_too,
    )
    yield from _issue(
        "QUOTE_NOT_FOUND",
        "note",
        "The quote of this evidence is in no chunk of the collection"
        + (f" (some in another document: {_elsewhere(found.other_document)})." if found.other_document else "."),
        found.missing,
    )


def _unfit(found: EvidenceMappingResponse, evidence_mapping: Mapped) -> tuple[list[str], list[str]]:
    """Evidence whose mapping does not fit, and evidence that fits but stands in further chunks.

    What fits is what `evidence_mapping.fits` calls so. Where no mapped chunk is there, the chunks are what is missing.
    """
    unfit, elsewhere_too = [], []
    gone = set(found.missing_chunks)
    cut = set(found.cut)
    for name in (*found.evidence_mapping, *found.missing):
        mapped, holding = set(evidence_mapping.get(name, ())), set(found.evidence_mapping.get(name, ()))
        if not mapped or mapped <= gone:
            continue
        if not (mapped == holding if name in cut else mapped <= holding):
            unfit.append(name)
        elif mapped != holding:
            elsewhere_too.append(name)
    return unfit, elsewhere_too


def _elsewhere(documents: Mapping[str, str]) -> str:
    return ", ".join(f"{name} in {document}" for name, document in list(documents.items())[:3])


def _duplicates(questions: Sequence[Question]) -> Iterator[Issue]:
    by_id = {question.id: question for question in questions}
    pairs: dict[str, tuple[list[str], list[str]]] = {"same": ([], []), "near": ([], [])}
    for one, other, _ in near_duplicates({name: question.question for name, question in by_id.items()}):
        first, second = by_id[one], by_id[other]
        kind = "same" if fold(first.question).lower() == fold(second.question).lower() else "near"
        pairs[kind][first.split != second.split].append(f"{one} = {other}")
    yield from _issue("SAME_ACROSS_SPLITS", "error", "A question stands in two splits.", pairs["same"][True])
    yield from _issue("SAME_QUESTION", "note", "These questions are the same, word by word.", pairs["same"][False])
    yield from _issue(
        "NEAR_ACROSS_SPLITS",
        "note",
        "These questions of different splits share most of their words: what was tuned on one is tested on the other.",
        pairs["near"][True],
    )
    yield from _issue("NEAR_DUPLICATES", "note", "These questions share most of their words.", pairs["near"][False])


def _splits(
    questions: Sequence[Question], golds: Mapping[str, Gold], index: frozenset[str] | None
) -> dict[str, dict[str, int]]:
    splits: dict[str, Counter[str]] = {}
    for question in questions:
        gold = golds.get(question.id)
        reason: Exclusion | None = "ground_truth" if gold is None else exclusion_of(question, gold, index=index)
        splits.setdefault(question.split or NO_SPLIT, Counter())[reason or _ELIGIBLE] += 1
    order = [_ELIGIBLE, "behavior", "ground_truth", "mapping", "index"]
    return {split: {reason: counted[reason] for reason in order} for split, counted in sorted(splits.items())}


def _issue(code: str, severity: Severity, message: str, ids: Sequence[str]) -> Iterator[Issue]:
    if ids:
        yield Issue(code=code, severity=severity, message=message, ids=list(ids))
