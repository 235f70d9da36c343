import os
import subprocess
import sys
from pathlib import Path

import pytest

from befund.cli import main
from befund.core.metrics import AT_CUTOFF, WHOLE_RANKING

COMMITTED = Path(__file__).parents[2] / "clients" / "openapi.json"

WITHOUT_SERVER = """
import sys
for name in ("litestar", "uvicorn", "structlog", "prometheus_client", "numpy", "rich"):
    sys.modules[name] = None
from befund.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BEFUND_LISTEN", "BEFUND_CONFIG", "BEFUND_API_KEYS", "BEFUND_INSECURE", "BEFUND_REFERENCE"):
        monkeypatch.delenv(name, raising=False)


def without_server_extra(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_SERVER, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_help_works_without_the_server_extra() -> None:
    finished = without_server_extra("--help")
    assert finished.returncode == 0
    assert "serve" in finished.stdout


COMMANDS = ["", "retrieve-eval", "serve", "demo", "openapi", "config", "config check"]
JUDGING = ["judge", "judge calibrate", "runs show", "runs rejudge", "compare"]


@pytest.mark.parametrize("command", [*COMMANDS, *JUDGING])
def test_help_fits_into_eighty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize("command", [["serve"], ["openapi"], ["demo"]])
def test_a_missing_extra_is_one_clear_line(command: list[str]) -> None:
    finished = without_server_extra(*command)
    assert finished.returncode == 3
    assert len(finished.stderr.splitlines()) == 1
    assert "run: pip install 'befund[server]' (in a checkout '.[server]')" in finished.stderr


def test_help_imports_no_library_of_the_server() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "befund", "--help"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    imported = {line.rpartition("|")[2].strip() for line in finished.stderr.splitlines()}
    assert "befund.cli" in imported
    assert imported.isdisjoint({"litestar", "uvicorn", "structlog", "prometheus_client", "httpx", "numpy"})


def test_config_check_prints_the_settings_without_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BEFUND_API_KEYS", "ci:hunter2=evaluate")
    monkeypatch.setenv("BEFUND_DATA_DIR", "/data")
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "BEFUND_LISTEN=127.0.0.1:8080",
        "BEFUND_API_KEYS=ci:***=evaluate",
        "BEFUND_INSECURE=false",
        "BEFUND_MAX_BODY_BYTES=268435456",
        "BEFUND_BODY_TIMEOUT_SECONDS=300",
        "BEFUND_SHUTDOWN_SECONDS=25",
        "BEFUND_DATA_DIR=/data",
        "BEFUND_DATABASE_URL=",
        "BEFUND_STORE_CONTENT=full",
        "BEFUND_RETENTION_DAYS=",
        "BEFUND_MONITOR_ENTRIES=1000000",
        "BEFUND_METRICS_RUNS=main",
        "BEFUND_CHROMA_URL=",
        "BEFUND_EMBEDDER=",
        "BEFUND_EMBEDDING_URL=https://api.openai.com/v1",
        "BEFUND_EMBEDDING_KEY=",
        "BEFUND_LOG_LEVEL=info",
        "BEFUND_LOG_CONTENT=false",
        "BEFUND_LOG_QUESTIONS=summary",
        "BEFUND_JUDGE=rules",
    ]


def test_config_check_fails_on_an_unknown_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BEFUND_LISTN", "x")
    assert main(["config", "check"]) == 3
    assert "BEFUND_LISTN is not a setting" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["config", "check"], ["serve"]])
def test_an_unusable_value_is_one_line_and_exit_3(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BEFUND_LISTEN", "everywhere")
    assert main(command) == 3
    assert capsys.readouterr().err.startswith("befund: BEFUND_LISTEN: 'everywhere' cannot be used")


def test_serve_refuses_an_open_address_given_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "192.0.2.1"]) == 3
    assert "BEFUND_INSECURE=true" in capsys.readouterr().err


def test_openapi_check_tells_a_true_copy_from_a_stale_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = tmp_path / "openapi.json"
    stale.write_text("{}")
    assert main(["openapi", "--check", str(COMMITTED)]) == 0
    assert main(["openapi", "--check", str(stale)]) == 1
    assert main(["openapi", "--check", str(tmp_path / "none.json")]) == 1
    assert "befund openapi >" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "usage", "said"),
    [
        (["retrieve-eval", "--datset", "x"], "retrieve-eval", "unknown option --datset; did you mean --dataset?"),
        (["judge", "--vote=3", "--jugde", "rules"], "judge", "unknown option --jugde; did you mean --judge?"),
        (["runs", "show", "main", "--foo"], "runs show", "unknown option --foo"),
        (["runs", "show", "-x", "main"], "runs show", "unknown option -x"),
        (["--verison", "judge"], "", "unknown option --verison; did you mean --version?"),
        (["runs", "show", "main", "more"], "runs show", "one argument too many: 'more'"),
        (["runs", "show"], "runs show", "the following arguments are required: RUN"),
    ],
)
def test_a_usage_error_is_named_below_the_usage_of_its_command(
    command: list[str], usage: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(command)
    prog = f"befund {usage}".strip()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"usage: {prog} [-h]")
    assert lines[-1] == f"{prog}: {said}"


def test_what_looks_like_an_option_may_stand_behind_two_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "--", "--no-such-file"]) == 3
    assert capsys.readouterr().err == "befund: --no-such-file: cannot be read (No such file or directory)\n"


def test_the_help_names_every_metric(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["retrieve-eval", "--help"])
    listed = capsys.readouterr().out.partition("\nmetrics:\n")[2].partition("\n\n")[0]
    assert [name for name in (*AT_CUTOFF, *WHOLE_RANKING) if name not in listed] == []


def test_a_usage_error_exits_with_3_since_2_says_not_measurable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["serve", "--port", "high"])
    assert exited.value.code == 3
    assert "befund serve: argument --port: 'high' is not a port (0 to 65535)" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "befund", "config", "check"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
