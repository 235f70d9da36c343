from typing import Any

import msgspec
import pytest

from befund.contract import EvidenceMappingResponse, Question
from befund.core.dataset_check import DatasetReport, check_dataset, gold_chunks

SOUND = {
    "id": "Q1",
    "question": "How long are failed webhooks retried?",
    "expected_facts": ["72 hours"],
    "evidence": [{"id": "E1", "document": "D1", "quote": "retried for 72 hours"}],
    "split": "smoke",
}
MAPPING = {"E1": ["D1-chunk-1"]}


def check(*questions: dict[str, Any], mapping: dict[str, list[str]] = MAPPING, **found: Any) -> DatasetReport:
    collection = None
    if found:
        empty: dict[str, Any] = {"evidence_mapping": {}, "cut": [], "missing": [], "other_document": {}}
        collection = EvidenceMappingResponse(**({**empty, "missing_chunks": []} | found))
    return check_dataset([msgspec.convert(each, Question) for each in questions], mapping, collection=collection)


def issues(report: DatasetReport) -> list[tuple[str, str, list[str]]]:
    return [(issue.code, issue.severity, issue.ids) for issue in report.issues]


def test_a_sound_set_has_no_issues() -> None:
    assert issues(check(SOUND)) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"question": " "}, ("BLANK_QUESTION", "error", ["Q1"])),
        ({"expected_facts": ["..."]}, ("BLANK_EXPECTATION", "error", ["Q1"])),
        ({"reference_answers": ["\u200b"]}, ("BLANK_EXPECTATION", "error", ["Q1"])),
        ({"expected_facts": []}, ("NO_FACTS", "note", ["Q1"])),
        ({"expected_facts": [], "reference_answers": ["For 72 hours."]}, None),
        ({"expected_behavior": "no_answer"}, ("GOLD_NOT_USED", "note", ["Q1"])),
        ({"non_relevant": ["D1-chunk-1"]}, ("CONTRADICTION", "error", ["Q1"])),
        ({"relevant": ["D1-chunk-1"]}, ("CONTRADICTION", "error", ["Q1"])),
        ({"evidence": [{"id": "E1"}]}, ("NO_QUOTE", "note", ["E1"])),
        (
            {"evidence": [{"id": "E1", "relevance": 1, "quote": "q"}, {"id": "E1", "relevance": 2, "quote": "q"}]},
            ("CONTRADICTION", "error", ["Q1"]),
        ),
    ],
)
def test_what_one_question_can_be(changes: dict[str, Any], expected: tuple[str, str, list[str]] | None) -> None:
    assert issues(check(SOUND | changes)) == ([expected] if expected else [])


def test_a_question_without_gold_is_not_measured_and_without_facts_either_an_error() -> None:
    without = {"id": "Q1", "question": "How long?"}
    assert issues(check(without, mapping={})) == [("NOTHING_EXPECTED", "error", ["Q1"])]
    assert issues(check(without | {"expected_facts": ["72 hours"]}, mapping={})) == [("NO_GOLD", "note", ["Q1"])]


def test_evidence_that_maps_to_no_chunk_names_its_question() -> None:
    assert issues(check(SOUND, mapping={"E1": []})) == [("UNMAPPED", "note", ["Q1"])]


def test_evidence_that_no_question_has() -> None:
    assert issues(check(SOUND, mapping={**MAPPING, "E9": ["D9-chunk-1"]})) == [("UNKNOWN_EVIDENCE", "note", ["E9"])]


def test_an_id_that_stands_twice() -> None:
    other = SOUND | {"question": "Something else entirely?"}
    assert issues(check(SOUND, other)) == [("QUESTION_TWICE", "error", ["Q1"])]


def test_one_evidence_id_for_different_quotes() -> None:
    other = {
        "id": "Q2",
        "question": "Which scope?",
        "expected_facts": ["write"],
        "evidence": [{"id": "E1", "quote": "x"}],
    }
    assert issues(check(SOUND, other)) == [("EVIDENCE_DIFFERS", "error", ["E1"])]


@pytest.mark.parametrize(
    ("text", "split", "expected"),
    [
        ("how long  are failed webhooks retried?", "smoke", ("SAME_QUESTION", "note")),
        ("How long are failed webhooks retried?", "test", ("SAME_ACROSS_SPLITS", "error")),
        ("How long are failed webhooks repeated?", "smoke", ("NEAR_DUPLICATES", "note")),
        ("How long are failed webhooks repeated?", "test", ("NEAR_ACROSS_SPLITS", "note")),
    ],
)
def test_questions_asked_twice(text: str, split: str, expected: tuple[str, str]) -> None:
    report = check(SOUND, SOUND | {"id": "Q2", "question": text, "split": split})
    assert issues(report) == [(*expected, ["Q1 = Q2"])]


def test_errors_come_first() -> None:
    report = check(SOUND | {"expected_facts": []}, SOUND | {"id": "Q2", "question": ""})
    assert [severity for _, severity, _ in issues(report)] == ["error", "note"]


def test_what_a_collection_does_not_hold() -> None:
    report = check(SOUND, missing_chunks=["D1-chunk-1"], missing=["E1"], other_document={"E1": "D2"})
    assert issues(report) == [
        ("CHUNKS_MISSING", "error", ["D1-chunk-1"]),
        ("QUOTE_NOT_FOUND", "note", ["E1"]),
    ]
    assert "E1 in D2" in report.issues[1].message
    assert report.splits == {"smoke": {"eligible": 0, "behavior": 0, "ground_truth": 0, "mapping": 0, "index": 1}}


def test_a_mapping_that_is_not_that_of_the_collection() -> None:
    report = check(SOUND, evidence_mapping={"E1": ["D1-chunk-2"]})
    assert issues(report) == [("MAPPING_ELSEWHERE", "error", ["E1"])]
    assert issues(check(SOUND, evidence_mapping={"E1": ["D1-chunk-1"]})) == []


def test_half_of_a_quote_that_was_cut_is_no_mapping_of_it() -> None:
    report = check(SOUND, evidence_mapping={"E1": ["D1-chunk-1", "D1-chunk-2"]}, cut=["E1"])
    assert issues(report) == [("MAPPING_ELSEWHERE", "error", ["E1"])]


def test_a_quote_that_stands_in_further_chunks_is_a_note() -> None:
    report = check(SOUND, evidence_mapping={"E1": ["D1-chunk-1", "D1-chunk-2"]})
    assert issues(report) == [("QUOTE_ELSEWHERE_TOO", "note", ["E1"])]


def test_a_mapped_quote_that_is_nowhere_does_not_fit() -> None:
    assert issues(check(SOUND, missing=["E1"])) == [
        ("MAPPING_ELSEWHERE", "error", ["E1"]),
        ("QUOTE_NOT_FOUND", "note", ["E1"]),
    ]


def test_counts_by_split_behaviour_and_tag() -> None:
    report = check(
        SOUND | {"tags": ["webhooks", "webhooks", "version"]},
        {"id": "Q2", "question": "What is the weather?", "expected_behavior": "no_answer", "tags": ["version"]},
    )
    assert report.questions == 2
    assert report.splits == {
        "smoke": {"eligible": 1, "behavior": 0, "ground_truth": 0, "mapping": 0, "index": 0},
        "–": {"eligible": 0, "behavior": 1, "ground_truth": 0, "mapping": 0, "index": 0},
    }
    assert report.behaviors == {"answer": 1, "no_answer": 1}
    assert report.tags == {"version": 2, "webhooks": 1}


def test_gold_chunks_are_the_relevant_ones_each_once() -> None:
    questions = [
        msgspec.convert(each, Question)
        for each in (SOUND, SOUND | {"id": "Q2"}, {"id": "Q3", "question": "?", "relevant": {"a": 2, "b": 0}})
    ]
    assert gold_chunks(questions, MAPPING) == ["D1-chunk-1", "a"]
