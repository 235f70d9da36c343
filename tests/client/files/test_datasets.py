import csv
import gzip
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from befund.contract import Dataset
from befund_client import FileError, read_dataset
from befund_client._files.source import open_source

from .conftest import Write

QUESTIONS = '{"questions": [{"id": "Q1", "question": "Why?", "relevant": {"a": 2}, "tags": ["x"]}]}'


def gold(dataset: Dataset) -> dict[str, dict[str, float] | list[str]]:
    return {question.id: question.relevant for question in dataset.questions}


def test_a_data_set_in_json(write: Write) -> None:
    loaded = read_dataset(write("set.json", QUESTIONS))
    assert (loaded.format, loaded.notes) == ("json", ())
    assert gold(loaded.value) == {"Q1": {"a": 2.0}}
    assert loaded.value.questions[0].tags == ["x"]


def test_a_whole_request_holds_a_data_set(write: Write) -> None:
    request = f'{{"dataset": {QUESTIONS}, "retrieval": {{"rankings": {{"Q1": ["a"]}}}}, "k": [1], '
    request += '"index_chunk_ids": ["a"], "note": "mine"}'
    loaded = read_dataset(write("request.json", request))
    assert gold(loaded.value) == {"Q1": {"a": 2.0}}
    assert loaded.notes == ("options in the file are not read: k", "unknown fields ignored: note")


def test_a_request_that_names_its_data_set_says_so(write: Write) -> None:
    with pytest.raises(FileError, match="names the data set 'teralune' instead of holding it"):
        read_dataset(write("request.json", '{"dataset": "teralune", "retrieval": {}}'))


def test_evidence_and_mapping_are_kept(write: Write) -> None:
    text = """{"name": "mine", "evidence_mapping": {"E1": ["c1", "c2"]}, "questions": [
        {"id": "Q1", "question": "?", "evidence": [{"id": "E1", "quote": "72 hours", "page": 4}]}]}"""
    loaded = read_dataset(write("set.json", text))
    assert loaded.value.evidence_mapping == {"E1": ["c1", "c2"]}
    assert loaded.value.questions[0].evidence[0].quote == "72 hours"
    assert loaded.notes == ("unknown field 'page' ignored: 1 (first: questions[0])",)


def test_jsonl_with_one_question_a_line(write: Write) -> None:
    text = '{"id": "Q1", "question": "A?", "relevant": ["a"]}\n\n{"query_id": 2, "query": "B?", "relevant": {"b": 1}}\n'
    loaded = read_dataset(write("set.jsonl", text))
    assert loaded.format == "jsonl"
    assert gold(loaded.value) == {"Q1": ["a"], "2": {"b": 1.0}}
    assert [question.question for question in loaded.value.questions] == ["A?", "B?"]
    assert loaded.notes == ("ids written as numbers, read as text: 1 (first: line 3)",)


def test_jsonl_is_told_by_content(write: Write) -> None:
    text = '{"id": "Q1", "question": "A?"}\n{"id": "Q2", "question": "B?"}\n'
    assert read_dataset(write("set.txt", text)).format == "jsonl"


def test_the_flat_list(write: Write) -> None:
    text = """[{"query": "How long?", "relevant": ["a", "a"], "non_relevant": ["z"], "retrieved": ["a"]},
               {"id": "Q2", "question": "Who?", "relevant": []}]"""
    loaded = read_dataset(write("flat.json", text))
    assert loaded.format == "flat"
    assert gold(loaded.value) == {"How long?": ["a"], "Q2": []}
    assert loaded.value.questions[0].non_relevant == ["z"]
    assert loaded.notes == (
        "questions without a field id, where the text stands for it: 1 (first: [0])",
        "gold ids listed twice for one question, kept once: 1 (first: [0])",
    )


def test_ranx_qrels(write: Write) -> None:
    loaded = read_dataset(write("qrels.json", '{"q1": {"d1": 1, "d2": 0}}'))
    assert loaded.format == "ranx"
    assert gold(loaded.value) == {"q1": {"d1": 1.0, "d2": 0.0}}
    assert loaded.notes == ("questions without a text, where the id stands for it: 1 (first: question 'q1')",)


def test_a_question_called_questions_is_read_when_the_format_is_forced(write: Write) -> None:
    path = write("qrels.json", '{"questions": {"d1": 1}}')
    assert gold(read_dataset(path, format="ranx").value) == {"questions": {"d1": 1.0}}


def test_fractions_for_grades_are_pointed_out(write: Write) -> None:
    loaded = read_dataset(write("run.json", '{"q1": {"d1": 0.25}}'))
    assert "some grades are not whole numbers: make sure that this is not a run" in loaded.notes


def test_trec_qrels(write: Write) -> None:
    loaded = read_dataset(write("my.qrels", "# made by hand\nq1 0 d1 1\nq1\t00\tCR#2  -1\nq2 Q0 d1 2\nq1 0 d1 1\n"))
    assert loaded.format == "trec"
    assert gold(loaded.value) == {"q1": {"d1": 1.0, "CR#2": -1.0}, "q2": {"d1": 2.0}}
    assert loaded.notes == (
        "comment lines skipped: 1 (first: line 1)",
        "judgements given twice, kept once: 1 (first: line 5)",
        "questions without a text, where the id stands for it: 2 (first: question 'q1')",
    )


def test_only_ascii_blanks_split_trec_columns(write: Write) -> None:
    loaded = read_dataset(write("qrels", "q1 0 d\u00a01\u2028x 1"))
    assert gold(loaded.value) == {"q1": {"d\u00a01\u2028x": 1.0}}


@pytest.mark.parametrize(
    "texts", ['{"_id": "q1", "text": "Why?"}\n{"_id": "q9", "text": "-"}', "q1\tWhy?\r\nq9\t-\r\n"]
)
def test_qrels_get_their_texts_from_a_file_of_queries(write: Write, texts: str) -> None:
    loaded = read_dataset(write("qrels", "q1 0 d1 1\nq2 0 d1 1\n"), queries=write("queries", texts))
    assert [question.question for question in loaded.value.questions] == ["Why?", "q2"]
    assert loaded.notes == (
        "questions without a text, where the id stands for it: 1",
        "questions without a judgement left out: 1",
    )


BEIR_QUERIES = '{"_id": "q1", "text": "Why?", "metadata": {}}\n{"_id": "q2", "text": "Who?"}\n'


def test_a_beir_folder(write: Write) -> None:
    folder = write("set/queries.jsonl", BEIR_QUERIES).parent
    write("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    write("set/qrels/train.tsv", "query-id\tcorpus-id\tscore\nq2\td2\t1\n")
    loaded = read_dataset(folder)
    assert loaded.format == "beir"
    assert [(q.id, q.question, q.split) for q in loaded.value.questions] == [("q1", "Why?", "test")]
    assert loaded.notes == ("judgements from qrels/test.tsv", "questions without a judgement left out: 1")
    assert gold(read_dataset(folder, split="train").value) == {"q2": {"d2": 1.0}}
    with pytest.raises(FileError, match=r"holds no dev\.tsv, only test, train"):
        read_dataset(folder, split="dev")


def test_beir_qrels_alone(write: Write) -> None:
    loaded = read_dataset(write("test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n"))
    assert (loaded.format, gold(loaded.value)) == ("beir", {"q1": {"d1": 1.0}})


def test_what_does_not_fit_a_folder_is_refused(write: Write) -> None:
    queries = write("set/queries.jsonl", BEIR_QUERIES)
    with pytest.raises(FileError, match="is a folder, which can be read as BEIR alone"):
        read_dataset(queries.parent, format="csv")
    with pytest.raises(FileError, match=r"is a folder, which brings its queries\.jsonl"):
        read_dataset(queries.parent, queries=queries)


def test_a_folder_that_is_no_beir_folder(write: Write) -> None:
    with pytest.raises(FileError, match=r"without queries\.jsonl"):
        read_dataset(write("set/other.txt", "x").parent)


CSV = """id,question,relevant,non_relevant,tags,critical,owner
Q1,"How, and
why?",a|b,z,"[""x|y""]",yes,me
,,,,,,
Q2,Who?,"{""a"": 2}",,,,
"""


def test_csv(write: Write) -> None:
    loaded = read_dataset(write("set.csv", CSV))
    first, second = loaded.value.questions
    assert (first.question, first.relevant, first.non_relevant) == ("How, and\nwhy?", ["a", "b"], ["z"])
    assert (first.tags, first.critical) == (["x|y"], True)
    assert (second.relevant, second.tags, second.critical) == ({"a": 2.0}, (), False)
    assert loaded.notes == (
        "unknown field 'owner' ignored: 1 (first: line 2)",
        "empty rows skipped: 1 (first: line 4)",
    )


@pytest.mark.parametrize("separator", [";", "\t"])
def test_csv_as_other_countries_write_it(write: Write, separator: str) -> None:
    text = "\ufeffID;Question;Relevant\r\nQ1;Wie lange, und warum?;a|b\r\n".replace(";", separator)
    loaded = read_dataset(write("set.txt", text))
    assert (loaded.format, gold(loaded.value)) == ("csv", {"Q1": ["a", "b"]})


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(write: Write) -> None:
    text = '\ufeff{"id": "Q1", "question": "A?"}\r\n{"id": "Q2", "question": "B?"}\r\n'
    assert list(gold(read_dataset(write("set.jsonl", text)).value)) == ["Q1", "Q2"]


def test_what_is_read_can_be_sent(write: Write) -> None:
    loaded = read_dataset(write("set.csv", CSV))
    assert msgspec.json.decode(msgspec.json.encode(loaded.value), type=Dataset) == loaded.value


def test_an_unknown_format_is_a_value_error(write: Write) -> None:
    with pytest.raises(ValueError, match="no format 'xml'; there are json, jsonl"):
        read_dataset(write("set.json", QUESTIONS), format="xml")  # type: ignore[arg-type]


DAMAGED = [
    ("set.json", '{"questions": [\n{"id": "Q1"\n"x"]}', 3, "broken JSON: Expecting ',' delimiter"),
    ("set.json", '{"questions": [\n{"id": "Q1", "question": "?", "relevant": {"a": NaN}}]}', 2, "NaN is not a finite"),
    (
        "set.json",
        '{"questions": [\n{"id": "Q1", "relevant":\n {"a": "2"}}]}',
        2,
        "the grade of 'a' is '2', not a finite",
    ),
    ("set.json", '{"questions": [\n{"id": "Q1", "relevant": {"a": true}}]}', 2, "the grade of 'a' is True"),
    ("set.json", '{"questions": [\n{"id": "Q1", "relevant": {"a": 1e999}}]}', 2, "1e999 is not a finite number"),
    ("set.json", '{"questions": [\n{"id": "Q1", "metadata": {"a": [-1.5E+400]}}]}', 2, r"-1.5E\+400 is not a finite"),
    ("set.json", '{"questions": [\n{"id": "Q1", "relevant": {"a": 1' + "0" * 400 + "}}]}", 2, "the grade of 'a' is 10"),
    ("set.json", '{"questions": [{"relevant": {"a": 1,\n\n"a": 2}}]}', 3, r"'a' is named twice.*lines 1 and 3"),
    ("set.json", '{"questions": [\n{"id": "Q1"},\n\n{"id": "Q1"}]}', 4, "question 'Q1' was already given at line 2"),
    ("set.json", '{"questions": [\n{"id": "", "question": "?"}]}', 2, "'' is no id"),
    ("set.json", '{"questions": [\n{"id": "Q1", "relevant": [null]}]}', 2, "None is no id"),
    ("set.json", '{"questions": [\n{"id": "Q1", "tags": "x"}]}', 2, r"question 'Q1': Expected `array`.*\$\.tags"),
    ("set.json", '{"questions": [\n{}]}', 2, "no field id, which says what question this is"),
    ("set.json", '{"questions": [\n"Q1"]}', 2, "is no question"),
    ("set.json", '{"questions": []}', None, "holds no question"),
    ("set.json", '{"Q1": ["a"]}', None, "looks like rankings"),
    ("set.json", '"text"', None, "is no data set"),
    ("set.json", "id,question", 1, "broken JSON"),
    ("set.json", "[" * 100_000, 1, "nested too deeply"),
    ("set.json", '{"questions": [{"id": "\\ud800"}]}', 1, "surrogate"),
    (
        "set.json",
        '{"questions": [\n{"id": "Q1", "evidence": [{"id": "E", "relevance": 1}, {"id": "E", "relevance": 2}]}]}',
        2,
        "evidence 'E' has two grades, 1 and 2",
    ),
    ("set.jsonl", '{"id": "Q1"}\n{"id": }\n', 2, "broken JSON"),
    ("set.jsonl", '{"id": "Q1"}\n[1]\n', 2, "is no JSON object"),
    ("set.jsonl", '{"id": "Q1"}\n{"id": "Q2"}\n{"id": "Q1"}\n', 3, "already given at line 1"),
    ("qrels", "q1 0 d1 1\nq1 0 d1 2\n", 2, "'d1' has two grades for question 'q1', 1 at line 1 and 2 at line 2"),
    ("qrels", "q1 0 d1 1\nq1 0 d2 high\n", 2, "the grade 'high' is not a finite number"),
    ("qrels", "q1 0 d1 nan\n", 1, "the grade 'nan'"),
    ("qrels", "q1 0 d1 1_0\n", 1, "the grade '1_0'"),
    ("qrels", "q1 0 d1\n", 1, "3 columns where qrels have 4"),
    ("qrels", "q1 Q0 d1 1 0.5 tag\n", 1, "this is a run: give it as rankings"),
    ("qrels", "q1 0 " + "d" * 513 + " 1\n", 1, "length <= 512"),
    ("qrels", "# nothing\n", None, "holds no judgement"),
    ("set.csv", "id,question\nQ1,a,b\n", 2, "3 cells where the header has 2"),
    ("set.csv", 'id,question\nQ1,a\nQ2,"b\n', 3, "broken CSV"),
    ("set.csv", "name,value\nQ1,a\n", 1, "no column id in the header, which is: name, value"),
    (
        "set.md",
        "# Questions\n\nHow long are they kept?\n",
        None,
        "format not recognised: read are json, jsonl, csv, trec",
    ),
    (
        "set.json",
        '{"questions": [\n{"id": "Q1", "question": "?", "expected_behavior": "refuse"}]}',
        2,
        r"Invalid enum value 'refuse' \(allowed: 'answer', 'clarify', 'deny', 'no_answer'\)",
    ),
    ("set.csv", "id,id\nQ1,a\n", 1, "the column 'id' is there twice"),
    ("set.csv", "id,critical\nQ1,perhaps\n", 2, "critical is 'perhaps': write true or false"),
    ("set.csv", 'id,relevant\nQ1,"{""a"": ""x""}"\n', 2, "the grade of 'a' is 'x'"),
    ("set.csv", "id,relevant\nQ1,[a]\n", 2, "broken JSON"),
    ("set.json", b"", None, "is empty"),
    ("set.json", b"\xef\xbb\xbf \n", None, "is empty"),
    ("set.csv", b"id,question\nQ1,gr\xfc\xdf\n", 2, "byte 0xfc is not UTF-8"),
    ("set.csv", "id".encode("utf-16"), None, "UTF-16"),
    ("set.csv", "id,question\nQ1,a".encode("utf-16-le"), 1, "NUL byte.*save it as UTF-8"),
    ("qrels", b"q1 0 d1 1\nq1 0 d\x002 1\n", 2, "NUL byte"),
    ("set.json.gz", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), None, "gzipped twice"),
    ("set.json.gz", gzip.compress(b"{}", mtime=0)[:-9], None, "damaged gzip"),
    ("set.json.gz", gzip.compress(b"{}", mtime=0) + b"more", None, "damaged gzip"),
    ("set.json.gz", gzip.compress(b"", mtime=0), None, "is empty"),
    ("set.json.xz", b"\xfd7zXZ\x00...", None, "xz.*unpack it"),
    ("qrels.gz", b"\x1f\x8b\x08\x00broken", None, "damaged gzip"),
    ("run.lz4", b"\x04\x22\x4d\x18....", None, "lz4.*unpack it"),
    ("run.parquet", b"PAR1....", None, "Parquet file.*save it as JSON or CSV"),
    ("set.xlsx", b"PK\x03\x04....", None, "spreadsheet.*as CSV"),
]


@pytest.mark.parametrize(("name", "content", "line", "reason"), DAMAGED)
def test_damage_is_named_with_file_and_line(
    write: Write, name: str, content: str | bytes, line: int | None, reason: str
) -> None:
    path = write(name, content)
    with pytest.raises(FileError, match=reason) as caught:
        read_dataset(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(write: Write) -> None:
    path = write("there", "x").with_name("gone.json")
    with pytest.raises(FileError, match="No such file") as caught:
        read_dataset(path)
    assert caught.value.line is None


def test_a_gzip_file_that_unpacks_without_end_is_refused(write: Write) -> None:
    path = write("bomb.json.gz", gzip.compress(b" " * 3_000_000, mtime=0))
    with pytest.raises(FileError, match=r"more than 1,000,000 bytes unpacked, which is the limit") as caught:
        open_source(path, largest=1_000_000)
    assert caught.value.path == str(path)


def test_a_device_that_never_ends_is_refused() -> None:
    with pytest.raises(FileError, match=r"^/dev/zero: holds more than 1,000 bytes, which is the limit"):
        open_source("/dev/zero", largest=1000)


def test_a_file_of_just_the_limit_is_read(write: Write) -> None:
    text = b'{"Q1": []}'
    assert open_source(write("set.json", text), largest=10).data == text
    assert open_source(write("set.json.gz", gzip.compress(text, mtime=0)), largest=10).data == text


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(pipe.write_bytes, gzip.compress(QUESTIONS.encode()))
        assert list(gold(read_dataset(pipe).value)) == ["Q1"]
        writing.result()


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_path_that_cannot_be_one_is_a_file_error(name: str) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        read_dataset(name)


@pytest.mark.parametrize("limit", [10, 131_072])
def test_a_long_cell_is_read_and_the_limit_of_the_process_stays(write: Write, limit: int) -> None:
    ids = [f"chunk-{number}" for number in range(30_000)]
    before = csv.field_size_limit(limit)
    try:
        loaded = read_dataset(write("set.csv", f"id,question,relevant\nQ1,?,{'|'.join(ids)}\n"))
        assert csv.field_size_limit() == limit
    finally:
        csv.field_size_limit(before)
    assert gold(loaded.value) == {"Q1": ids}


def test_what_is_wrong_first_is_said_first(write: Write) -> None:
    with pytest.raises(FileError, match="3 cells") as caught:
        read_dataset(write("set.csv", 'id,question\nQ1,a,b\nQ2,"b\n'))
    assert caught.value.line == 2


def test_carriage_returns_alone_end_the_rows_of_a_csv_too(write: Write) -> None:
    assert list(gold(read_dataset(write("set.csv", "id,question\rQ1,a\rQ2,b\r")).value)) == ["Q1", "Q2"]


def test_notes_are_bounded(write: Write) -> None:
    fields = ", ".join(f'"field{n}": 1' for n in range(100))
    loaded = read_dataset(write("set.jsonl", f'{{"id": "Q1", "question": "?", {fields}}}'))
    assert len(loaded.notes) == 41
    assert loaded.notes[-1] == "and 60 more notes"
