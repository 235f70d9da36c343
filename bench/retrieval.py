"""From JSON bytes to the means of six metrics: Befund beside its peers, on the same bodies, in one run.

Each contender starts from the bytes of one /retrieve-eval request. Befund's row includes what only it does: the checks,
duplicates, findings. `whole answer` adds intervals, content hashes and the encoded response. The peers get the fastest
typed decode there is (msgspec) and are then fed in their own input form. `typed decode` is that decode alone.

    python bench/retrieval.py [--questions 1000 10000 100000] [--rounds 7]

Times are CPU time, the median over rounds in which the contenders take turns; ratios are medians of the ratios within a
round, so that a machine whose speed drifts does not spoil them. Memory is the peak beyond the body, each contender in a
process of its own.
"""

import argparse
import gc
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from befund.contract import RetrieveEvalRequest
from befund.core.retrieval.findings import findings
from befund.core.retrieval.summary import estimates
from befund.usecases.retrieve import evaluate_retrieval, measure_request

METRICS = ["hit_rate@5", "precision@5", "recall@10", "mrr@10", "ndcg@10", "map@100"]
RESULTS, JUDGED = 100, 10
Means = dict[str, float]

_TYPED = msgspec.json.Decoder(RetrieveEvalRequest)


def make_body(questions: int, *, seed: int = 1) -> bytes:
    """A request of `questions` questions, 100 results each, 10 judged chunks of grades 0 to 3, half retrieved."""
    rng = random.Random(seed)  # noqa: S311 - data for a benchmark
    listed, rankings = [], {}
    for number in range(questions):
        name = f"Q{number:06d}"
        documents = rng.sample(range(10**6), RESULTS)
        ranking = [f"D{document:06d}-chunk-{rng.randrange(30)}" for document in documents]
        gold = rng.sample(ranking, JUDGED // 2) + [f"D{rng.randrange(10**6):06d}-gold-{i}" for i in range(JUDGED // 2)]
        grades = {chunk: rng.choice([0, 1, 1, 2, 3]) for chunk in gold} | {gold[-1]: 1}
        listed.append({"id": name, "question": f"What does the manual say about part {number}?", "relevant": grades})
        rankings[name] = ranking
    request = {"dataset": {"questions": listed}, "retrieval": {"rankings": rankings}, "k": [5, 10, 100]}
    return msgspec.json.encode(request | {"metrics": METRICS, "per_question": False})


def befund(body: bytes) -> Means:
    """Checks, duplicates, findings and means, without intervals."""
    measurement = measure_request(body)
    findings(measurement.cases, measurement.request.k, generated=False, wrong_ids=False, slices=0)
    return {str(metric): float(values.mean()) for metric, values in measurement.values.items()}


def whole_answer(body: bytes) -> Means:
    """Everything the endpoint does, encoded response included."""
    response = evaluate_retrieval(body, clock=time.perf_counter)
    msgspec.json.encode(response)
    return {name: estimate.value or 0.0 for name, estimate in response.metrics.items()}


def typed_decode(body: bytes) -> Means:
    """The typed decode alone."""
    _TYPED.decode(body)
    return {}


def _decoded(body: bytes) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    request = _TYPED.decode(body)
    gold = {
        question.id: {chunk: int(grade) for chunk, grade in question.relevant.items()}
        for question in request.dataset.questions
    }
    scores = [float(RESULTS - i) for i in range(RESULTS)]
    rankings = request.retrieval.rankings
    return gold, {question: dict(zip(ranking, scores, strict=True)) for question, ranking in rankings.items()}


def pytrec_eval(body: bytes) -> Means:
    """pytrec_eval, the terrier build (its reciprocal rank has no cutoff)."""
    import pytrec_eval as peer

    gold, run = _decoded(body)
    wanted = {"success.5", "P.5", "recall.10", "recip_rank", "ndcg_cut.10", "map_cut.100"}
    rows = peer.RelevanceEvaluator(gold, wanted).evaluate(run).values()
    fields = ["success_5", "P_5", "recall_10", "recip_rank", "ndcg_cut_10", "map_cut_100"]
    return {
        name: math.fsum(row[field] for row in rows) / len(rows) for name, field in zip(METRICS, fields, strict=True)
    }


def ranx(body: bytes) -> Means:
    """ranx, from dictionaries."""
    from ranx import Qrels, Run, evaluate

    gold, run = _decoded(body)
    means = evaluate(Qrels(gold), Run(run), METRICS)
    return {name: float(means[name]) for name in METRICS}


def ir_measures(body: bytes) -> Means:
    """ir_measures, from dictionaries."""
    import ir_measures as peer
    from ir_measures import AP, RR, P, R, Success, nDCG

    gold, run = _decoded(body)
    measures = [Success @ 5, P @ 5, R @ 10, RR @ 10, nDCG @ 10, AP @ 100]
    means = peer.calc_aggregate(measures, gold, run)
    return {name: float(means[measure]) for name, measure in zip(METRICS, measures, strict=True)}


CONTENDERS: dict[str, Callable[[bytes], Means]] = {
    "befund": befund,
    "befund, whole answer": whole_answer,
    "typed decode": typed_decode,
    "pytrec_eval": pytrec_eval,
    "ranx": ranx,
    "ir_measures": ir_measures,
}


def main() -> None:
    """Run the benchmark, or (with --peak) one contender for its memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peak", nargs=2, metavar=("CONTENDER", "FILE"))
    options = parser.parse_args()
    if options.peak:
        print(peak_here(options.peak[0], Path(options.peak[1])))
        return
    console = Console()
    for questions in options.questions:
        console.print(table_of(questions, rounds=options.rounds if questions < 50_000 else min(options.rounds, 3)))
    for questions in (count for count in options.questions if count < 50_000):
        console.print(intervals_line(questions, rounds=options.rounds))


def table_of(questions: int, *, rounds: int) -> Table:
    """Contenders in turn on one body."""
    body = make_body(questions)
    check_agreement(body)
    gc.collect()
    gc.freeze()  # what the peers' imports left behind is nobody's cost
    times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name, contender in CONTENDERS.items():
            times[name].append(cpu_seconds(contender, body))
    table = Table(title=f"{questions:,} questions x {RESULTS} results x {JUDGED} judged, body {len(body) / 1e6:.1f} MB")
    for heading in ("contender", "CPU ms", "/ befund", "/ typed decode", "peak MB beyond body"):
        table.add_column(heading, justify="left" if heading == "contender" else "right")
    for name, taken in times.items():
        ratios = (ratio(taken, times[other]) for other in ("befund", "typed decode"))
        row = [f"{statistics.median(taken) * 1000:,.1f}", *(f"{value:.2f}" for value in ratios)]
        table.add_row(name, *row, f"{peak_of(name, body):,.0f}")
    return table


def check_agreement(body: bytes) -> None:
    """A benchmark of different results would say nothing."""
    expected = befund(body)
    for name, contender in CONTENDERS.items():
        for metric, value in contender(body).items():
            uncut = name == "pytrec_eval" and metric == "mrr@10"
            assert uncut or abs(value - expected[metric]) < 1e-6, (name, metric, value, expected[metric])


def intervals_line(questions: int, *, rounds: int) -> str:
    """What intervals cost beside the metrics, both from the same body."""
    body = make_body(questions)
    values = measure_request(body).values
    metrics = [cpu_seconds(befund, body) for _ in range(rounds)]
    intervals = [cpu_seconds(lambda _: estimates(values, confidence=0.95, seed=7), body) for _ in range(rounds)]
    return (
        f"{questions:,} questions: metrics {statistics.median(metrics) * 1000:.1f} ms, "
        f"their intervals {statistics.median(intervals) * 1000:.1f} ms, ratio {ratio(intervals, metrics):.2f}"
    )


def cpu_seconds(work: Callable[[bytes], object], body: bytes) -> float:
    """CPU time of one call, in seconds."""
    started = time.process_time()
    work(body)
    return time.process_time() - started


def ratio(taken: list[float], other: list[float]) -> float:
    """Median of the ratios within each round."""
    return statistics.median(a / b for a, b in zip(taken, other, strict=True))


def peak_of(contender: str, body: bytes) -> float:
    """Peak memory of one call beyond the body, in MB, in a process of its own."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        command = [sys.executable, __file__, "--peak", contender, file.name]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_here(contender: str, file: Path) -> float:
    """Peak resident memory of this process above what it held before the call, in MB (Linux)."""
    CONTENDERS[contender](make_body(10))
    body = file.read_bytes()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    CONTENDERS[contender](body)
    return (_status("VmHWM") - before) / 1024


def _status(field: str) -> int:
    """A memory figure of this process, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main()
