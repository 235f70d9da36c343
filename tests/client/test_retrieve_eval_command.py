import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from befund.cli import main

from .conftest import ESTIMATE, Reply, Service, measured, problem

QUESTIONS = [{"id": f"Q{n}", "question": f"Question number {n}?", "relevant": ["a"]} for n in range(12)]


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eighty columns, and nothing in the environment that asks for colour."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a data set and rankings, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.json").write_text(json.dumps({"questions": QUESTIONS}))
    (tmp_path / "run.json").write_text(json.dumps({question["id"]: ["a", "b"] for question in QUESTIONS}))
    return tmp_path


def retrieve_eval(*arguments: str) -> int:
    return main(["retrieve-eval", "--dataset", "set.json", "--rankings", "run.json", *arguments])


def result(identity: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "relevant": ["a"],
        "retrieved": ["x", "y", "z", "w"],
        "first_relevant_rank": 1,
        "metrics": {},
        "known_false_positives": [],
        "unjudged": 0,
        "duplicates": [],
        "acl_leaks": [],
        "returned": 4,
    } | changes


SURE = ESTIMATE | {"value": 0.5, "ci": [0.25, 0.75], "n": 12, "attempted": 12, "method": "wilson"}
COUNTS = measured()["questions"] | {"total": 20, "eligible": 12}


def test_a_report_reads_at_eighty_columns(files: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    excluded = {"behavior": ["Q90", "Q91"], "ground_truth": [], "mapping": ["Q92"], "index": []}
    service.plays(
        Reply(
            body=measured(
                questions=COUNTS | {"excluded": excluded, "missing_from_run": ["Q5"], "unknown_in_run": 3},
                metrics={
                    "hit_rate@1": SURE,
                    "hit_rate@10": SURE,
                    "judged@1": ESTIMATE | {"unscored": 2, "attempted": 6},
                },
                per_question=[
                    result("Q1"),
                    result("Q2", first_relevant_rank=14),
                    result("Q3", first_relevant_rank=None, retrieved=[]),
                    result("Q90", first_relevant_rank=None, excluded="behavior"),
                ],
                slices={tag: {"n": n, "metrics": {"hit_rate@10": SURE}} for tag, n in (("billing", 5), ("eu", 4))},
                findings=[
                    {"code": "SMALL_SAMPLE", "message": "One question is worth 8.3 points.", "questions": ["Q7"]}
                ],
                run="main",
            )
        )
    )
    assert retrieve_eval("--url", service.url, "--k", "1,10", "--run", "main") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Read",
        "  set.json (json): 12 questions",
        "  run.json (json): 12 rankings",
        "",
        "20 questions: 12 measured, 3 excluded",
        "  behavior: not to be answered        2  Q90, Q91",
        "  mapping: evidence maps to no chunk  1  Q92",
        "  without a ranking, scored 0         1  Q5",
        "  ranked, not in the set              3",
        "",
        "Metrics",
        "                      @1           @10     n",
        "  ──────────────────────────────────────────",
        "  hit_rate         0.500         0.500    12",
        "             0.250–0.750   0.250–0.750",
        "  judged           0.750                 4/6",
        "  Below each value its 95 % interval over questions: Wilson for yes/no metrics.",
        "",
        "Missed: 2 of 3 questions, nothing relevant in the first 10",
        "  Q2  Question number 2?",
        "    first relevant at rank 14; on top: x, y, z",
        "  Q3  Question number 3?",
        "    nothing came back",
        "",
        "Findings",
        "  SMALL_SAMPLE  One question is worth 8.3 points.",
        "    Q7",
        "",
        "Slices",
        "  tag       n   hit_rate@10",
        "  ─────────────────────────",
        "  billing   5         0.500",
        "  not shown: 1 tag with fewer than 5 questions (--json lists all)",
        "",
        "Stored as run main",
    ]


def test_a_report_by_evidence_says_so(files: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=measured(metrics={"hit_rate@1": SURE})))
    assert retrieve_eval("--url", service.url, "--level", "evidence") == 0
    assert "Metrics by evidence" in capsys.readouterr().out.splitlines()


def test_every_option_is_sent(files: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "config.json").write_text('{"embedder": "e5"}')
    (files / "ids.txt").write_text("a\nb\n")
    service.plays(Reply(body=measured()))
    options = "--k 5,1 --level evidence --split dev --tag x --tag y --index-chunk-ids ids.txt --metrics ndcg,recall@5"
    more = "--seed 3 --confidence 0.9 --run main --replace-run --config config.json"
    assert retrieve_eval("--url", service.url, *options.split(), *more.split()) == 0
    sent = json.loads(service.asked[0].body)
    assert {name: sent[name] for name in sent.keys() - {"dataset", "retrieval"}} == {
        "k": [1, 5],
        "level": "evidence",
        "split": "dev",
        "tags": ["x", "y"],
        "index_chunk_ids": ["a", "b"],
        "metrics": ["ndcg", "recall@5"],
        "seed": 3,
        "confidence": 0.9,
        "run": "main",
        "replace_run": True,
        "config": {"embedder": "e5"},
    }


def test_a_stored_data_set_is_sent_by_name(files: Path, service: Service) -> None:
    (files / "teralune").mkdir()
    service.plays(Reply(body=measured()))
    assert main(["retrieve-eval", "--dataset", "teralune", "--rankings", "run.json", "--url", service.url]) == 0
    assert json.loads(service.asked[0].body)["dataset"] == "teralune"


def test_json_is_the_response_as_it_came(files: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    wire = json.dumps(measured(later="field"), indent=3)
    service.plays(Reply(body=wire.encode()))
    assert retrieve_eval("--url", service.url, "--json") == 0
    captured = capsys.readouterr()
    assert captured.out == wire + "\n"
    assert captured.err == "befund: set.json (json): 12 questions\nbefund: run.json (json): 12 rankings\n"


def test_notes_of_the_readers_are_shown(files: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "run.json").write_text('{"Q1": {"a": 0.5, "b": 0.5}}')
    service.plays(Reply(body=measured()))
    retrieve_eval("--url", service.url)
    out = capsys.readouterr().out
    assert "    maps from id to score are sorted by score, then id, both descending" in out
    assert "    questions with tied scores, ordered by id descending: 1" in out


@pytest.mark.parametrize("setting", [{}, {"NO_COLOR": "1"}])
def test_a_pipe_gets_no_escape_sequences(
    files: Path,
    service: Service,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    setting: dict[str, str],
) -> None:
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    service.plays(Reply(body=measured(per_question=[result("Q1", first_relevant_rank=None)])))
    retrieve_eval("--url", service.url)
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err


HOSTILE = "[bold red]:smile:[/] \x1b[31m\x07\u202e\r\nnext"
SHOWN = "[bold red]:smile:[/] \\x1b[31m\\x07\\u202e  next"


def test_data_is_printed_literally(files: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    excluded = {"behavior": [HOSTILE], "ground_truth": [], "mapping": [], "index": None}
    (files / "set.json").write_text(json.dumps({"questions": [{"id": "Q1", "question": HOSTILE, "relevant": ["a"]}]}))
    missed = result("Q1", first_relevant_rank=None, retrieved=["[link=x]id[/link]"])
    service.plays(
        Reply(
            body=measured(
                questions=COUNTS | {"excluded": excluded},
                per_question=[missed],
                findings=[{"code": "X", "message": HOSTILE}],
                slices={HOSTILE: {"n": 1, "metrics": {"mrr@10": SURE}}},
            )
        )
    )
    retrieve_eval("--url", service.url)
    out = capsys.readouterr().out
    assert f"Q1  {SHOWN}" in out
    assert f"X  {SHOWN}" in out
    assert "on top: [link=x]id[/link]" in out
    assert not {"\x1b", "\x07", "\u202e", "\r"} & set(out)


def test_hundreds_of_exclusions_and_long_ids_are_shortened(
    files: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "start-" + "x" * 500 + "-end"
    excluded = {"behavior": [long, *(f"Q{n}" for n in range(500))], "ground_truth": [], "mapping": [], "index": None}
    missed = [result(f"{n}-{long}", first_relevant_rank=None, retrieved=[long]) for n in range(300)]
    tags = {f"{n}-{long}": {"n": 5, "metrics": {"mrr@10": SURE}} for n in range(300)}
    service.plays(Reply(body=measured(questions=COUNTS | {"excluded": excluded}, per_question=missed, slices=tags)))
    retrieve_eval("--url", service.url)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 110
    assert any("and 493 more" in line for line in lines)
    assert "  and 280 more (--json lists all)" in lines
    assert "  and 280 more tags (--json lists all)" in lines


def test_many_cutoffs_are_split_into_tables(files: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=measured(metrics={f"ndcg@{k}": SURE for k in range(1, 11)})))
    retrieve_eval("--url", service.url)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("0.250–0.750" in line for line in lines) == 3


def test_nothing_eligible_is_not_measurable(files: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    none = ESTIMATE | {"value": None, "n": 0, "attempted": 0}
    service.plays(Reply(body=measured(questions=COUNTS | {"eligible": 0}, metrics={"mrr@1": none, "bpref": none})))
    assert retrieve_eval("--url", service.url) == 2
    assert "20 questions: 0 measured" in capsys.readouterr().out


@pytest.mark.parametrize(("status", "code"), [(409, 2), (422, 2), (400, 3), (401, 3), (404, 3), (413, 3), (500, 3)])
def test_a_problem_is_one_line_and_a_code(
    files: Path, service: Service, capsys: pytest.CaptureFixture[str], status: int, code: int
) -> None:
    service.plays(Reply(status, problem(status, "what is wrong\nand what to do")))
    assert retrieve_eval("--url", service.url) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"befund: Some title ({status}): what is wrong and what to do [request r-1]\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rankings", "gone.json"], "gone.json: cannot be read"),
        (["--dataset", "gone.jsonl"], "gone.jsonl: cannot be read"),
        (["--dataset", "sub/gone"], "sub/gone: cannot be read"),
        (["--config", "gone.json"], "gone.json: cannot be read"),
        (["--config", "list.json"], "list.json, line 1: is no configuration: give a JSON object"),
        (["--url", "localhost"], "'localhost' is no address of a service"),
        (["--url", "http://127.0.0.1:1/\x1b"], "no address of a service"),
        (["--rankings", "set.json"], "set.json, line 1: is a data set"),
        (["--dataset", "my questions"], "my questions: cannot be read (No such file"),
        (["--config", "twice.json"], "twice.json, line 1: 'a' is named twice"),
        (["--tag", "caf\udce9"], "'caf\\udce9' on the command line is no UTF-8 text"),
        (["--top-k", "5"], "--top-k and --where say how a collection is searched: they need --collection"),
    ],
)
def test_a_mistake_is_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (files / "list.json").write_text("[]")
    (files / "twice.json").write_text('{"a": 1, "a": 2}')
    assert retrieve_eval(*arguments) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert captured.err.count("\n") == 1


def search(*arguments: str) -> int:
    return main(["retrieve-eval", "--dataset", "set.json", "--collection", "docs", *arguments])


def test_a_mapping_in_a_file_of_its_own_is_the_data_sets(files: Path, service: Service) -> None:
    service.plays(Reply(body=measured()))
    (files / "mapping.json").write_text('{"E1": ["a"]}')
    assert retrieve_eval("--mapping", "mapping.json", "--url", service.url) == 0
    assert json.loads(service.asked[0].body)["dataset"]["evidence_mapping"] == {"E1": ["a"]}


def test_a_mapping_for_a_stored_data_set_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "mapping.json").write_text('{"E1": ["a"]}')
    assert main(["retrieve-eval", "--dataset", "stored", "--rankings", "run.json", "--mapping", "mapping.json"]) == 3
    assert "a stored set has its own" in capsys.readouterr().err


def test_a_collection_is_searched_by_the_service(files: Path, service: Service) -> None:
    service.plays(Reply(body=measured()), Reply(body=measured()))
    assert search("--url", service.url, "--k", "1,5") == 0
    assert search("--url", service.url, "--top-k", "20", "--where", '{"language": "de"}') == 0
    first, second = (json.loads(asked.body)["retrieval"] for asked in service.asked)
    assert first == {"collection": "docs", "top_k": 5}
    assert second == {"collection": "docs", "top_k": 20, "where": {"language": "de"}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--index-chunk-ids", "ids.json"], "belong to --rankings"),
        (["--rankings-format", "json"], "belong to --rankings"),
    ],
)
def test_what_a_search_cannot_do_is_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert search(*arguments) == 3
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--where", "language=de"], "argument --where"),
        (["--where", "[]"], "argument --where"),
        (["--top-k", "0"], "argument --top-k"),
        (["--rankings", "run.json"], "not allowed with argument --collection"),
    ],
)
def test_how_to_search_is_checked(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    with pytest.raises(SystemExit):
        search(*arguments)
    assert said in capsys.readouterr().err


def test_an_answer_of_something_else_is_one_line(
    files: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.plays(Reply(body=b'{"hello": "world"}'))
    assert retrieve_eval("--url", service.url) == 3
    assert "is this a Befund service?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--k", value) for value in ["0", "100001", "1,two", "", "1,,2", "1_0", "1,\u0665", "+1", "1.0", "9" * 5000]),
        *(("--seed", value) for value in ["-1", "1_0", "x", str(2**63), "9" * 5000]),
        *(("--confidence", value) for value in ["nan", "1", "0.4", "0.9_5", "1e-1", "high", "."]),
        ("--metrics", " , "),
    ],
)
def test_values_of_options_are_checked(
    files: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    with pytest.raises(SystemExit) as exited:
        retrieve_eval(option, value)
    assert exited.value.code == 3
    assert f"argument {option}: " in capsys.readouterr().err


def test_values_may_be_written_with_blanks_between(files: Path, service: Service) -> None:
    service.plays(Reply(body=measured()))
    assert retrieve_eval("--url", service.url, "--k", "5, 1", "--seed", str(2**63 - 1), "--confidence", ".9") == 0
    sent = json.loads(service.asked[0].body)
    assert (sent["k"], sent["seed"], sent["confidence"]) == ([1, 5], 2**63 - 1, 0.9)


def test_a_name_is_no_file_and_without_a_service_no_data_set(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numpy")
    assert main(["retrieve-eval", "--dataset", "nope", "--rankings", "run.json"]) == 3
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == (
        f"befund: nope: no such file, no BEIR folder. There is no data set 'nope'. Looked for in the data folder "
        f"{os.environ['BEFUND_DATA_DIR']}, since no service is named (--url, BEFUND_URL)."
    )


def test_without_a_service_it_measures_in_this_process_and_says_so(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("numpy")
    assert retrieve_eval("--k", "1") == 0
    captured = capsys.readouterr()
    assert captured.err == "befund: no service named (--url, BEFUND_URL): measuring in this process\n"
    assert "Missed\n  None: every question has a relevant chunk in its first 1." in captured.out


def test_what_does_not_fit_is_said_with_how_the_files_were_read(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("numpy")
    (files / "noid.csv").write_text("question,relevant\nHow long?,a\n")
    assert retrieve_eval("--dataset", "noid.csv") == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-2] == (
        "befund: noid.csv (csv): 1 question: questions without a field id, where the text stands for it: 1 (first: "
        "line 2)"
    )
    assert "Check that both use the same question ids" in said[-1]


def test_where_nothing_is_measurable_no_table_of_dashes_is_printed(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("numpy")
    (files / "none.json").write_text(
        '{"questions": [{"id": "Q1", "question": "How?", "expected_behavior": "no_answer"}]}'
    )
    assert retrieve_eval("--dataset", "none.json") == 2
    said = capsys.readouterr().out
    assert "Read this first\n  NO_ELIGIBLE_QUESTION" in said
    assert ("Metrics" in said, "–" in said) == (False, False)


def test_in_this_process_too_a_contradiction_is_not_measurable(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "run.json").write_text('{"another": ["a"]}')
    assert retrieve_eval() == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_address_comes_from_the_environment(files: Path, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEFUND_URL", service.url)
    service.plays(Reply(body=measured()))
    assert retrieve_eval() == 0
    assert len(service.asked) == 1


def test_registering_the_command_loads_neither_tables_nor_server() -> None:

    code = "import sys, befund.cli; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {"rich", "numpy", "litestar", "httpx"} == set()
