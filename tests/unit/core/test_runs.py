import json
import math
from typing import Any

import pytest

from befund.core.errors import ConflictError
from befund.core.runs import Identity, Tally, compared, missing_keys, refuse_other


def identity(version: str = "sha256:1", measured: Any = None, **config: Any) -> Identity:
    return Identity(version=version, config=config, measured=measured or {})


def difference(stored: Identity, sent: Identity) -> str:
    with pytest.raises(ConflictError) as caught:
        refuse_other("main", stored, sent)
    return caught.value.detail.partition(" with another ")[2].partition(". Store")[0]


def retrieval(excluded: str | None = None, **metrics: float | None) -> bytes:
    return json.dumps({"metrics": metrics, "excluded": excluded, "ranking": ["c1"]}).encode()


def test_the_same_identity_is_the_same_run() -> None:
    refuse_other("main", identity(a={"b": [1]}, c=1), identity(c=1, a={"b": [1]}))


@pytest.mark.parametrize(
    ("stored", "sent", "said"),
    [
        (identity(), identity("sha256:2"), 'dataset: "sha256:1" there, "sha256:2" here'),
        (identity(a={"b": 3}), identity(a={"b": 5}), "config.a.b: 3 there, 5 here"),
        (identity(), identity(a=None), "config.a: nothing there, null here"),
        (identity(a=1), identity(), "config.a: 1 there, nothing here"),
        (identity(a={"b": 1}), identity(a=[1]), 'config.a: {"b":1} there, [1] here'),
        (identity(measured={"level": "chunk"}), identity(measured={"level": "evidence"}), "measured.level"),
        (identity(prompt="x" * 99), identity(prompt=""), f'config.prompt: "{"x" * 59}… there, "" here'),
    ],
)
def test_what_differs_is_named(stored: Identity, sent: Identity, said: str) -> None:
    assert difference(stored, sent).startswith(said)


def test_neither_the_hash_nor_the_name_of_the_data_set_makes_another_configuration() -> None:
    config = {"fingerprint": "sha256:9", "dataset": {"name": "mine", "questions": "sha256:2"}, "chunking": "md"}
    assert compared(config) == {"dataset": {"questions": "sha256:2"}, "chunking": "md"}
    assert compared({"dataset": "mine"}) == {"dataset": "mine"}


def test_keys_that_say_nothing_are_missing() -> None:
    config = {"corpus_version": "1", "chunking": "", "retrieval": {}, "embedder": None, "judge": [], "software": 0}
    assert missing_keys(config) == [
        "chunking",
        "index_version",
        "embedder",
        "retrieval",
        "generator",
        "prompt",
        "dataset",
        "judge",
    ]


def test_a_question_without_a_metric_counts_as_unscored() -> None:
    tally = Tally()
    for found in (
        retrieval(**{"mrr@10": 1.0}),
        retrieval(**{"mrr@10": None, "recall@5": 0.5}),
        retrieval(excluded="behavior"),
        retrieval(**{"mrr@10": 0.5, "recall@5": 1.0}),
    ):
        tally.add(found)
    summary = tally.summary(4)
    assert summary.questions == 4
    seen = {name: (each.value, each.n, each.attempted, each.unscored) for name, each in summary.metrics.items()}
    assert seen == {"mrr@10": (0.75, 2, 3, 1), "recall@5": (0.75, 2, 3, 1)}


def test_a_run_without_records_has_no_figures() -> None:
    summary = Tally().summary(0)
    assert (summary.metrics, summary.correct_by_faithful) == ({}, {"tt": 0, "tf": 0, "ft": 0, "ff": 0})
    assert summary.rates["correct"].value is None


def test_metrics_that_come_late_are_unscored_before() -> None:
    tally = Tally()
    tally.add(retrieval(**{"mrr@10": 1.0}))
    tally.add(retrieval(**{"ndcg@10": 0.25}))
    metrics = tally.summary(2).metrics
    assert (metrics["mrr@10"].n, metrics["ndcg@10"].n, metrics["ndcg@10"].attempted) == (1, 1, 2)
    assert math.isclose(metrics["ndcg@10"].value or 0, 0.25)
