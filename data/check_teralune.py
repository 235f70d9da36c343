#!/usr/bin/env python3
"""Check that the bundled corpus is what its README says, and derive its evidence mapping.

python data/check_teralune.py                    check data/teralune, exit 1 with one line per defect
python data/check_teralune.py --write-mapping    write evidence_mapping.json anew, then check
python data/check_teralune.py FOLDER             the same for a copy in another folder
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "service"))

from befund.adapters.front_matter import read_front_matter  # noqa: E402  (needs the path above)
from befund.adapters.splitter import front_matter_length, split_markdown  # noqa: E402
from befund.core.corpus import Chunk, MetadataError  # noqa: E402
from befund.core.evidence_mapping import Quoted, fold, map_evidence  # noqa: E402
from befund.core.near_duplicates import NEAR_DUPLICATE_JACCARD, jaccard, words_of  # noqa: E402

DOCUMENTS = 48
MARKDOWN_DOCUMENTS = 36
CHUNKS = 115
MAX_CHARACTERS = 700
SPLITS = {"smoke": 25, "test": 95}
# Why a question does not count for retrieval, per split; "eligible" are the rest.
ELIGIBILITY = {
    "smoke": {"eligible": 13, "behavior": 6, "ground_truth": 0, "mapping": 6},
    "test": {"eligible": 65, "behavior": 16, "ground_truth": 0, "mapping": 14},
}
FIXED = {  # question id: expected fact and a chunk that holds it
    "Q001": ("72 hours", "D003-chunk-1"),
    "Q002": ("24 hours", "D004-chunk-1"),
    "Q005": ("telemetry:write", "D008-chunk-2"),
    "Q006": ("60 minutes", "D007-chunk-2"),
}

FORMATS = {
    ".md": "markdown",
    ".html": "html",
    ".csv": "csv",
    ".json": "json",
    ".yaml": "yaml",
    ".txt": "text",
    ".pdf": "pdf",
}
VERSIONS = {"2.4", "3.0", "both"}
STATUSES = {"current", "superseded", "draft"}
ROLES = ("public", "partner", "staff")
BEHAVIORS = {"answer", "clarify", "no_answer", "deny"}
DOCUMENT_KEYS = {
    "id", "file", "format", "title", "version", "status", "valid_from", "valid_to", "roles", "supersedes",
    "superseded_by", "indexed",
}  # fmt: skip
FRONT_MATTER_KEYS = ("id", "title", "version", "status", "valid_from", "valid_to", "roles")
QUESTION_KEYS = {
    "id", "question", "expected_behavior", "expected_facts", "reference_answers", "evidence", "non_relevant", "tags",
    "critical", "role", "split", "metadata",
}  # fmt: skip
ANSWER_KEYS = {"question_id", "answer", "context", "retrieved", "kind", "human", "latency_ms", "usage"}

ANY = "any"
# kind of recorded answer: (behaviours it can follow, correct, faithful, behaved)
KINDS: dict[str, tuple[set[str], Any, Any, Any]] = {
    "right": ({"answer"}, True, True, True),
    "wrong": ({"answer"}, False, ANY, True),
    "version_confusion": ({"answer"}, False, False, True),
    "unsupported": ({"answer"}, True, False, True),
    "hallucinated_addition": ({"answer"}, True, False, True),
    "partial": ({"answer"}, False, True, True),
    "hedged": ({"answer"}, False, False, True),
    "refused": ({"answer"}, False, True, False),
    "empty": ({"answer"}, False, None, False),
    "clarified": ({"clarify"}, None, True, True),
    "declined": ({"no_answer"}, None, True, True),
    "denied": ({"deny"}, None, True, True),
    "answered_anyway": ({"clarify", "no_answer"}, None, ANY, False),
    "leaked": ({"deny"}, None, ANY, False),
}


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The files of the corpus, read but not yet trusted."""

    folder: Path
    documents: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    mapping: dict[str, list[str]]
    texts: dict[str, str]  # document id: body
    chunks: dict[str, Chunk]


class Unreadable(Exception):
    """A file of the corpus is missing or is not what its name says."""


def document_body(path: Path) -> str:
    """Return the text in which quotes are looked for: of Markdown without the front matter, of a PDF its lines."""
    if path.suffix == ".pdf":
        return pdf_text(path.read_bytes())
    text = path.read_text(encoding="utf-8")
    return text[front_matter_length(text) :] if path.suffix == ".md" else text


def pdf_text(data: bytes) -> str:
    """Read the lines of an uncompressed PDF with one `(…) Tj` a line, as the one in this corpus is."""
    lines = re.findall(r"\(((?:\\.|[^\\()])*)\) Tj", data.decode("latin-1"))
    return "\n".join(re.sub(r"\\(.)", r"\1", line) for line in lines)


def load(folder: Path) -> Corpus:
    """Read every file; raises Unreadable with the file and the line."""
    documents = _json(folder / "documents.json")
    texts: dict[str, str] = {}
    chunks: dict[str, Chunk] = {}
    for path in sorted((folder / "documents").glob("*")):
        try:
            texts[path.name[:4]] = document_body(path)
            if path.suffix == ".md":
                text = path.read_text(encoding="utf-8")
                pieces = split_markdown(text, document_id=path.name[:4], max_characters=MAX_CHARACTERS)
                chunks.update({chunk.id: chunk for chunk in pieces})
        except UnicodeDecodeError as error:
            raise Unreadable(f"{path.name}: not UTF-8 ({error.reason} at byte {error.start})") from error
    return Corpus(
        folder=folder,
        documents=documents,
        questions=_json_lines(folder / "questions.jsonl"),
        answers=_json_lines(folder / "answers.jsonl"),
        mapping=_json(folder / "evidence_mapping.json"),
        texts=texts,
        chunks=chunks,
    )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Unreadable(f"{path.name}: missing") from error
    except ValueError as error:
        raise Unreadable(f"{path.name}: not JSON ({error})") from error


def _json_lines(path: Path) -> list[dict[str, Any]]:
    records = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise Unreadable(f"{path.name}: missing") from error
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise Unreadable(f"{path.name}:{number}: not JSON ({error})") from error
    return records


def derive_mapping(corpus: Corpus) -> dict[str, list[str]]:
    """Evidence id to the chunks that hold its quote; what no chunk holds is left out."""
    quotes = {evidence["id"]: evidence for question in corpus.questions for evidence in question["evidence"]}
    quoted = [
        Quoted(id=name, quote=evidence["quote"], document=evidence["document"])
        for name, evidence in sorted(quotes.items())
    ]
    return map_evidence(quoted, corpus.chunks.values()).chunks


def check(corpus: Corpus) -> list[str]:
    """Every defect, one line each; an empty list is a sound corpus."""
    problems = [*check_documents(corpus), *check_chunks(corpus), *check_questions(corpus)]
    if problems:  # what follows builds on sound documents and questions
        return problems
    return [
        *check_quotes(corpus),
        *check_mapping(corpus),
        *check_eligibility(corpus),
        *check_splits(corpus),
        *check_answers(corpus),
    ]


def check_documents(corpus: Corpus) -> Iterator[str]:
    """Ids, files, formats, front matter and the index of all documents."""
    expected = [f"D{number:03d}" for number in range(1, DOCUMENTS + 1)]
    ids = [str(document.get("id")) for document in corpus.documents]
    if ids != expected:
        yield f"documents.json: ids are not D001 to D{DOCUMENTS:03d} in order ({_difference(ids, expected)})"
    listed = {str(document.get("file")) for document in corpus.documents}
    present = {f"documents/{path.name}" for path in (corpus.folder / "documents").glob("*")}
    yield from (f"documents.json: {name} does not exist" for name in sorted(listed - present))
    yield from (f"{name}: not listed in documents.json" for name in sorted(present - listed))
    markdown = sum(name.endswith(".md") for name in present)
    if markdown != MARKDOWN_DOCUMENTS:
        yield f"documents: {markdown} Markdown files, expected {MARKDOWN_DOCUMENTS}"
    by_id = {document.get("id"): document for document in corpus.documents}
    for document in corpus.documents:
        where = f"documents.json: {document.get('id')}"
        if set(document) != DOCUMENT_KEYS:
            yield f"{where}: keys differ ({_difference(document, DOCUMENT_KEYS)})"
            continue
        yield from (f"{where}: {problem}" for problem in _document_problems(document, by_id))
        path = corpus.folder / document["file"]
        if path.suffix == ".md" and path.exists():
            yield from (f"{path.name}: {problem}" for problem in _front_matter_problems(path, document))


def _document_problems(document: dict[str, Any], by_id: dict[Any, dict[str, Any]]) -> Iterator[str]:
    path = Path(document["file"])
    if not path.name.startswith(f"{document['id']}-"):
        yield f"file {path.name} does not begin with the id"
    if FORMATS.get(path.suffix) != document["format"]:
        yield f"format {document['format']} does not fit {path.suffix}"
    if document["indexed"] is not (path.suffix == ".md"):
        yield "indexed must be true for Markdown and false for everything else"
    if document["version"] not in VERSIONS:
        yield f"version {document['version']!r} is not one of {sorted(VERSIONS)}"
    if document["status"] not in STATUSES:
        yield f"status {document['status']!r} is not one of {sorted(STATUSES)}"
    if document["roles"] not in [list(ROLES), list(ROLES[1:]), list(ROLES[2:])]:
        yield f"roles {document['roles']} are not public, partner, staff or an end of that list"
    try:
        start = date.fromisoformat(document["valid_from"])
        if document["valid_to"] is not None and date.fromisoformat(document["valid_to"]) < start:
            yield "valid_to is before valid_from"
    except (TypeError, ValueError):
        yield "valid_from and valid_to must be dates, valid_to may be null"
    for key, back in (("supersedes", "superseded_by"), ("superseded_by", "supersedes")):
        other = document[key]
        if other is not None and by_id.get(other, {}).get(back) != document["id"]:
            yield f"{key} {other}, which does not say so in return"
    if (document["status"] == "superseded") is not (document["superseded_by"] is not None):
        yield "status superseded and superseded_by go together"


def _front_matter_problems(path: Path, document: dict[str, Any]) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    length = front_matter_length(text)
    if not length:
        yield "no front matter"
        return
    try:
        read_front_matter(text)
    except MetadataError as error:
        yield str(error)
    values: dict[str, Any] = {}
    for line in text[:length].splitlines()[1:-1]:
        key, separator, value = line.partition(": ")
        if not separator or key in values:
            yield f"front matter line {line!r} is not one `key: value`"
        values[key] = _yaml_scalar(value)
    yield from (f"front matter lacks {key}" for key in FRONT_MATTER_KEYS if key not in values)
    for key, value in values.items():
        if key not in DOCUMENT_KEYS:
            yield f"front matter has the unknown key {key}"
        elif value != document[key]:
            yield f"front matter {key} is {value!r}, documents.json says {document[key]!r}"


def _yaml_scalar(value: str) -> Any:
    """Read the few forms of YAML that the front matter uses."""
    value = value.strip()
    if value == "null":
        return None
    if value.startswith("[") and value.endswith("]"):
        return [item.strip() for item in value[1:-1].split(",")]
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def check_chunks(corpus: Corpus) -> Iterator[str]:
    """Their number, and that none is a heading alone."""
    if len(corpus.chunks) != CHUNKS:
        yield f"chunks: {len(corpus.chunks)}, expected {CHUNKS}"
    for name, chunk in corpus.chunks.items():
        if all(not line.strip() or line.startswith("#") for line in chunk.text.splitlines()):
            yield f"{name}: a heading alone"


def check_questions(corpus: Corpus) -> Iterator[str]:
    """Form and consistency of each question by itself, and of evidence that several share."""
    total = sum(SPLITS.values())
    expected = [f"Q{number:03d}" for number in range(1, total + 1)]
    ids = [str(question.get("id")) for question in corpus.questions]
    if ids != expected:
        yield f"questions.jsonl: ids are not Q001 to Q{total:03d} in order ({_difference(ids, expected)})"
    roles = {document.get("id"): document.get("roles", []) for document in corpus.documents}
    quotes: dict[str, str] = {}
    for question in corpus.questions:
        keys = QUESTION_KEYS - ({"non_relevant"} - set(question))
        if set(question) != keys:
            yield f"{question.get('id')}: keys differ ({_difference(question, keys)})"
            continue
        yield from (f"{question['id']}: {problem}" for problem in _question_problems(question, corpus, roles))
        for evidence in question["evidence"]:
            if quotes.setdefault(str(evidence.get("id")), str(evidence.get("quote"))) != evidence.get("quote"):
                yield f"{question['id']}: {evidence['id']} has another quote than in an earlier question"


def _question_problems(question: dict[str, Any], corpus: Corpus, roles: dict[Any, list[str]]) -> Iterator[str]:
    behavior = question["expected_behavior"]
    expects = bool(question["expected_facts"] or question["reference_answers"])
    if behavior not in BEHAVIORS:
        yield f"expected_behavior {behavior!r} is not one of {sorted(BEHAVIORS)}"
    elif behavior == "answer" and not (expects and question["evidence"]):
        yield "an answer is expected but facts (or reference answers) and evidence are not both there"
    elif behavior != "answer" and (expects or question["evidence"]):
        yield f"{behavior} is expected, yet there are facts, reference answers or evidence"
    if not str(question["question"]).strip():
        yield "empty question"
    if question["role"] not in ROLES:
        yield f"role {question['role']!r} is not one of {list(ROLES)}"
    if question["split"] not in SPLITS:
        yield f"split {question['split']!r} is not one of {list(SPLITS)}"
    if question["metadata"].get("language") not in {"de", "en"}:
        yield "metadata.language is neither de nor en"
    if not isinstance(question["critical"], bool) or not question["tags"]:
        yield "critical must be true or false, tags must not be empty"
    seen: set[str] = set()
    for evidence in question["evidence"]:
        if set(evidence) != {"id", "relevance", "document", "quote"}:
            yield f"evidence {evidence.get('id')}: keys differ"
            continue
        name, document = evidence["id"], evidence["document"]
        if not re.fullmatch(r"D\d{3}-E\d{2}", name) or name[:4] != document or document not in corpus.texts:
            yield f"evidence {name}: id and document {document} do not fit, or there is no such document"
        elif question["role"] not in roles.get(document, []):
            yield f"evidence {name}: role {question['role']} may not read {document}"
        if name in seen:
            yield f"evidence {name}: graded twice"
        seen.add(name)
        if evidence["relevance"] not in (1, 2, 3):
            yield f"evidence {name}: relevance {evidence['relevance']!r} is not 1, 2 or 3"
    relevant = {chunk for name in seen for chunk in corpus.mapping.get(name, [])}
    for chunk in question.get("non_relevant", []):
        if chunk not in corpus.chunks:
            yield f"non_relevant {chunk}: no such chunk"
        if chunk in relevant:
            yield f"non_relevant {chunk}: also relevant"


def check_quotes(corpus: Corpus) -> Iterator[str]:
    """Each quote stands in its document once, whitespace folded."""
    bodies = {name: fold(text) for name, text in corpus.texts.items()}
    for question in corpus.questions:
        for evidence in question["evidence"]:
            count = bodies[evidence["document"]].count(fold(evidence["quote"]))
            if count != 1 or not evidence["quote"].strip():
                where = f"{question['id']}: quote of {evidence['id']}"
                yield f"{where} stands {count} times in {evidence['document']}, not once"


def check_mapping(corpus: Corpus) -> Iterator[str]:
    """Compare the mapping with what can be found in the chunks; it is partial on purpose."""
    derived = derive_mapping(corpus)
    known = {evidence["id"] for question in corpus.questions for evidence in question["evidence"]}
    for name, chunks in sorted(corpus.mapping.items()):
        where = f"evidence_mapping.json: {name}"
        if name not in known:
            yield f"{where}: no question has this evidence"
        elif any(chunk not in corpus.chunks for chunk in chunks):
            yield f"{where}: {', '.join(chunk for chunk in chunks if chunk not in corpus.chunks)} is no chunk"
        elif name not in derived:
            yield f"{where}: mapped, though no chunk of an indexed document holds its quote"
        elif chunks != derived[name]:
            yield f"{where}: maps to {chunks}, its quote is in {derived[name]}"
    yield from (
        f"evidence_mapping.json: {name} is missing, its quote is in {derived[name]}"
        for name in sorted(set(derived) - set(corpus.mapping))
    )
    if known <= set(corpus.mapping):
        yield "evidence_mapping.json: complete, but it is meant to be partial"
    if not any(len(chunks) == 2 for chunks in corpus.mapping.values()):
        yield "evidence_mapping.json: no quote is cut in two, one is meant to be"


def check_eligibility(corpus: Corpus) -> Iterator[str]:
    """How many questions of each split count for retrieval, how many do not and why; and the fixed facts."""
    for split, expected in ELIGIBILITY.items():
        counted = Counter(_eligibility(question, corpus.mapping) for question in _of_split(corpus, split))
        for reason, number in expected.items():
            if counted[reason] != number:
                yield f"split {split}: {counted[reason]} questions {reason}, expected {number}"
    by_id = {question["id"]: question for question in corpus.questions}
    for name, (fact, chunk) in FIXED.items():
        chunks = {chunk for evidence in by_id[name]["evidence"] for chunk in corpus.mapping.get(evidence["id"], [])}
        if by_id[name]["expected_facts"] != [fact] or chunk not in chunks:
            yield f"{name}: must expect {fact!r} from {chunk}"


def _eligibility(question: dict[str, Any], mapping: dict[str, list[str]]) -> str:
    if question["expected_behavior"] != "answer":
        return "behavior"
    if not question["evidence"]:
        return "ground_truth"
    return "eligible" if all(mapping.get(evidence["id"]) for evidence in question["evidence"]) else "mapping"


def check_splits(corpus: Corpus) -> Iterator[str]:
    """Sizes, and no question of one split asked again in the other."""
    for split, expected in SPLITS.items():
        number = len(_of_split(corpus, split))
        if number != expected:
            yield f"split {split}: {number} questions, expected {expected}"
    for one, other in product(_of_split(corpus, "smoke"), _of_split(corpus, "test")):
        share = jaccard(words_of(one["question"]), words_of(other["question"]))
        if share >= NEAR_DUPLICATE_JACCARD:
            yield f"{one['id']} and {other['id']}: near-duplicates across splits (Jaccard {share:.2f})"
        elif _evidence_ids(one) & _evidence_ids(other) and one["expected_facts"] == other["expected_facts"]:
            yield f"{one['id']} and {other['id']}: same evidence and same facts across splits"


def _evidence_ids(question: dict[str, Any]) -> set[str]:
    return {evidence["id"] for evidence in question["evidence"]}


def _of_split(corpus: Corpus, split: str) -> list[dict[str, Any]]:
    return [question for question in corpus.questions if question["split"] == split]


def check_answers(corpus: Corpus) -> Iterator[str]:
    """One recorded answer a question, its context taken from the chunks, its labels possible."""
    expected = [question["id"] for question in corpus.questions]
    ids = [str(answer.get("question_id")) for answer in corpus.answers]
    if ids != expected:
        yield f"answers.jsonl: not one answer a question in their order ({_difference(ids, expected)})"
    behaviors = {question["id"]: question["expected_behavior"] for question in corpus.questions}
    for answer in corpus.answers:
        name = answer.get("question_id")
        if set(answer) != ANSWER_KEYS:
            yield f"answer {name}: keys differ ({_difference(answer, ANSWER_KEYS)})"
        elif name in behaviors:
            yield from (f"answer {name}: {problem}" for problem in _answer_problems(answer, behaviors[name], corpus))


def _answer_problems(answer: dict[str, Any], behavior: str, corpus: Corpus) -> Iterator[str]:
    retrieved, context = answer["retrieved"], answer["context"]
    if len(retrieved) > 10 or len(set(retrieved)) != len(retrieved):
        yield "retrieved must be at most ten different chunks"
    yield from (f"retrieved {chunk}: no such chunk" for chunk in retrieved if chunk not in corpus.chunks)
    for entry in context:
        chunk, text = entry["id"], entry["text"]
        if chunk not in corpus.chunks:
            yield f"context {chunk}: no such chunk"
        elif not text or not corpus.chunks[chunk].text.startswith(text):
            yield f"context {chunk}: the text is neither the chunk nor its beginning"
        if chunk not in retrieved:
            yield f"context {chunk}: not among the retrieved"
    measured = [answer["latency_ms"], answer["usage"].get("input_tokens"), answer["usage"].get("output_tokens")]
    if any(not isinstance(number, int) or number < 0 for number in measured):
        yield "latency_ms and usage must be whole numbers, not negative"
    human, kind = answer["human"], answer["kind"]
    if kind not in KINDS:
        yield f"kind {kind!r} is not one of {sorted(KINDS)}"
        return
    fitting, *labels = KINDS[kind]
    if behavior not in fitting:
        yield f"kind {kind} does not fit the expected behaviour {behavior}"
    for dimension, label in zip(("correct", "faithful", "behaved"), labels, strict=True):
        given = human.get(dimension, "missing")
        if given is not label and not (label is ANY and isinstance(given, bool)):
            yield f"human.{dimension} is {given}, kind {kind} means {label}"
    if (kind == "empty") is not (not answer["answer"].strip()):
        yield "kind empty and an empty answer go together"


def _difference(found: Iterable[str], expected: Iterable[str]) -> str:
    counted, wanted = Counter(list(found)), Counter(list(expected))
    parts = []
    if wanted - counted:
        parts.append(f"missing: {', '.join(sorted(wanted - counted))}")
    if counted - wanted:
        parts.append(f"too many: {', '.join(sorted(counted - wanted))}")
    return "; ".join(parts) or "order"


def write_mapping(corpus: Corpus) -> None:
    """Write the derived mapping, one evidence a line."""
    lines = [f"  {json.dumps(name)}: {json.dumps(chunks)}" for name, chunks in derive_mapping(corpus).items()]
    (corpus.folder / "evidence_mapping.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when the corpus is sound."""
    parser = argparse.ArgumentParser(description="Check the bundled Teralune corpus.")
    parser.add_argument("folder", nargs="?", type=Path, default=REPOSITORY / "data" / "teralune")
    parser.add_argument("--write-mapping", action="store_true", help="derive evidence_mapping.json anew first")
    options = parser.parse_args(arguments)
    try:
        if options.write_mapping:
            if not (options.folder / "evidence_mapping.json").exists():
                (options.folder / "evidence_mapping.json").write_text("{}\n", encoding="utf-8")
            write_mapping(load(options.folder))
        corpus = load(options.folder)
    except Unreadable as error:
        print(error)
        return 1
    problems = check(corpus)
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} defects in {options.folder}")
        return 1
    print(
        f"{len(corpus.documents)} documents, {len(corpus.chunks)} chunks, {len(corpus.questions)} questions, "
        f"{len(corpus.mapping)} mapped evidence ids, {len(corpus.answers)} recorded answers: sound"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
