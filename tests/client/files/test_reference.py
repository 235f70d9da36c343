"""Files that other tools wrote. They are not part of this checkout; see the fixture `reference`."""

from pathlib import Path

import pytest

from befund_client import FileError, read_dataset, read_rankings

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.mark.parametrize(
    ("name", "questions", "judgements"),
    [
        ("trec_eval/qrels.test", 3, 3681),
        ("trec_eval/qrels.rel_level", 3, 3681),
        ("trec_eval/qrels.test.with-comments", 3, 3681),
        ("trec_eval/qrels-302.test", 1, 1061),
        ("ir_measures/compat.qrels", 2, 311),
        ("ir_measures/cwl.qrels", 3, 23),
        ("ranx/qrels.trec", 5505, 5541),
        ("ranx/small_qrels.json", 2, 4),
        ("ranx/test_data/qrels.json", 2, 5),
        ("ranx/test_data/qrels.trec", 2, 5),
        ("ranx/test_data/qrels.trec.gz", 2, 5),
    ],
)
def test_judgements(reference: Path, name: str, questions: int, judgements: int) -> None:
    dataset = read_dataset(reference / name).value
    assert len(dataset.questions) == questions
    assert sum(len(question.relevant) for question in dataset.questions) == judgements


@pytest.mark.parametrize(
    ("name", "questions", "retrieved"),
    [
        ("trec_eval/results.test", 3, 1500),
        ("trec_eval/results.trunc", 2, 584),
        ("trec_eval/results-302.test", 1, 500),
        ("ir_measures/compat.run", 2, 1927),
        ("ir_measures/cwl.run", 3, 30),
        ("ranx/test_data/run.json", 2, 5),
        ("ranx/test_data/run.trec", 2, 5),
        ("ranx/test_data/run.trec.gz", 2, 5),
    ],
)
def test_runs(reference: Path, name: str, questions: int, retrieved: int) -> None:
    rankings = read_rankings(reference / name).value
    assert len(rankings) == questions
    assert sum(map(len, rankings.values())) == retrieved


def test_one_run_in_three_formats_is_one_run(reference: Path) -> None:
    folder = reference / "ranx" / "test_data"
    first, second, third = (read_rankings(folder / f"run.{name}").value for name in ("json", "trec", "trec.gz"))
    assert first == second == third == {"q1": ["d3", "d2", "d1"], "q2": ["d2", "d1"]}


@pytest.mark.parametrize("name", ["run.lz4", "run.parquet"])
def test_what_is_not_read_says_what_to_convert(reference: Path, name: str) -> None:
    with pytest.raises(FileError, match=r"which is not read: (unpack|save) it"):
        read_rankings(reference / "ranx" / "test_data" / name)


def test_the_published_request_is_read_for_both() -> None:
    request = DATA / "published_tables" / "smoke_run.json"
    assert len(read_dataset(request).value.questions) == 25
    assert len(read_rankings(request).value) == 25
