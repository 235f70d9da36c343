"""The built wheel, installed where nothing else of this checkout is: alone, and with what the server needs."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = Path(sysconfig.get_paths()["purelib"])
BASE_LIBRARIES = ["anyio", "certifi", "h11", "httpcore", "httpx", "idna", "msgspec", "typing_extensions.py"]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout with the installed build backend."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("befund-*.whl"))


def environment(folder: Path, wheel: Path, libraries: Path) -> Path:
    """A new environment that holds the wheel and sees these libraries; its interpreter is returned."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").stdout.strip())
    zipfile.ZipFile(wheel).extractall(site)
    (site / "libraries.pth").write_text(f"{libraries}\n")
    return python


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("BEFUND_", "PYTHON"))}
    return subprocess.run([python, *arguments], env=environ, cwd=python.parent, capture_output=True, text=True)


@pytest.fixture(scope="session")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with httpx and msgspec alone."""
    libraries = tmp_path_factory.mktemp("libraries")
    for name in BASE_LIBRARIES:
        if (LIBRARIES / name).exists():
            (libraries / name).symlink_to(LIBRARIES / name)
    return environment(tmp_path_factory.mktemp("base"), wheel, libraries)


@pytest.fixture(scope="session")
def server(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with everything that is installed here."""
    return environment(tmp_path_factory.mktemp("server"), wheel, LIBRARIES)


def test_the_client_works_without_any_extra(base: Path, service: str) -> None:
    script = f"""
from befund_client import Client
with Client({service!r}) as client:
    dataset = {{"questions": [{{"id": "q", "question": "?", "relevant": ["b"]}}]}}
    print(client.retrieve_eval(dataset, {{"q": ["a", "b"]}}, k=[2]).metrics["mrr@2"].value)
"""
    done = run(base, "-W", "error", "-c", script)
    assert (done.stdout, done.stderr) == ("0.5\n", "")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Arguments naming one question and its ranking."""
    (tmp_path / "questions.jsonl").write_text('{"id": "q", "question": "?", "relevant": ["b"]}\n')
    (tmp_path / "run.json").write_text('{"q": ["a", "b"]}')
    return ["--dataset", str(tmp_path / "questions.jsonl"), "--rankings", str(tmp_path / "run.json")]


def asks_for(extra: str, done: subprocess.CompletedProcess[str]) -> bool:
    line = done.stderr.splitlines()[-1]
    return done.returncode == 3 and f"pip install 'befund[{extra}]'" in line and "Traceback" not in done.stderr


def test_serving_without_the_server_extra_says_what_to_install(base: Path) -> None:
    assert asks_for("server", run(base, "-m", "befund", "serve"))


def test_measuring_here_without_the_server_extra_says_what_to_install(base: Path, files: list[str]) -> None:
    assert asks_for("server", run(base, "-m", "befund", "retrieve-eval", *files))


def test_tables_without_the_cli_extra_say_what_to_install(base: Path, files: list[str], service: str) -> None:
    assert asks_for("cli", run(base, "-m", "befund", "retrieve-eval", *files, "--url", service))


def test_the_installed_package_is_the_wheels(server: Path) -> None:
    done = run(server, "-c", "import befund, befund_client; print(befund.__file__); print(befund_client.__file__)")
    assert all(Path(line).is_relative_to(server.parents[1]) for line in done.stdout.splitlines())


def test_the_wheel_measures(server: Path, files: list[str]) -> None:
    done = run(server, "-m", "befund", "retrieve-eval", *files, "--json")
    assert done.returncode == 0, done.stderr
    assert '"mrr@3":{"value":0.5' in done.stdout


def test_the_wheel_keeps_its_data_set(server: Path, tmp_path: Path) -> None:
    script = f"""
import asyncio
from pathlib import Path
from befund.adapters.store_sql import SqlStore
from befund.usecases.datasets import Datasets

async def main():
    store = SqlStore(Path({str(tmp_path / "befund.sqlite")!r}))
    await store.open()
    await Datasets(store, "full").put_bundled()
    print(len((await store.dataset("teralune")).questions))
    await store.close()

asyncio.run(main())
"""
    done = run(server, "-c", script)
    assert done.stdout == "120\n", done.stderr


def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"befund/py.typed", "befund_client/py.typed", "befund/api/schema.html"} <= set(names)
    assert {"befund/cli/gates.toml", "befund/reports/page.css"} <= set(names)
    assert not [name for name in names if name.startswith(("tests", "bench"))]
