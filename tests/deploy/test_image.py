"""What the Dockerfile says, carried out in a folder of its own: its first stage, then what the second one starts."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from msgspec import Struct
from tests.conftest import CHECKOUT

DOCKERFILE = CHECKOUT / "Dockerfile"
BUILD_SECONDS = 600


class Instruction(Struct, frozen=True):
    """One line of the Dockerfile, continued lines joined."""

    name: str
    rest: str


def stages() -> list[list[Instruction]]:
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    stages: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            stages.append([])
        stages[-1].append(Instruction(name, rest))
    return stages


def variables(stage: list[Instruction]) -> dict[str, str]:
    pairs = [word.partition("=") for each in stage if each.name == "ENV" for word in shlex.split(each.rest)]
    return {name: value for name, _, value in pairs}


def copied(stage: list[Instruction]) -> list[list[str]]:
    return [shlex.split(each.rest) for each in stage if each.name == "COPY" and not each.rest.startswith("--from")]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that stands for the image's root, after the first stage."""
    root = tmp_path_factory.mktemp("image")
    build = stages()[0]
    environ = {"PATH": f"{Path(sys.base_prefix) / 'bin'}:{os.environ['PATH']}", "HOME": str(root)}
    for name, value in variables(build).items():
        environ[name] = f"{root}{value}" if value.startswith("/") else value
    work = root / next(each.rest for each in build if each.name == "WORKDIR").lstrip("/")
    work.mkdir(parents=True)
    for each in build:
        if each.name == "COPY":
            *sources, target = shlex.split(each.rest)
            for source in sources:
                copy(CHECKOUT / source, work / target, into=target.endswith("/"))
        elif each.name == "RUN":
            done = subprocess.run(
                ["/bin/sh", "-euc", each.rest],
                cwd=work,
                env=environ,
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
                check=False,
            )
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    shutil.rmtree(work)  # the second stage does not have it
    return root


def copy(source: Path, target: Path, *, into: bool) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        return
    target = target / source.name if into else target
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def environment(image: Path, tmp_path: Path, **settings: str) -> dict[str, str]:
    """The second stage's environment, with its folders below the temporary ones."""
    environ = {**variables(stages()[1]), "HOME": str(tmp_path), "BEFUND_DATA_DIR": str(tmp_path / "data")}
    environ["PATH"] = environ["PATH"].replace("/opt/befund", f"{image}/opt/befund").replace("$PATH", os.environ["PATH"])
    return {**environ, **settings}


def command(name: str, stage: list[Instruction]) -> list[str]:
    found = next(each.rest for each in stage if each.name == name)
    words: list[str] = json.loads(found[found.index("[") :])
    return words


def start(image: Path, environ: dict[str, str]) -> subprocess.Popen[str]:
    last = stages()[1]
    program, *arguments = command("ENTRYPOINT", last) + command("CMD", last)
    return subprocess.Popen(
        [str(image / "opt/befund/bin" / program), *arguments],
        env=environ,
        cwd=environ["HOME"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_is_copied_is_let_through_by_the_dockerignore() -> None:
    let_through = {line[1:] for line in (CHECKOUT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    sources = {source for words in copied(stages()[0]) for source in words[:-1]}
    assert sources == let_through


def test_the_image_does_not_run_as_root() -> None:
    assert [each.rest for each in stages()[1] if each.name == "USER"] == ["10001:10001"]


def test_the_installed_service_starts_and_is_healthy(image: Path, tmp_path: Path) -> None:
    environ = environment(image, tmp_path, BEFUND_API_KEYS="ci:secret=read", BEFUND_LISTEN="127.0.0.1:0")
    process = start(image, environ)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        health = [word.replace("http://127.0.0.1:8080", url) for word in command("HEALTHCHECK", stages()[1])]
        assert subprocess.run(health, env=environ, check=False).returncode == 0
        assert httpx.get(f"{url}/runs").status_code == 401
    finally:
        process.terminate()
        assert process.wait(timeout=60) == 0
        process.communicate()


def test_without_a_key_it_says_why_it_does_not_start(image: Path, tmp_path: Path) -> None:
    process = start(image, environment(image, tmp_path))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "BEFUND_API_KEYS" in errors


def test_only_what_runs_is_installed(image: Path) -> None:
    listed = subprocess.run(
        [image / "opt/befund/bin/pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    names = {each["name"].lower() for each in json.loads(listed.stdout)}
    assert names >= {"befund", "litestar", "chromadb"}
    assert names.isdisjoint({"hatchling", "mypy", "pytest", "ruff"})
