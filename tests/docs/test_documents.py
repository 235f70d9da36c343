"""What the documents show is run, and prints what they say."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from befund.settings import load_settings

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def blocks(document: Path) -> list[tuple[str, str]]:
    return [(found["language"], found["text"]) for found in BLOCK.finditer(document.read_text())]


def commands_with_output(document: Path) -> list[tuple[str, str]]:
    pairs = zip(blocks(document), blocks(document)[1:], strict=False)
    return [(shell, text) for (first, shell), (second, text) in pairs if (first, second) == ("sh", "text")]


def run(shell: str, folder: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("BEFUND_")}
    environ |= {"PATH": f"{Path(sys.executable).parent}:{environ['PATH']}", "COLUMNS": "80"}
    done = subprocess.run(["/bin/sh", "-euc", shell], cwd=folder, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


COMMANDS = [(document, *pair) for document in DOCUMENTS for pair in commands_with_output(document)]


@pytest.mark.parametrize(
    ("document", "shell", "text"), COMMANDS, ids=[f"{d.name}-{n}" for n, (d, *_) in enumerate(COMMANDS)]
)
def test_a_command_prints_what_stands_below_it(document: Path, shell: str, text: str, tmp_path: Path) -> None:
    assert run(shell, tmp_path) == text.strip()


def questions_with_answers() -> list[tuple[str, str, str]]:
    """The curl commands of the README: path, body, and what is shown as the answer."""
    shown = blocks(ROOT / "README.md")
    answers = (text for language, text in shown if language == "json")
    found = [re.search(r"8080(/\S+) .*-d '(.*)'", text, re.DOTALL) for _, text in shown if text.startswith("curl")]
    return [(curl[1], curl[2], answer) for curl, answer in zip(found, answers, strict=True) if curl]


@pytest.mark.parametrize(("path", "body", "answer"), questions_with_answers(), ids=["/retrieve-eval", "/judge"])
def test_the_answers_are_the_services(path: str, body: str, answer: str, service: str) -> None:
    got = httpx.post(f"{service}{path}", json=json.loads(body), timeout=120)
    assert contains(got.json(), json.loads(answer))


@pytest.mark.parametrize("document", DOCUMENTS, ids=[document.name for document in DOCUMENTS])
def test_python_examples_run(document: Path, service: str, capsys: pytest.CaptureFixture[str]) -> None:
    for language, text in blocks(document):
        if language == "python":
            exec(text.replace("http://127.0.0.1:8080", service), {})  # noqa: S102 - our own documents


def test_the_readme_example_prints_the_reciprocal_rank(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    test_python_examples_run(ROOT / "README.md", service, capsys)
    assert capsys.readouterr().out == "0.5\n"


@pytest.mark.parametrize("document", DOCUMENTS, ids=[document.name for document in DOCUMENTS])
def test_links_within_the_documents_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


TOML = [(document, text) for document in DOCUMENTS for language, text in blocks(document) if language == "toml"]


@pytest.mark.parametrize(("document", "text"), TOML, ids=[document.name for document, _ in TOML])
def test_settings_that_are_shown_can_be_used(document: Path, text: str, tmp_path: Path) -> None:
    file = tmp_path / "befund.toml"
    file.write_text(text)
    keys = {name: "k" for name in re.findall(r'key_env = "(\w+)"', text)}
    assert load_settings({"BEFUND_CONFIG": str(file), **keys}).unknown == ()


def contains(whole: Any, part: Any) -> bool:
    """Whether everything in `part` is in `whole`."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)
