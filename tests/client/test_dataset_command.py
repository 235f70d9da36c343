"""`befund dataset check` and `map`, with files and with a service that is played."""

import json
from pathlib import Path
from typing import Any

import pytest

from befund.cli import main
from befund_client import read_dataset, read_mapping

from .conftest import Reply, Service, problem

ROOT = Path(__file__).resolve().parents[2]
TERALUNE = ROOT / "data" / "teralune"
QUESTION = {
    "id": "Q1",
    "question": "How long are failed webhooks retried?",
    "expected_facts": ["72 hours"],
    "evidence": [{"id": "E1", "document": "webhooks", "quote": "retried for\n72 hours"}],
}
WEBHOOKS = "# Webhooks\n\nA failed delivery is retried for 72 hours.\n\nThen it is moved."


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a data set and a folder of documents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.json").write_text(json.dumps({"name": "mine", "questions": [QUESTION]}))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "webhooks.md").write_text(WEBHOOKS)
    return tmp_path


def found(**changes: Any) -> Reply:
    empty = {"evidence_mapping": {}, "cut": [], "missing": [], "other_document": {}, "missing_chunks": []}
    return Reply(body=empty | changes)


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_the_bundled_data_set_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(TERALUNE / "questions.jsonl"), "--mapping", str(TERALUNE / "evidence_mapping.json")]
    assert main(["dataset", "check", *files]) == 0
    assert printed(capsys)[:6] == [
        "120 questions",
        "  split   questions   eligible   behavior   mapping",
        "  ─────────────────────────────────────────────────",
        "  smoke          25         13          6         6",
        "  test           95         65         16        14",
        "  expected: 98 answer, 8 no_answer, 7 clarify, 7 deny",
    ]


def test_an_error_is_exit_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "more.jsonl").write_text(json.dumps(QUESTION | {"expected_behavior": "deny"}))
    assert main(["dataset", "check", "set.json", "more.jsonl"]) == 1
    lines = printed(capsys)
    assert lines[lines.index("Errors") + 1].startswith("  QUESTION_TWICE  These question ids are given more than once.")


def test_a_file_that_cannot_be_read_is_an_error_of_the_set_and_the_others_are_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "twice.jsonl").write_text(f"{json.dumps(QUESTION)}\n{json.dumps(QUESTION)}\n")
    assert main(["dataset", "check", "twice.jsonl", "set.json", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["questions"] == 1
    assert [(issue["code"], issue["severity"]) for issue in report["issues"]] == [
        ("UNREADABLE", "error"),
        ("UNMAPPED", "note"),
    ]
    assert "twice.jsonl, line 2: question 'Q1' was already given" in report["issues"][0]["message"]


def test_a_collection_is_asked_for_gold_and_quotes(
    folder: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mapping.json").write_text('{"E1": ["webhooks-chunk-7"]}')
    service.plays(found(evidence_mapping={"E1": ["webhooks-chunk-1"]}, missing_chunks=["webhooks-chunk-7"]))
    asked = ["set.json", "--mapping", "mapping.json", "--collection", "docs", "--url", service.url]
    assert main(["dataset", "check", *asked]) == 1
    out = "\n".join(printed(capsys))
    assert "CHUNKS_MISSING" in out
    assert "MAPPING_ELSEWHERE" not in out
    assert json.loads(service.asked[0].body) == {
        "evidence": [{"id": "E1", "quote": "retried for\n72 hours", "document": "webhooks"}],
        "chunks": ["webhooks-chunk-7"],
    }


def test_evidence_is_mapped_to_documents_cut_anew(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--dataset", "set.json", "--documents", "docs", "--max-characters", "15", "--output", "mapped.json"]
    assert main(["dataset", "map", *asked]) == 0
    assert printed(capsys) == [
        "Evidence",
        "  found: 1 in 2 chunks",
        "  of these cut into several chunks: 1 (E1)",
        "The data set with its mapping is in mapped.json.",
    ]
    mapped = read_dataset("mapped.json").value
    assert mapped.evidence_mapping == {"E1": ["webhooks-chunk-3", "webhooks-chunk-4"]}
    assert (mapped.name, mapped.questions) == ("mine", read_dataset("set.json").value.questions)


def test_the_mapping_of_the_bundled_corpus_comes_out_as_it_was_published(tmp_path: Path) -> None:
    output = tmp_path / "mapping.json"
    asked = ["--dataset", str(TERALUNE / "questions.jsonl"), "--documents", str(TERALUNE / "documents")]
    assert main(["dataset", "map", *asked, "--mapping-only", "--output", str(output)]) == 0
    assert read_mapping(output).value == read_mapping(TERALUNE / "evidence_mapping.json").value


def test_a_chunk_that_holds_the_evidence_now_is_no_longer_known_as_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = QUESTION | {"non_relevant": ["webhooks-chunk-1", "other-chunk-1"]}
    (folder / "set.json").write_text(json.dumps({"questions": [question]}))
    assert main(["dataset", "map", "--dataset", "set.json", "--documents", "docs", "--output", "mapped.json"]) == 0
    assert "no longer non_relevant: Q1" in capsys.readouterr().out
    assert read_dataset("mapped.json").value.questions[0].non_relevant == ["other-chunk-1"]


def test_what_is_not_found_is_listed_and_nothing_at_all_is_exit_1(
    folder: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {"id": "Q2", "question": "?", "evidence": [{"id": "E2"}, {"id": "E3", "quote": "Ten"}]}
    (folder / "set.json").write_text(json.dumps({"questions": [QUESTION, more]}))
    service.plays(found(missing=["E1", "E3"], other_document={"E1": "faq"}))
    assert main(["dataset", "map", "--dataset", "set.json", "--collection", "docs", "--url", service.url]) == 1
    assert printed(capsys) == [
        "Evidence",
        "  found: 0 in 0 chunks",
        "  in another document: 1 (E1 in faq)",
        "  without a quote: 1 (E2)",
        "  not found: 1",
        "    Q2 E3: Ten",
        "  Quotes are compared with the Markdown source: markup counts, whitespace is",
        "  folded, case is not. Copy them from it.",
    ]


def test_a_quote_that_stands_in_many_chunks_and_an_id_with_two_quotes_are_pointed_at(
    folder: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {"id": "Q2", "question": "?", "evidence": [{"id": "E1", "quote": "hours"}]}
    (folder / "set.json").write_text(json.dumps({"questions": [QUESTION, more]}))
    service.plays(found(evidence_mapping={"E1": ["a", "b", "c", "d"]}))
    assert main(["dataset", "map", "--dataset", "set.json", "--collection", "docs", "--url", service.url]) == 0
    assert printed(capsys) == [
        "Evidence",
        "  found: 1 in 4 chunks",
        "  of these in more than 3 chunks (a longer quote would say which): 1 (E1 in 4)",
        "  one id with different quotes (the last is sought): 1 (E1)",
    ]


def test_nothing_is_written_where_nothing_was_found(
    folder: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "set.json").read_bytes()
    service.plays(found(missing=["E1"]))
    asked = ["--collection", "docs", "--url", service.url, "--output", "set.json"]
    assert main(["dataset", "map", "--dataset", "set.json", *asked]) == 1
    assert (folder / "set.json").read_bytes() == before
    assert printed(capsys)[-1] == "Nothing was found, so that set.json was not written."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--collection", "docs", "--max-characters", "5"], "go with --documents"),
        (["--documents", "docs", "--max-characters", "5", "--overlap", "5"], "overlap"),
        (["--documents", "nowhere"], "nowhere is no folder"),
        (["--documents", "docs", "--output", "nowhere/x.json"], "cannot be written"),
        (["--documents", "docs", "--output", "x.jsonl"], "x.jsonl: what is written is JSON"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_3(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["dataset", "map", "--dataset", "set.json", *arguments]) == 3
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_collection_that_does_not_exist_is_exit_3(
    folder: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.plays(Reply(404, problem(404, "There is no collection 'docs'.")))
    assert main(["dataset", "check", "set.json", "--collection", "docs", "--url", service.url]) == 3
    assert "There is no collection 'docs'." in capsys.readouterr().err
