"""Monitors: what the verbs send and read, and the command that shows them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from befund.cli import main
from befund_client import NotFoundError

from .conftest import ESTIMATE, Ask, Reply, Service, problem

WINDOW: dict[str, Any] = {
    "since": "2026-11-30T10:00:00Z",
    "until": "2026-11-30T11:00:00Z",
    "answers": 4,
    "failed": 0,
    "rates": {name: ESTIMATE for name in ("correct", "faithful", "faithful_given_claims", "behaved")},
    "corrected": {"correct": ESTIMATE | {"value": 0.8, "ci": [0.7, 0.9], "method": "lang_reiczigel"}},
    "correct_by_faithful": {"tt": 3, "tf": 0, "ft": 0, "ff": 1},
    "behavior": {},
    "usage": {},
    "timings": {},
    "judges": {"sha256:1": 3, "sha256:2": 1},
}
LISTING = {
    "name": "prod",
    "answers": 1_234,
    "created": "2026-11-01T10:00:00Z",
    "updated": "2026-11-30T10:59:00Z",
}
MONITOR = WINDOW | {
    "name": "prod",
    "held": 1_234,
    "created": LISTING["created"],
    "updated": LISTING["updated"],
    "windows": [
        WINDOW | {"answers": 0, "rates": {name: ESTIMATE | {"value": None, "n": 0} for name in WINDOW["rates"]}}
    ],
}
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("verb", "arguments", "keywords", "method", "path"),
    [
        ("monitors", [], {}, "GET", "/monitors"),
        ("monitor", ["prod"], {}, "GET", "/monitors/prod"),
        ("monitor", ["a.b"], {"window": 3600, "step": 60}, "GET", "/monitors/a%2Eb?window=3600&step=60"),
        ("monitor", ["prod"], {"since": NOON}, "GET", "/monitors/prod?since=2026-11-30T12%3A00%3A00%2B00%3A00"),
        ("monitor_entries", ["prod"], {}, "GET", "/monitors/prod/entries?limit=50"),
        (
            "monitor_entries",
            ["prod"],
            {"limit": 2, "cursor": "1-2", "window": 60},
            "GET",
            "/monitors/prod/entries?window=60&limit=2&cursor=1-2",
        ),
        ("delete_monitor", ["prod"], {}, "DELETE", "/monitors/prod"),
    ],
)
def test_a_verb_asks_by_path(
    ask: Ask, service: Service, verb: str, arguments: list[str], keywords: dict[str, Any], method: str, path: str
) -> None:
    service.plays(Reply(404, problem(404, "there is none")))
    with pytest.raises(NotFoundError, match="there is none"):
        ask(verb, *arguments, **keywords)
    assert [(asked.method, asked.path) for asked in service.asked] == [(method, path)]


def test_a_monitor_is_read(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=MONITOR))
    found = ask("monitor", "prod", step=3600)
    assert (found.held, found.rates["correct"].value, found.since.hour) == (1_234, 0.75, 10)
    assert found.windows[0].rates["correct"].value is None


def test_a_time_without_an_offset_is_refused(ask: Ask, service: Service) -> None:
    with pytest.raises(ValueError, match="until has no offset"):
        ask("monitor", "prod", until=datetime(2026, 11, 30))  # noqa: DTZ001 - that is what is tested
    assert service.asked == []


def test_monitors_are_listed_on_a_terminal(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body={"monitors": [LISTING]}))
    assert main(["monitors", "list", "--url", service.url]) == 0
    out = capsys.readouterr().out
    assert "prod" in out
    assert "1,234" in out
    assert "2026-11-30 10:59 UTC" in out


def test_a_monitor_is_shown_window_by_window(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=MONITOR))
    assert main(["monitors", "show", "prod", "--hours", "2", "--step", "1", "--url", service.url]) == 0
    out = capsys.readouterr().out
    assert service.asked[0].path == "/monitors/prod?window=7200&step=3600"
    assert "Monitor prod: 4 answers of 1,234 held" in out
    assert "correct, corrected for the judge's error: 0.800 (0.700–0.900)" in out
    assert "2 judges: rates may differ because they do." in out


def test_the_answer_is_printed_as_it_came(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    service.plays(Reply(body=MONITOR))
    assert main(["monitors", "show", "prod", "--json", "--url", service.url]) == 0
    assert json.loads(capsys.readouterr().out)["held"] == 1_234


@pytest.mark.parametrize("hours", ["0", "1.5", "-1", "87601"])
def test_hours_that_are_none_are_a_usage_error(hours: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["monitors", "show", "prod", "--hours", hours])
    assert ended.value.code == 3
