"""Faults that are seeded into a pipeline over the bundled corpus are traced to what was seeded."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the command prints, line by line."""
    command = [sys.executable, str(CHECKOUT / "data" / "faults")]
    folder = tmp_path_factory.mktemp("faults")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.stdout, done.stderr
    return done.stdout.splitlines()


def test_every_fault_is_traced(printed: list[str]) -> None:
    assert [line for line in printed if "(seeded:" in line] == []
    assert printed[-1] == "44 of 44 faults are traced to what was seeded."


def test_every_kind_of_cause_is_among_them(printed: list[str]) -> None:
    found = Counter(line.split("`")[1] for line in printed if line.count("`") >= 2)
    assert len(found) == 21
    assert found["DOCUMENT_MISSING"] == 3


def test_the_documented_table_is_what_the_command_prints(printed: list[str]) -> None:
    documented = (CHECKOUT / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in printed if line.startswith("|"))
    assert table in documented
