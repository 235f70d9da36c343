"""The checker of the bundled corpus: sound as committed, and each kind of defect is found in a broken copy."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
Record = dict[str, Any]


def load_checker() -> ModuleType:
    specification = importlib.util.spec_from_file_location("check_teralune", REPOSITORY / "data" / "check_teralune.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["check_teralune"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


checker = load_checker()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(REPOSITORY / "data" / "teralune", tmp_path / "teralune"))


def edit_lines(path: Path, name: str, change: Callable[[Record], None]) -> None:
    """Change the record with this id in a JSON Lines file."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    (found,) = [record for record in records if name in (record.get("id"), record.get("question_id"))]
    change(found)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def edit_json(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def complaints(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert checker.main([str(folder)]) == 1
    return capsys.readouterr().out


def test_the_corpus_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    assert checker.main([]) == 0
    assert capsys.readouterr().out == (
        "48 documents, 115 chunks, 120 questions, 89 mapped evidence ids, 120 recorded answers: sound\n"
    )


def test_the_committed_mapping_is_the_derived_one(folder: Path) -> None:
    before = (folder / "evidence_mapping.json").read_bytes()
    (folder / "evidence_mapping.json").unlink()
    assert checker.main([str(folder), "--write-mapping"]) == 0
    assert (folder / "evidence_mapping.json").read_bytes() == before


def test_a_quote_cut_in_two_maps_to_both_halves() -> None:
    corpus = checker.load(REPOSITORY / "data" / "teralune")
    assert checker.derive_mapping(corpus)["D032-E02"] == ["D032-chunk-2", "D032-chunk-3"]


@pytest.mark.parametrize("name", ["documents.json", "questions.jsonl", "answers.jsonl", "evidence_mapping.json"])
def test_a_missing_file(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (folder / name).unlink()
    assert complaints(folder, capsys) == f"{name}: missing\n"


def test_front_matter_that_is_not_yaml(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "documents" / "D028-webhook-batching-draft.md"
    replace(path, 'title: "Draft: batched webhook deliveries"', "title: Draft: batched webhook deliveries")
    assert "D028-webhook-batching-draft.md: the front matter is not YAML" in complaints(folder, capsys)


def test_a_line_that_is_not_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace(folder / "questions.jsonl", '{"id": "Q002"', '{"id": "Q002')
    assert "questions.jsonl:2: not JSON" in complaints(folder, capsys)


def test_a_document_that_is_not_utf_8(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "documents" / "D042-relay-changelog.txt").write_bytes(b"Relay \xff")
    assert complaints(folder, capsys) == "D042-relay-changelog.txt: not UTF-8 (invalid start byte at byte 6)\n"


def test_a_document_that_is_gone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "documents" / "D036-glossary.md").unlink()
    out = complaints(folder, capsys)
    assert "documents.json: documents/D036-glossary.md does not exist" in out
    assert "documents: 35 Markdown files, expected 36" in out


def test_a_document_that_is_not_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "documents" / "D049-new.txt").write_text("New.", encoding="utf-8")
    assert "documents/D049-new.txt: not listed in documents.json" in complaints(folder, capsys)


def test_a_document_listed_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_json(folder / "documents.json", lambda documents: documents.append(documents[0]))
    assert "(too many: D001)" in complaints(folder, capsys)


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("version", "3.1", "version '3.1' is not one of"),
        ("status", "old", "status 'old' is not one of"),
        ("roles", ["partner"], "roles ['partner'] are not"),
        ("valid_from", "March", "must be dates"),
        ("valid_to", "2020-01-01", "valid_to is before valid_from"),
        ("format", "html", "format html does not fit .md"),
        ("indexed", False, "indexed must be true for Markdown"),
        ("supersedes", "D011", "supersedes D011, which does not say so in return"),
        ("status", "superseded", "superseded and superseded_by go together"),
        ("title", "Webhooks", "front matter title is 'Webhook delivery in Orbit 3.0'"),
        ("colour", "blue", "keys differ (too many: colour)"),
    ],
)
def test_an_index_entry_that_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], key: str, value: object, complaint: str
) -> None:
    edit_json(folder / "documents.json", lambda documents: documents[2].update({key: value}))
    assert complaint in complaints(folder, capsys)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("---\nid: D003\n", "id: D003\n", "no front matter"),
        ("status: current\n", "", "front matter lacks status"),
        ("status: current\n", "status current\n", "is not one `key: value`"),
        ("status: current\n", "status: current\nowner: docs\n", "unknown key owner"),
        ("id: D003", "id: D004", "front matter id is 'D004', documents.json says 'D003'"),
    ],
)
def test_front_matter_that_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, complaint: str
) -> None:
    replace(folder / "documents" / "D003-webhook-delivery-3.0.md", old, new)
    assert complaint in complaints(folder, capsys)


def test_another_number_of_chunks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "documents" / "D036-glossary.md").open("a", encoding="utf-8") as file:
        file.write("\n## More\n\n" + "More words than fit. " * 30)
    assert "chunks: 116, expected 115" in complaints(folder, capsys)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda q: q.update(id="Q1"), "ids are not Q001 to Q120 in order (missing: Q001; too many: Q1)"),
        (lambda q: q.update(colour="blue"), "keys differ (too many: colour)"),
        (lambda q: q.update(question=" "), "empty question"),
        (lambda q: q.update(expected_behavior="guess"), "expected_behavior 'guess' is not one of"),
        (lambda q: q.update(expected_behavior="deny"), "deny is expected, yet there are facts"),
        (lambda q: q.update(expected_facts=[]), "an answer is expected but"),
        (lambda q: q.update(evidence=[]), "an answer is expected but"),
        (lambda q: q.update(role="guest"), "role 'guest' is not one of"),
        (lambda q: q.update(split="train"), "split 'train' is not one of"),
        (lambda q: q.update(metadata={}), "neither de nor en"),
        (lambda q: q.update(critical=1), "critical must be true or false"),
        (lambda q: q["evidence"][0].update(relevance=0), "relevance 0 is not 1, 2 or 3"),
        (lambda q: q["evidence"][0].update(document="D003"), "do not fit"),
        (lambda q: q["evidence"][0].update(id="D8-E1"), "do not fit"),
        (lambda q: q["evidence"][0].pop("quote"), "keys differ"),
        (lambda q: q["evidence"].append(q["evidence"][0]), "graded twice"),
        (lambda q: q.update(non_relevant=["D008-chunk-9"]), "non_relevant D008-chunk-9: no such chunk"),
        (lambda q: q.update(non_relevant=["D007-chunk-2"]), "non_relevant D007-chunk-2: also relevant"),
    ],
)
def test_a_question_that_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Record], None], complaint: str
) -> None:
    name = "Q001" if "Q001" in complaint else "Q006"
    edit_lines(folder / "questions.jsonl", name, change)
    assert complaint in complaints(folder, capsys)


def test_a_question_asked_twice_under_one_id(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_lines(folder / "questions.jsonl", "Q003", lambda q: q.update(id="Q002"))
    assert "(missing: Q003; too many: Q002)" in complaints(folder, capsys)


def test_evidence_its_reader_may_not_see(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_lines(folder / "questions.jsonl", "Q008", lambda q: q.update(role="public"))
    assert "Q008: evidence D033-E01: role public may not read D033" in complaints(folder, capsys)


def test_one_evidence_id_with_two_quotes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_lines(folder / "questions.jsonl", "Q069", lambda q: q["evidence"][0].update(quote="## Scopes"))
    assert "Q069: D008-E01 has another quote than in an earlier question" in complaints(folder, capsys)


@pytest.mark.parametrize(("quote", "count"), [("retried for 73 hours", 0), ("failed delivery", 2)])
def test_a_quote_that_is_not_once_in_its_document(
    folder: Path, capsys: pytest.CaptureFixture[str], quote: str, count: int
) -> None:
    edit_lines(folder / "questions.jsonl", "Q001", lambda q: q["evidence"][0].update(quote=quote))
    assert f"Q001: quote of D003-E01 stands {count} times in D003, not once" in complaints(folder, capsys)


def test_a_blank_quote(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_lines(folder / "questions.jsonl", "Q001", lambda q: q["evidence"][0].update(quote=" "))
    assert "Q001: quote of D003-E01 stands" in complaints(folder, capsys)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda m: m.pop("D003-E01"), "D003-E01 is missing, its quote is in ['D003-chunk-1']"),
        (lambda m: m.update({"D003-E01": ["D003-chunk-2"]}), "D003-E01: maps to ['D003-chunk-2'], its quote is in"),
        (lambda m: m.update({"D032-E02": ["D032-chunk-2"]}), "D032-E02: maps to ['D032-chunk-2'], its quote is in"),
        (lambda m: m.update({"D003-E01": ["D003-chunk-9"]}), "D003-E01: D003-chunk-9 is no chunk"),
        (lambda m: m.update({"D003-E99": ["D003-chunk-1"]}), "D003-E99: no question has this evidence"),
        (lambda m: m.update({"D038-E01": ["D003-chunk-1"]}), "D038-E01: mapped, though no chunk"),
    ],
)
def test_a_mapping_that_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Record], None], complaint: str
) -> None:
    edit_json(folder / "evidence_mapping.json", change)
    assert complaint in complaints(folder, capsys)


def test_a_mapping_that_is_complete(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    names = [evidence["id"] for question in questions for evidence in question["evidence"]]
    edit_json(folder / "evidence_mapping.json", lambda m: m.update({name: ["D001-chunk-1"] for name in names}))
    assert "complete, but it is meant to be partial" in complaints(folder, capsys)


def test_a_question_in_the_wrong_split(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_lines(folder / "questions.jsonl", "Q026", lambda q: q.update(split="smoke"))
    out = complaints(folder, capsys)
    assert "split smoke: 14 questions eligible, expected 13" in out
    assert "split smoke: 26 questions, expected 25" in out
    assert "split test: 94 questions, expected 95" in out


def test_an_exclusion_too_many(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_lines(
        folder / "questions.jsonl",
        "Q022",
        lambda q: q.update(expected_behavior="no_answer", expected_facts=[], evidence=[]),
    )
    assert "split smoke: 7 questions behavior, expected 6" in complaints(folder, capsys)


def test_a_fixed_fact_that_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_lines(folder / "questions.jsonl", "Q001", lambda q: q.update(expected_facts=["48 hours"]))
    assert "Q001: must expect '72 hours' from D003-chunk-1" in complaints(folder, capsys)


def test_a_question_asked_again_in_the_other_split(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = "How many minutes is an access token of Orbit 3.0 valid for?"
    edit_lines(folder / "questions.jsonl", "Q105", lambda q: q.update(question=again))
    assert "Q006 and Q105: near-duplicates across splits" in complaints(folder, capsys)


def test_the_same_fact_asked_for_in_other_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(question: Record) -> None:
        evidence = {"id": "D007-E01", "relevance": 3, "document": "D007"}
        evidence["quote"] = "The token is a signed JWT and is valid for 60 minutes."
        question.update(evidence=[evidence], expected_facts=["60 minutes"])

    edit_lines(folder / "questions.jsonl", "Q038", change)
    assert "Q006 and Q038: same evidence and same facts across splits" in complaints(folder, capsys)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda a: a.update(question_id="Q002"), "not one answer a question"),
        (lambda a: a.pop("usage"), "answer Q001: keys differ (missing: usage)"),
        (lambda a: a["retrieved"].append("D099-chunk-1"), "retrieved D099-chunk-1: no such chunk"),
        (lambda a: a["retrieved"].append(a["retrieved"][0]), "at most ten different chunks"),
        (lambda a: a["context"][0].update(id="D099-chunk-1"), "context D099-chunk-1: no such chunk"),
        (lambda a: a["context"][0].update(text="Made up."), "neither the chunk nor its beginning"),
        (lambda a: a["retrieved"].pop(0), "not among the retrieved"),
        (lambda a: a.update(latency_ms=-1), "must be whole numbers"),
        (lambda a: a["usage"].update(input_tokens=None), "must be whole numbers"),
        (lambda a: a.update(kind="fine"), "kind 'fine' is not one of"),
        (lambda a: a.update(kind="denied"), "kind denied does not fit the expected behaviour answer"),
        (lambda a: a["human"].update(correct=None), "human.correct is None, kind right means True"),
        (lambda a: a["human"].pop("behaved"), "human.behaved is missing, kind right means True"),
        (lambda a: a.update(answer=""), "kind empty and an empty answer go together"),
    ],
)
def test_a_recorded_answer_that_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Record], None], complaint: str
) -> None:
    edit_lines(folder / "answers.jsonl", "Q001", change)
    assert complaint in complaints(folder, capsys)


def test_an_answer_that_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "answers.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    assert "not one answer a question in their order (missing: Q120)" in complaints(folder, capsys)
