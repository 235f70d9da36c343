"""The jobs of docs/ci.md, step by step: on main, on a pull request that is as good, and on one that is not."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from befund.cli.compare import gates_template

DOCUMENT = (Path(__file__).parents[2] / "docs" / "ci.md").read_text()
GITHUB, GITLAB = (yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", DOCUMENT, re.M | re.S))
NOT_HERE = {"Install", "Comment"}
"""Steps that need a package index, or GitHub."""
SECONDS = 180
QUESTIONS = [{"id": f"Q{i}", "question": f"Number {i}?", "relevant": ["gold"]} for i in range(20)]


class Job:
    """A checkout in which steps are run, as a runner does: each in a shell that ends at the first error."""

    def __init__(self, folder: Path, environ: dict[str, str], hits: int) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "eval").mkdir(exist_ok=True)
        self.folder = folder
        self._groups: list[int] = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("BEFUND_", "CI_"))}
        path = f"{Path(sys.executable).parent}:{kept['PATH']}"
        here = {"BEFUND_URL": f"http://127.0.0.1:{port}", "BEFUND_LISTEN": f"127.0.0.1:{port}"}
        self._environ = {**kept, **environ, **here, "PATH": path}
        (folder / "eval" / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
        (folder / "eval" / "gates.toml").write_text(gates_template())
        rankings = {f"Q{i}": ["gold" if i < hits else "x", "a", "b", "c", "d"] for i in range(20)}
        (folder / "search.py").write_text(f"import json\nprint(json.dumps({rankings!r}))\n")

    def step(self, shell: str) -> int:
        """Run one step; what it leaves in the background goes on."""
        command = ["/bin/bash", "-eo", "pipefail", "-c", shell]
        with (self.folder / "steps.log").open("a") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self._environ, stdout=log, stderr=log, start_new_session=True
            )
        self._groups.append(process.pid)
        return process.wait(timeout=SECONDS)

    def steps(self, *shells: str) -> int:
        """Run steps until one fails; the code of the last."""
        return next((code for shell in shells if (code := self.step(shell))), 0)

    def end(self) -> None:
        """End what steps left in the background."""
        for group in self._groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


NewJob = Callable[..., Job]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[NewJob]:
    """Makes jobs, each in a folder of its own, and ends them."""
    made: list[Job] = []

    def make(name: str, *, hits: int, **environ: str) -> Job:
        made.append(Job(tmp_path / name, environ, hits))
        return made[-1]

    yield make
    for each in made:
        each.end()


def github_steps(*, pull_request: bool) -> list[str]:
    """What a runner would run of the job, in order."""
    event = "github.event_name == 'pull_request'" if pull_request else "github.ref == 'refs/heads/main'"
    steps: list[dict[str, Any]] = GITHUB["jobs"]["befund"]["steps"]
    return [
        step["run"]
        for step in steps
        if "run" in step and step.get("name") not in NOT_HERE and step.get("if", event) == event
    ]


def test_befund_is_installed_from_a_checkout_since_no_index_has_it() -> None:
    github = next(step["run"] for step in GITHUB["jobs"]["befund"]["steps"] if step.get("name") == "Install")
    for script in (github.splitlines(), GITLAB["befund"]["before_script"]):
        assert script == [
            'git clone --depth 1 "$GIT_OF_BEFUND" befund-checkout',
            "pip install './befund-checkout[server]'",
        ]


class TestGitHub:
    @pytest.fixture
    def baseline(self, job: NewJob) -> bytes:
        """What the job on main keeps."""
        main = job("main", hits=20, **GITHUB["jobs"]["befund"]["env"])
        code = main.steps(*github_steps(pull_request=False))
        assert code == 0, (main.folder / "steps.log").read_text()
        return (main.folder / "baseline.befund.ndjson").read_bytes()

    @pytest.mark.parametrize(("hits", "code"), [(20, 0), (18, 1)])
    def test_a_pull_request(self, job: NewJob, baseline: bytes, hits: int, code: int) -> None:
        pull = job("pull", hits=hits, **GITHUB["jobs"]["befund"]["env"])
        (pull.folder / "baseline.befund.ndjson").write_bytes(baseline)
        assert pull.steps(*github_steps(pull_request=True)) == code, (pull.folder / "steps.log").read_text()
        said = {0: "pass", 1: "fail"}[code]
        assert f"Befund: {said}, candidate against main" in (pull.folder / "comment.md").read_text()
        suite = ElementTree.parse(pull.folder / "befund.xml").getroot()[0]  # noqa: S314 - our own
        assert (suite.get("tests"), suite.get("failures")) == ("2", str(code))
        assert (pull.folder / "befund.html").stat().st_size > 10_000

    def test_a_pull_request_without_a_baseline_stops(self, job: NewJob) -> None:
        pull = job("pull", hits=20, **GITHUB["jobs"]["befund"]["env"])
        assert pull.steps(*github_steps(pull_request=True)) == 3


class Artifacts(HTTPServer):
    """GitLab's artifacts: one file, whatever is asked for."""

    content = b""
    asked = ""


class _Handler(BaseHTTPRequestHandler):
    server: Artifacts

    def do_GET(self) -> None:
        self.server.asked = self.path
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def artifacts() -> Iterator[Artifacts]:
    with Artifacts(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("hits", "code"), [(20, 0), (18, 1)])
def test_gitlab(job: NewJob, artifacts: Artifacts, hits: int, code: int) -> None:
    script = "\n".join(GITLAB["befund"]["script"])
    ours = {"CI_API_V4_URL": f"http://127.0.0.1:{artifacts.server_port}", "CI_PROJECT_ID": "7", "CI_JOB_TOKEN": "t"}
    main = job("main", hits=20, **GITLAB["befund"]["variables"], CI_PIPELINE_SOURCE="push", **ours)
    assert main.step(script) == 0, (main.folder / "steps.log").read_text()
    artifacts.content = (main.folder / "baseline.befund.ndjson").read_bytes()
    merge = job("merge", hits=hits, **GITLAB["befund"]["variables"], CI_PIPELINE_SOURCE="merge_request_event", **ours)
    assert merge.step(script) == code, (merge.folder / "steps.log").read_text()
    assert artifacts.asked == "/projects/7/jobs/artifacts/main/raw/baseline.befund.ndjson?job=befund"
    assert (merge.folder / "befund.xml").exists()
