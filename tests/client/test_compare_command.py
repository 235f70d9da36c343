"""`befund compare` on files, in its own process: exit codes, gate files, the forms it writes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from befund.cli import main
from befund_client import read_gates

Gates = Callable[[str], str]
THIRTY = [f"Q{i:02}" for i in range(30)]
HIT, MISS = ["gold", "b", "c", "d", "e"], ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own folder with thirty questions, and rankings `of` which so many hit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("BEFUND_URL", raising=False)
    questions = [{"id": each, "question": f"What is {each}?", "relevant": ["gold"]} for each in THIRTY]
    (tmp_path / "set.json").write_text(json.dumps({"questions": questions}))
    for number in (30, 29, 27, 24):
        rankings = {each: HIT if i < number else MISS for i, each in enumerate(THIRTY)}
        (tmp_path / f"hit{number}.json").write_text(json.dumps(rankings))
    return tmp_path


def compare(baseline: str, candidate: str, *arguments: str) -> int:
    files = ["--dataset", "set.json", "--baseline", f"{baseline}.json", "--candidate", f"{candidate}.json"]
    return main(["compare", *files, "--baseline-k", "5", "--candidate-k", "5", *arguments])


def gates(here: Path, text: str, name: str = "gates.toml") -> list[str]:
    (here / name).write_text(text)
    return ["--gates", name]


class TestTheTemplate:
    @pytest.fixture
    def template(self, here: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
        assert main(["compare", "--init-gates"]) == 0
        return gates(here, capsys.readouterr().out)

    def test_a_drop_of_a_tenth_blocks(self, template: list[str]) -> None:
        assert compare("hit30", "hit27", *template) == 1

    def test_one_question_of_thirty_is_noise(self, template: list[str]) -> None:
        assert compare("hit30", "hit29", *template) == 0

    def test_every_gate_in_it_can_be_used(self, here: Path, template: list[str]) -> None:
        lines = (here / "gates.toml").read_text().splitlines()
        commented = next(i for i, line in enumerate(lines) if line.startswith("# [[gates]]"))
        head, rest = lines[:commented], lines[commented:]
        written = [line.removeprefix("# ") if "=" in line or "[[" in line else line for line in rest]
        (here / "all.toml").write_text("\n".join([*head, *written]))
        named = [gate.metric for gate in read_gates("all.toml")]
        assert named == [
            "recall@5",
            "unscored",
            "hit_rate@5",
            "acl_leaks",
            "correct",
            "faithful",
            "tokens_per_question",
        ]


FORMS = {
    "gates.toml": '[[gates]]\nmetric = "hit_rate@5"\nmax_regressions = 0\n[gates.questions]\nids = ["Q29"]\n',
    "gates.yaml": "gates:\n- metric: hit_rate@5\n  max_regressions: 0\n  questions: {ids: [Q29]}\n",
    "gates.json": '{"gates": [{"metric": "hit_rate@5", "max_regressions": 0, "questions": {"ids": ["Q29"]}}]}',
}


@pytest.mark.parametrize(("name", "text"), FORMS.items())
def test_gates_from_a_file(here: Path, name: str, text: str) -> None:
    given = gates(here, text, name)
    assert compare("hit30", "hit29", *given) == 1
    assert compare("hit30", "hit30", *given) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[gates]]\nmetric = "recall@5"\nmax_dorp = 0', "max_dorp"),
        ('[[gate]]\nmetric = "recall@5"\nmax_drop = 0', "'gate' at the top"),
        ("", "is empty"),
        ("gates = []", "holds no gate, and what decides nothing passes everything"),
        ("[[gates", "is not TOML"),
    ],
)
def test_a_gate_file_with_a_mistake_is_never_a_pass(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    assert compare("hit30", "hit30", *gates(here, text)) == 3
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ('metric = "recall@5"\nmax_drop = 0', 0),
        ('metric = "recall@5"\nmin = 1', 0),
        ('metric = "faithful"\nmin = 0.5', 2),
        ('metric = "recall@10"\nmax_drop = 0', 2),
        ('metric = "recal@3"\nmax_drop = 0', 3),
        ('metric = "recall@5"', 3),
        ('metric = "recall@5"\nmax_drop = 0\nmin = 0.5', 3),
    ],
)
def test_exit_codes(here: Path, gate: str, code: int) -> None:
    assert compare("hit30", "hit30", *gates(here, f"[[gates]]\n{gate}")) == code


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--baseline", "hit30.json"], 3, "--candidate is missing"),
        (["--baseline", "hit30.json", "--candidate", "absent.json"], 3, "absent.json"),
        (
            ["--baseline", "hit30.json", "--candidate", "hit30.json"],
            3,
            "Name a file or a stored data set with --dataset",
        ),
        (["--baseline", "main", "--candidate", "pr", "--url", "http://127.0.0.1:1"], 3, "no connection"),
        (["--baseline", "main", "--candidate", "pr", "--url", "nowhere"], 3, "no address of a service"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert main(["compare", *arguments]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_rankings_of_other_questions_are_not_measurable(here: Path) -> None:
    (here / "other.json").write_text(json.dumps({"elsewhere": HIT}))
    assert compare("hit30", "other") == 2


def test_a_ranking_of_an_unknown_question_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rankings = json.loads((here / "hit30.json").read_text())
    (here / "more.json").write_text(json.dumps({**rankings, "Q77": HIT}))
    assert compare("hit30", "more") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "questions that the data set does not have (1 of candidate) are not compared. Check their ids. Q77" in told


class TestWithoutAService:
    @pytest.fixture(autouse=True)
    def stored(self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """The data set `thirty` and the runs `main` and `pr-42`, which misses six, in a data folder."""
        monkeypatch.setenv("BEFUND_DATA_DIR", str(here / "kept"))
        assert main(["dataset", "put", "set.json", "--name", "thirty"]) == 0
        for run, hits in (("main", 30), ("pr-42", 24)):
            measured = ["--dataset", "thirty", "--rankings", f"hit{hits}.json", "--k", "1,5", "--run", run]
            assert main(["retrieve-eval", *measured]) == 0
        capsys.readouterr()

    def test_runs_of_the_data_folder_are_compared(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        given = gates(here, '[[gates]]\nmetric = "hit_rate@5"\nmax_drop = 0.1\n')
        assert main(["compare", "--baseline", "main", "--candidate", "pr-42", *given]) == 1
        said = capsys.readouterr()
        assert f"no service named (--url, BEFUND_URL): using the data folder {here / 'kept'}" in said.err
        assert "hit_rate@5 regressed   6  Q24, Q25, Q26, Q27, Q28, Q29" in said.out

    def test_files_are_measured_on_its_data_sets(self) -> None:
        files = ["--baseline", "hit30.json", "--candidate", "hit24.json"]
        assert main(["compare", "--dataset", "thirty", *files]) == 0

    def test_a_run_it_does_not_hold(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", "--baseline", "main", "--candidate", "pr-43"]) == 3
        error = capsys.readouterr().err
        assert "There is no run 'pr-43'. Looked for in the data folder" in error
        assert "GET /runs" not in error


def test_without_gates_it_says_that_nothing_was_decided(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("hit30", "hit24") == 0
    captured = capsys.readouterr()
    assert "no gates" in captured.err
    assert "hit_rate@5 regressed   6  Q24, Q25, Q26, Q27, Q28, Q29" in captured.out


def test_a_report_reads_at_eighty_columns(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = gates(here, '[[gates]]\nmetric = "hit_rate@5"\nmax_drop = 0.1\n')
    assert compare("hit30", "hit24", *given, "--metrics", "mrr@5") == 1
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "fail: 30 questions compared; of 1 gate 1 fail." in lines
    assert "fail hit_rate@5 max_drop 0.1 observed −0.200" in lines
    assert "hit_rate@5 1.000 0.800 −0.200 0.031 30 0 6" in lines


def test_the_other_forms_are_written_and_say_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = gates(here, '[[gates]]\nmetric = "hit_rate@5"\nmax_drop = 0\n')
    files = ["--markdown", "c.md", "--junit", "c.xml", "--html", "c.html"]
    assert compare("hit30", "hit29", *given, *files) == 1
    assert "befund: JUnit XML written to c.xml\n" in capsys.readouterr().err
    assert (here / "c.md").read_text().startswith("## ❌ Befund: fail, candidate against baseline")
    suite = ElementTree.fromstring((here / "c.xml").read_text())[0]  # noqa: S314 - our own
    assert suite.get("failures") == "1"
    assert "Befund" in (here / "c.html").read_text()


def test_json_is_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    compare("hit30", "hit29", "--json", "--metrics", "mrr")
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], [each["metric"] for each in answer["metrics"]]) == (None, ["mrr"])


def test_a_form_that_cannot_be_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("hit30", "hit30", "--html", "absent/c.html") == 3
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gates.yaml", "gates:\n- metric: hit_rate@5\n  max_drop: 0\n  max_drop: 1\n"),
        ("gates.json", '{"gates": [{"metric": "hit_rate@5", "max_drop": 0, "max_drop": 1}]}'),
        ("gates.toml", '[[gates]]\nmetric = "hit_rate@5"\nmax_drop = 0\nmax_drop = 1\n'),
    ],
)
def test_of_two_thresholds_in_one_gate_none_is_taken(here: Path, name: str, text: str) -> None:
    assert compare("hit30", "hit27", *gates(here, text, name)) == 3


class TestTheGatesOfTheSettings:
    @pytest.fixture(autouse=True)
    def settings(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (here / "befund.toml").write_text('[[gates]]\nmetric = "hit_rate@5"\nmax_drop = 0.05\n')
        monkeypatch.setenv("BEFUND_CONFIG", "befund.toml")

    def test_they_decide_where_no_others_are_given(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert compare("hit30", "hit27") == 1
        assert "no --gates: those of the file that BEFUND_CONFIG names decide" in capsys.readouterr().err
        assert compare("hit30", "hit29") == 0

    def test_those_given_come_first(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        lenient = gates(here, '[[gates]]\nmetric = "hit_rate@5"\nmax_drop = 0.5\n')
        assert compare("hit30", "hit27", *lenient) == 0
        assert "BEFUND_CONFIG" not in capsys.readouterr().err

    def test_a_mistake_in_them_is_never_a_pass(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (here / "befund.toml").write_text('[[gates]]\nmetric = "hit_rate@5"\nmax_dorp = 0.05\n')
        assert compare("hit30", "hit30") == 3
        assert "max_dorp" in capsys.readouterr().err
