import gzip
from pathlib import Path

import pytest

from befund.contract import RankingEntry
from befund_client import FileError, read_config, read_ids, read_rankings

from .conftest import Write

DUPLICATES = "rankings that list an id more than once, where the first counts and later ones gain nothing: 1 (first: "


@pytest.mark.parametrize(
    "text",
    [
        '{"Q1": ["b", "a"], "Q2": []}',
        '{"rankings": {"Q1": ["b", "a"], "Q2": []}}',
        '{"dataset": "d", "retrieval": {"rankings": {"Q1": ["b", "a"], "Q2": []}}}',
    ],
)
def test_json_keeps_the_order_given(write: Write, text: str) -> None:
    loaded = read_rankings(write("run.json", text))
    assert (loaded.format, loaded.notes) == ("json", ())
    assert loaded.value == {"Q1": ["b", "a"], "Q2": []}


def test_scores_of_entries_do_not_reorder_them(write: Write) -> None:
    text = (
        '{"Q1": [{"id": "far", "score": 0.1}, {"chunk_id": "near", "score": 0.9, "roles": ["hr"], "text": "..."}, 7]}'
    )
    loaded = read_rankings(write("run.json", text))
    assert loaded.value == {
        "Q1": [RankingEntry(id="far", score=0.1), RankingEntry(id="near", score=0.9, roles=["hr"]), "7"]
    }
    assert loaded.notes == (
        "unknown field 'text' ignored: 1 (first: Q1)",
        "ids written as numbers, read as text: 1 (first: Q1)",
    )


def test_a_map_from_id_to_score_is_sorted_by_score_then_id(write: Write) -> None:
    loaded = read_rankings(write("run.json", '{"q1": {"a": 0.5, "c": 0.5, "b": 1, "d": -2}}'))
    assert loaded.format == "ranx"
    assert loaded.value == {"q1": ["b", "c", "a", "d"]}
    assert loaded.notes == (
        "maps from id to score are sorted by score, then id, both descending",
        "questions with tied scores, ordered by id descending: 1 (first: question 'q1')",
    )


def test_a_duplicate_is_kept_and_said(write: Write) -> None:
    loaded = read_rankings(write("run.json", '{"Q1": ["a", "b", "a"]}'))
    assert loaded.value == {"Q1": ["a", "b", "a"]}
    assert loaded.notes == (DUPLICATES + "question 'Q1')",)


def test_jsonl(write: Write) -> None:
    text = '{"id": "Q1", "retrieved": ["a"]}\n{"query_id": "Q2", "ranking": [{"id": "b"}]}\n{"question_id": "Q3"}\n'
    loaded = read_rankings(write("run.jsonl", text))
    assert loaded.value == {"Q1": ["a"], "Q2": [RankingEntry(id="b")]}
    assert loaded.notes == ("questions without a ranking: 1 (first: line 3)",)


def test_the_flat_list_holds_rankings_too(write: Write) -> None:
    text = '[{"query": "How long?", "relevant": ["a"], "retrieved": ["b", "a"]}]'
    loaded = read_rankings(write("flat.json", text))
    assert loaded.value == {"How long?": ["b", "a"]}
    assert loaded.notes == ("questions without a field id, where the text stands for it: 1 (first: [0])",)


RUN = """# a comment
q1 Q0 d1 1 0.5 tag
q1 Q0 d3 2 0.5 tag more words
q1\tE2\td2\t9\t 7.25e-1\ttag
q2 Q0 d1 1 -1 tag

q2 Q0 d1 2 -2 tag
"""


@pytest.mark.parametrize("name", ["run.trec", "run.txt", "results"])
def test_a_trec_run_is_ordered_by_score_then_id(write: Write, name: str) -> None:
    loaded = read_rankings(write(name, RUN))
    assert loaded.format == "trec"
    assert loaded.value == {"q1": ["d2", "d3", "d1"], "q2": ["d1", "d1"]}
    assert loaded.notes == (
        "sorted by score, then id, both descending; the rank column is not read",
        "comment lines skipped: 1 (first: line 1)",
        "lines with text after the sixth column, which is ignored: 1 (first: line 3)",
        "questions with tied scores, ordered by id descending: 1 (first: question 'q1')",
        DUPLICATES + "question 'q2')",
    )


def test_scores_are_compared_in_double_precision(write: Write) -> None:
    run = "q1 Q0 a 1 1.00000001 t\nq1 Q0 b 2 1.00000000 t\n"
    assert read_rankings(write("run", run)).value == {"q1": ["a", "b"]}


def test_gzip_is_unpacked_whatever_the_name(write: Write) -> None:
    loaded = read_rankings(write("run.trec", gzip.compress(RUN.encode())))
    assert loaded.value["q1"] == ["d2", "d3", "d1"]


def test_csv_is_ordered_by_rank(write: Write) -> None:
    text = "question_id,chunk_id,rank\nQ1,b,2\nQ2,c,1\nQ1,a,1\nQ1,z,10\n"
    loaded = read_rankings(write("run.csv", text))
    assert (loaded.format, loaded.notes) == ("csv", ())
    assert loaded.value == {"Q1": ["a", "b", "z"], "Q2": ["c"]}


def test_csv_without_ranks_keeps_the_order_of_its_rows(write: Write) -> None:
    text = "question_id;doc_id;score;roles\nQ1;near;0.1;hr|it\nQ1;far;0.9;\n"
    loaded = read_rankings(write("run.csv", text))
    assert loaded.value == {
        "Q1": [RankingEntry(id="near", score=0.1, roles=["hr", "it"]), RankingEntry(id="far", score=0.9)]
    }
    assert loaded.notes == ("no column rank: the order of the rows is the rank order, whatever the scores",)


def test_csv_says_where_ranks_decide_nothing_and_where_nothing_came_back(write: Write) -> None:
    loaded = read_rankings(write("run.csv", "question_id,chunk_id,rank\nQ1,b,1\nQ1,a,1\nQ2,,\n"))
    assert loaded.value == {"Q1": ["b", "a"], "Q2": []}
    assert loaded.notes == (
        "rows without a chunk, read as a question that retrieved nothing: 1 (first: line 4)",
        "questions with one rank given twice, where the order of the rows decides: 1 (first: question 'Q1')",
    )


def test_csv_with_a_list_a_row(write: Write) -> None:
    loaded = read_rankings(write("run.csv", "id,question,retrieved\nQ1,Why?,b|a\n"))
    assert loaded.value == {"Q1": ["b", "a"]}


DAMAGED = [
    ("run.json", '{"Q1": [\n"a"', 2, "broken JSON"),
    ("run.json", '{"Q0": [],\n"Q1": {"a": NaN}}', 2, "NaN is not a finite number"),
    ("run.json", '{"Q0": [],\n"Q1": {"a": "0.5"}}', 2, "the score of 'a' for question 'Q1' is '0.5'"),
    ("run.json", '{"Q0": [],\n"Q1": [{"id": "a", "score": 1e999}]}', 2, "1e999 is not a finite number"),
    ("run.json", '{"Q0": [],\n"Q1": [{"id": "a", "score": 1' + "0" * 400 + "}]}", 2, "is 10.*, not a finite number"),
    ("run.json", '{"Q1": ["a"],\n"Q1": ["b"]}', 2, r"'Q1' is named twice.*lines 1 and 2"),
    ("run.json", '{"Q0": [],\n"Q1": "a"}', 2, "neither a list of ids nor a map"),
    ("run.json", '{"Q0": [],\n"Q1": [null]}', 2, "None is no id"),
    ("run.json", '{"Q0": [],\n"Q1": [{"score": 1}]}', 2, "None is no id"),
    ("run.json", '{"Q0": [],\n"Q1": [{"id": "a", "roles": "hr"}]}', 2, r"ranking of question 'Q1': Expected `array"),
    ("run.json", '{"questions": []}', 1, "is a data set"),
    ("run.json", '{"dataset": "d", "retrieval": {"collection": "c"}}', 1, "searches a collection"),
    ("run.json", "{}", None, "holds no ranking"),
    ("run.jsonl", '{"id": "Q1", "retrieved": []}\n{"id": "Q1", "retrieved": []}\n', 2, "already ranked at line 1"),
    ("run.trec", "q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 nan t\n", 2, "the score 'nan' is not a finite number"),
    ("run.trec", "q1 Q0 d1 1 inf t\n", 1, "the score 'inf'"),
    ("run.trec", "q1 Q0 d1 1 high t\n", 1, "the score 'high'"),
    ("run.trec", "q1 0 d1 1\n", 1, "these are qrels: give them as the data set"),
    ("run.json", '{"Q0": [],\n"": ["a"]}', 2, "an id of 0 characters"),
    ("run.json", '{"Q0": [],\n"' + "q" * 513 + '": ["a"]}', 2, "an id of 513 characters"),
    ("run.json", '{"Q0": [],\n"Q1": {"": 0.5}}', 2, "an id of 0 characters"),
    ("run.jsonl", '{"id": "' + "q" * 513 + '", "retrieved": []}\n', 1, "an id of 513 characters"),
    ("run.trec", "q1 Q0 d1 1 0.5 t\nq1 Q0 " + "d" * 513 + " 1 0.5 t\n", 2, "an id of 513 characters"),
    ("run.csv", "question_id,chunk_id\n" + "q" * 513 + ",a\n", 2, "an id of 513 characters"),
    ("run.csv", "question_id,rank\nQ1,1\n", 1, "no column chunk_id"),
    ("run.csv", "chunk_id,rank\na,1\n", 1, "no column id in the header, which is: chunk_id, rank \\(nor question_id"),
    ("run.jsonl", '{"retrieved": ["a"]}\n', 1, "no field id, which says what question this is"),
    ("run.json", '[{"retrieved": ["a"]}]', 1, "no field id, which says what question this is"),
    ("run.md", "# Results\n\nOne two three four five six\n", None, "format not recognised: read are json, jsonl, csv"),
    ("run.txt", "a ranking of my own\nand more of it\n", None, "format not recognised"),
    ("run.csv", "question_id,chunk_id,rank\nQ1,a,first\n", 2, "the rank 'first' is not a finite number"),
    ("run.csv", "question_id,chunk_id,score\nQ1,a,nan\n", 2, "the score 'nan'"),
    ("run.csv", "question_id,chunk_id\n,a\n", 2, "no question_id in this row"),
]


@pytest.mark.parametrize(("name", "content", "line", "reason"), DAMAGED)
def test_damage_is_named_with_file_and_line(
    write: Write, name: str, content: str, line: int | None, reason: str
) -> None:
    path = write(name, content)
    with pytest.raises(FileError, match=reason) as caught:
        read_rankings(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_folder_holds_no_rankings(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder"):
        read_rankings(tmp_path)


@pytest.mark.parametrize("text", ['["a", "b"]', '{"index_chunk_ids": ["a", "b"], "k": [1]}', "a\r\nb\n\n"])
def test_ids_of_an_index(write: Write, text: str) -> None:
    assert read_ids(write("ids", text)).value == ["a", "b"]


@pytest.mark.parametrize("text", ["[1]", '{"k": [1]}', '[""]'])
def test_what_is_no_list_of_ids(write: Write, text: str) -> None:
    with pytest.raises(FileError, match="holds no list of chunk ids"):
        read_ids(write("ids", text))


@pytest.mark.parametrize("text", ['["a",\n"{}"]', "a\n{}\n", '{{"index_chunk_ids": [\n"{}"]}}'])
def test_an_id_of_an_index_that_is_too_long(write: Write, text: str) -> None:
    with pytest.raises(FileError, match="an id of 513 characters") as caught:
        read_ids(write("ids", text.format("x" * 513)))
    assert caught.value.line == 2


def test_a_configuration_is_an_object(write: Write) -> None:
    assert read_config(write("config.json", '\ufeff{"embedder": "e5"}')) == {"embedder": "e5"}


@pytest.mark.parametrize(("text", "said"), [("[]", "is no configuration"), ('{"a": 1, "a": 2}', "named twice")])
def test_what_is_no_configuration(write: Write, text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        read_config(write("config.json", text))
