"""The rules and the dashboard, asked of a real Prometheus that scrapes a running service."""

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.conftest import CHECKOUT, running_service

from befund.contract import RetrievalOptions
from befund_client import Client, ProblemError

DEPLOY = CHECKOUT / "deploy"
RULES = DEPLOY / "prometheus"
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboards" / "befund.json").read_text())
SCRAPED_WITHIN_SECONDS = 60
ANY_RUN = {"$job": "befund", "$run": ".*", "$__rate_interval": "1m", "$__range": "5m"}
MODEL = {
    "BEFUND_JUDGE_MODEL": "m-1",
    "BEFUND_JUDGE_URL": "http://127.0.0.1:9/v1",
    "BEFUND_JUDGE_KEY": "none",
    "BEFUND_JUDGE": "rules",
}

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (Debian's package prometheus)"
)
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="prometheus is not installed (Debian's package prometheus)"
)


def promtool(*arguments: str) -> None:
    command = [str(shutil.which("promtool")), *arguments]
    done = subprocess.run(command, cwd=RULES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_the_scrape_configuration_and_its_rules_are_valid() -> None:
    promtool("check", "config", "prometheus.yml")


@needs_promtool
def test_alerts_fire_on_what_they_are_for() -> None:
    promtool("test", "rules", *sorted(path.name for path in RULES.glob("*_test.yml")))


def test_every_alert_has_a_test() -> None:
    alerts = {rule["alert"] for rule in rules("alerts.yml")}
    tested = set()
    for path in RULES.glob("*_test.yml"):
        for case in yaml.safe_load(path.read_text())["tests"]:
            tested |= {test["alertname"] for test in case.get("alert_rule_test", ()) if test.get("exp_alerts")}
    assert tested == alerts


def test_the_dashboard_is_what_its_panels_say() -> None:
    script = DEPLOY / "grafana" / "make_dashboard.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of a Prometheus with the rules, which has scraped a service that did every kind of work."""
    folder = tmp_path_factory.mktemp("prometheus")
    with running_service("--corpus", **MODEL) as service, running_prometheus(service.url, folder) as url:
        until_recorded(url, service.url)
        yield url


@needs_prometheus
@pytest.mark.parametrize(
    ("title", "query"),
    [
        pytest.param(panel["title"], target["expr"], id=f"{panel['title']}-{target['refId']}")
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
    ],
)
def test_a_panel_asks_for_series_that_there_are(prometheus: str, title: str, query: str) -> None:
    assert ask(prometheus, query), f"{title} shows nothing: {query}"


@needs_prometheus
@pytest.mark.parametrize("query", [each["query"]["query"] for each in DASHBOARD["templating"]["list"][1:]])
def test_a_variable_has_values(prometheus: str, query: str) -> None:
    series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()  # type: ignore[union-attr]
    assert ask(prometheus, f"count by ({label}) ({series})")


@needs_prometheus
def test_alerts_watch_series_that_there_are(prometheus: str) -> None:
    watched = {
        name for rule in rules("alerts.yml") for name in re.findall(r"\bbefund_\w+_total|befund_queue\w+", rule["expr"])
    }
    recorded = {rule["record"] for rule in rules("recording.yml")}
    used = {name for rule in rules("alerts.yml") for name in re.findall(r"\bjob\w*:[\w:]+", rule["expr"])}
    assert watched
    assert used <= recorded
    assert [name for name in sorted(watched | recorded) if not ask(prometheus, name)] == []


@needs_prometheus
def test_a_search_that_leaks_raises_the_alert(prometheus: str) -> None:
    """Without a filter, the search over the bundled documents returns one that a question's role may not read."""
    assert {each["metric"]["alertname"] for each in ask(prometheus, 'ALERTS{alertstate="firing"}')} == {"BefundAclLeak"}


def rules(name: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((RULES / name).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def work(url: str) -> None:
    """Ask the service for one thing of each kind."""
    item = {"question": "How long?", "answer": "72 hours.", "expected_facts": ["72 hours"]}
    context = [{"id": "a", "text": "Webhooks are retried for 72 hours."}]
    with Client(url) as client:
        search = RetrievalOptions(collection="teralune_corpus", top_k=5)
        client.retrieve_eval("teralune", search, k=[3, 5], run="main", replace_run=True)
        client.judge({**item, "context": context})
        client.diagnose({**item, "context": context, "relevant": ["a"]})
        client.compare({"run": "main", "k": 3}, {"run": "main", "k": 5})


@contextmanager
def running_prometheus(target: str, folder: Path) -> Iterator[str]:
    """Run Prometheus with our rules on a scrape a second, and without the waiting of our intervals."""
    config = yaml.safe_load((RULES / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target.removeprefix("http://")]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    for name in config["rule_files"]:
        (folder / name).write_text((RULES / name).read_text().replace("interval: 2m", "interval: 1s"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [str(shutil.which("prometheus")), "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    with (folder / "log").open("w") as log:
        popen = subprocess.Popen([*command, f"--web.listen-address={address}"], cwd=folder, stderr=log, stdout=log)
        try:
            yield f"http://{address}"
        finally:
            popen.terminate()
            popen.wait(timeout=30)


def until_recorded(prometheus: str, service: str) -> None:
    """Wait until every recorded series is there, working on, since a rate needs two scrapes."""
    deadline = time.monotonic() + SCRAPED_WITHIN_SECONDS
    missing = ["all"]
    while missing and time.monotonic() < deadline:
        time.sleep(1)
        try:
            work(service)
            missing = [rule["record"] for rule in rules("recording.yml") if not ask(prometheus, rule["record"])]
        except (ProblemError, httpx.TransportError):  # the corpus is not indexed yet, or Prometheus not up
            continue
    assert missing == []


def ask(prometheus: str, query: str) -> list[Any]:
    for variable, value in ANY_RUN.items():
        query = query.replace(variable, value)
    answer = httpx.get(f"{prometheus}/api/v1/query", params={"query": query}, timeout=30).json()
    assert answer["status"] == "success", answer
    result: list[Any] = answer["data"]["result"]
    return result
