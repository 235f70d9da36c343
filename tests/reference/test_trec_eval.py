"""Every figure in the expected outputs of trec_eval's own tests, for the measures we have."""

from pathlib import Path

import pytest

from .measures import Figures, judgements, mean, measured, metric_of, run

ROUNDING = 5.01e-5
"""trec_eval prints four decimals."""


def figures_of(path: Path) -> Figures:
    """Measures by topic (or `all`), from lines of measure, topic and value."""
    rows: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        measure, topic, value = (part.strip() for part in line.split("\t"))
        if metric_of(measure):
            rows.setdefault(topic, {})[measure] = float(value)
    return rows


@pytest.mark.parametrize(
    ("name", "qrels", "results", "level", "depth", "count"),
    [
        pytest.param("out.test", "qrels.test", "results.test", 1, None, 13, id="standard"),
        pytest.param("out.test.a", "qrels.test", "results.test", 1, None, 44, id="all-measures"),
        pytest.param("out.test.aq", "qrels.test", "results.test", 1, None, 176, id="every-topic"),
        pytest.param("out.test.aqc", "qrels.test", "results.trunc", 1, None, 176, id="a-topic-missing-from-the-run"),
        pytest.param("out.test.aqcM", "qrels.test", "results.trunc", 1, 100, 176, id="depth-100"),
        pytest.param("out.test.aql", "qrels.rel_level", "results.test", 2, None, 176, id="relevance-level-2"),
        pytest.param("out.test.meas_params", "qrels.test", "results.test", 1, None, 44, id="odd-cutoffs"),
    ],
)
def test_every_figure(
    reference: Path, name: str, qrels: str, results: str, level: float, depth: int | None, count: int
) -> None:
    folder = reference / "trec_eval"
    grades = judgements(folder / qrels)
    runs = {topic: ranking[:depth] for topic, ranking in run(folder / results).items()}
    expected = {
        (topic, measure): value for topic, row in figures_of(folder / name).items() for measure, value in row.items()
    }
    metrics = {measure: metric_of(measure) for _, measure in expected}
    ours = measured(grades, runs, list(metrics.values()), relevance_level=level)
    got = {
        (topic, measure): mean(ours[metrics[measure]]) if topic == "all" else ours[metrics[measure]][topic]
        for topic, measure in expected
    }
    assert len(expected) == count
    assert got == pytest.approx(expected, abs=ROUNDING)
