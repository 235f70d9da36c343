"""`befund demo` as a process: true figures, commands that do what they say, nothing left behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from befund.contract import Estimate, RetrieveEvalResponse
from befund_client import Client, read_dataset, read_ids, read_rankings

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "data" / "demo"
SECONDS = 60
COMMAND = [sys.executable, "-W", "error", "-m", "befund", "demo"]


def environ(**more: str) -> dict[str, str]:
    """No settings, no colours, eighty columns, and this `befund` first in the path."""
    left_out = ("BEFUND_", "FORCE_COLOR", "TTY_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**kept, "COLUMNS": "80", "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}", **more}


def start(folder: Path, **more: str) -> subprocess.Popen[str]:
    """Start the demonstration as leader of a group, which its children belong to."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        COMMAND, cwd=folder, env=environ(**more), stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error, once it is sure that nobody of the group is left."""
    out, err = process.communicate(timeout=SECONDS)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return process.returncode, out, err
    pytest.fail("a child was left behind")


@pytest.fixture(scope="module")
def printed() -> str:
    # An address, a key and proxies of somebody else must not matter.
    elsewhere = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "BEFUND_URL"), "http://127.0.0.1:9")
    code, out, err = finished(start(ROOT, BEFUND_API_KEYS="ci:hunter2=read", BEFUND_LISTEN="nowhere", **elsewhere))
    assert (code, err) == (0, "")
    return out


@pytest.fixture(scope="module")
def halves(printed: str) -> list[str]:
    """What is printed of the TREC run and of the JSON run."""
    _, trec, json_run = re.split(r"^\d\. A .* run with .*$", printed, flags=re.MULTILINE)
    return [trec, json_run.partition("3. A live search")[0]]


@pytest.fixture(scope="module")
def answers(service: str) -> list[RetrieveEvalResponse]:
    """What the client gets for the same files."""
    smoke = DEMO / "smoke_run.json"
    with Client(service) as client:
        trec = client.retrieve_eval(
            read_dataset(DEMO / "teralune.qrels").value,
            read_rankings(DEMO / "teralune-bm25.run").value,
            k=[1, 3, 5, 10],
        )
        json_run = client.retrieve_eval(
            read_dataset(smoke).value,
            read_rankings(smoke).value,
            k=[3, 5],
            metrics=["hit_rate", "precision", "recall", "mrr", "ndcg"],
            index_chunk_ids=read_ids(smoke).value,
        )
    return [trec, json_run]


def figures(text: str) -> dict[str, list[str]]:
    """By name of the metric: value, interval and number of questions, as the tables show them."""
    shown: dict[str, list[str]] = {}
    cutoffs: list[str] = []
    for line, below in pairwise(text.splitlines()):
        words = line.split()
        if words and words[-1] == "n":
            cutoffs = ["" if word == "value" else word for word in words[:-1]]
        elif re.fullmatch(r"[a-z0-9_]+( +\d\.\d{3})+ +\d+", line.strip()):
            for cutoff, value, interval in zip(cutoffs, words[1:-1], below.split(), strict=True):
                shown[words[0] + cutoff] = [value, interval, words[-1]]
    return shown


def as_shown(metrics: Mapping[str, Estimate]) -> dict[str, list[str]]:
    shown = {}
    for name, estimate in metrics.items():
        assert estimate.ci is not None
        low, high = estimate.ci
        shown[name] = [f"{estimate.value:.3f}", f"{low:.3f}–{high:.3f}", str(estimate.n)]
    return shown


@pytest.mark.parametrize("half", [0, 1])
def test_every_figure_is_the_clients(halves: list[str], answers: list[RetrieveEvalResponse], half: int) -> None:
    assert figures(halves[half]) == as_shown(answers[half].metrics)


def test_the_figures_are_those_once_published(halves: list[str]) -> None:
    shown = figures(halves[1])
    assert [shown[f"hit_rate@{k}"][0] for k in (3, 5)] == ["0.692", "0.769"]


@pytest.fixture(scope="module")
def live(printed: str) -> str:
    """What is printed of the live search."""
    return printed.partition("3. A live search")[2].partition("4. Answers")[0]


def test_the_live_search_is_over_the_bundled_documents(live: str) -> None:
    assert "Ingested: 36 documents in 115 chunks; 12 other files are not read." in live
    assert "25 questions: 13 measured, 12 excluded" in live
    assert re.search(r"behavior: .* 6  Q", live)
    assert re.search(r"mapping: .* 6  Q", live)
    assert {name for name in figures(live) if name.startswith("hit_rate")} == {f"hit_rate@{k}" for k in (1, 3, 5, 10)}


def test_the_commands_of_the_live_search_print_the_same_tables(live: str, tmp_path: Path) -> None:
    commands = live.partition("The same by hand:\n\n")[2].partition("\n\n")[0]
    assert commands.startswith("befund ingest --bundled\nbefund retrieve-eval ")
    out = shell(commands, BEFUND_DATA_DIR=str(tmp_path))
    assert out[out.index("Read\n", 5) :].strip() == live[live.index("Read\n") :].strip()


def test_it_ends_with_top_3_against_top_5_and_leaves_the_page(printed: str) -> None:
    part = printed.partition("6. Top 3 against top 5")[2].partition("What next")[0]
    assert "demo at 5 against demo at 3\n  pass: 13 questions compared; of 3 gates 3 pass." in part
    rows = [" ".join(line.split()) for line in part.splitlines()]
    assert "hit_rate 0.692 0.769 +0.077 1.000 13 1 0" in rows
    assert "chunks a question 3.0 5.0 +66.7 %" in rows
    page = re.search(r"The same with plots: (\S+)", part)
    assert page is not None
    assert "demo at 5 against demo at 3" in (ROOT / page[1]).read_text()


def test_the_command_that_compares_prints_the_same_metrics(printed: str) -> None:
    part = printed.partition("6. Top 3 against top 5")[2]
    command = part.partition("without gates:\n\n")[2].partition("\n\n")[0]
    rows = [line.split()[1:] for line in part.splitlines() if line.startswith("  precision  ")]
    assert rows == [line.split()[1:] for line in shell(command).splitlines() if line.startswith("  precision  ")]
    assert len(rows) == 1


@pytest.mark.parametrize("half", [0, 1])
def test_every_question_is_accounted_for(halves: list[str], answers: list[RetrieveEvalResponse], half: int) -> None:
    counts = answers[half].questions
    excluded = counts.total - counts.eligible
    assert f"{counts.total} questions: {counts.eligible} measured, {excluded} excluded" in halves[half]
    for ids in (counts.excluded.behavior, counts.excluded.mapping):
        assert ", ".join(ids) in halves[half]


def test_the_recorded_answers_are_said_to_be_wrong_on_purpose(printed: str) -> None:
    what, _, tables = printed.partition("4. Answers")[2].partition("The same by hand")
    assert "wrong on purpose" in " ".join(what.split())
    assert re.search(r"^Wrong: \d+ answers$", tables, re.MULTILINE)


def test_it_fits_eighty_columns(printed: str) -> None:
    assert max(map(len, printed.splitlines())) <= 80
    assert "\x1b" not in printed


@pytest.mark.parametrize("half", [0, 1])
def test_the_command_it_shows_prints_the_same_tables(halves: list[str], half: int) -> None:
    command = halves[half].partition("The same by hand:\n\n")[2].partition("\n\n")[0]
    assert command.startswith("befund retrieve-eval ")
    assert shell(command).strip() == halves[half][halves[half].index("Read\n") :].strip()


@pytest.mark.skipif(shutil.which("curl") is None, reason="THE CURL COMMANDS WERE NOT TRIED: no curl here")
def test_the_curl_commands_it_shows_work(halves: list[str], answers: list[RetrieveEvalResponse], service: str) -> None:
    one, whole = (json.loads(shell(curl_in(half, service))) for half in halves)
    (question,) = one["per_question"]
    (same,) = (result for result in answers[0].per_question if result.id == question["id"])
    assert question["first_relevant_rank"] == same.first_relevant_rank
    assert question["metrics"]["precision@3"] == same.metrics["precision@3"]
    assert {name: estimate["value"] for name, estimate in whole["metrics"].items()} == {
        name: estimate.value for name, estimate in answers[1].metrics.items()
    }


def curl_in(half: str, service: str) -> str:
    found = re.search(r"`befund serve` running.*:\n\n(?P<command>.*?)\n\nRead\n", half, re.DOTALL)
    assert found is not None
    assert "http://127.0.0.1:8080/" in found["command"]
    return found["command"].replace("http://127.0.0.1:8080", service)


def shell(command: str, **more: str) -> str:
    done = subprocess.run(
        ["/bin/sh", "-euc", command], cwd=ROOT, env=environ(**more), capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_demonstration_stops_its_service(number: signal.Signals, code: int) -> None:
    process = start(ROOT)
    assert process.stdout is not None
    url = process.stdout.readline().split()[5]
    process.send_signal(number)
    assert finished(process)[::2] == (code, "")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by way of the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """The wheel as an installer unpacks it."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "lib" / "site")
    return tmp_path / "lib" / "site"


def demo_of(installed: Path) -> tuple[int, str, str]:
    return finished(start(installed.parent, PYTHONPATH=str(installed)))


def test_the_wheel_brings_its_data(installed: Path, answers: list[RetrieveEvalResponse]) -> None:
    data = installed / "befund" / "data"
    assert {path.name for path in data.iterdir()} == {"demo", "teralune"}
    code, out, err = demo_of(installed)
    assert (code, err) == (0, "")
    assert "  site/befund/data/demo/teralune.qrels (trec): 78 questions" in out
    assert figures(out) != {}


def test_missing_data_is_one_clear_line(installed: Path) -> None:
    shutil.rmtree(installed / "befund" / "data" / "demo")
    code, _, err = demo_of(installed)
    assert code == 3
    assert re.fullmatch(r"befund: demo/teralune\.qrels.* neither in .*: install Befund anew.*\n", err)


def test_broken_data_is_one_clear_line_and_ends_the_service(installed: Path) -> None:
    (installed / "befund" / "data" / "demo" / "smoke_run.json").write_text("{")
    code, out, err = demo_of(installed)
    assert code == 3
    assert "1. A TREC run" in out
    assert re.fullmatch(r"befund: site/befund/data/demo/smoke_run\.json, line 1: .*\n", err)


def test_a_service_that_does_not_start_is_one_clear_line(installed: Path) -> None:
    (installed / "befund" / "app.py").write_text("raise SystemExit('the app is broken')")
    code, _, err = demo_of(installed)
    assert (code, err) == (3, "befund: the service did not start: the app is broken\n")


def test_the_command_that_judges_prints_the_same_tables(printed: str, tmp_path: Path) -> None:
    part = printed.partition("4. Answers")[2].partition("5. Diagnoses")[0]
    command = part.partition("The same by hand:\n\n")[2].partition("\n\n")[0]
    assert command.startswith("befund judge ")
    tables = part[part.index("25 answers: 25 judged by rules, 0 failed") : part.index("Wrong: ")].strip()
    assert tables in shell(command, BEFUND_DATA_DIR=str(tmp_path))


def test_the_wrong_answers_are_diagnosed(printed: str) -> None:
    part = printed.partition("5. Diagnoses")[2].partition("6. Top 3")[0]
    assert "58 answers: 58 diagnosed, 0 failed" in part
    assert "What to do, the most frequent cause first" in part
    assert "Worst first" in part


IN_A_FINALISER = """
import os, signal, time
from befund.cli.demo import _ended_by_exception

class Finalised:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

with _ended_by_exception(signal.SIGINT):
    try:
        Finalised()
        print("dropped", flush=True)
        time.sleep(60)
    finally:
        print("cleaned up")
"""


def test_a_signal_that_falls_into_a_finaliser_is_heeded_all_the_same() -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_FINALISER], capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stdout, done.stderr) == (130, "dropped\ncleaned up\n", "")
