"""Makes dashboards/befund.json of panels.yaml: `python deploy/grafana/make_dashboard.py [--check]`."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
PANELS = HERE / "panels.yaml"
OUTPUT = HERE / "dashboards" / "befund.json"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
HEIGHT = {"stat": 4, "bargauge": 8, "timeseries": 8}
WIDTH = {"stat": 4, "bargauge": 8, "timeseries": 8}


def dashboard(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Give Grafana's model of a dashboard with these rows of panels."""
    return {
        "uid": "befund",
        "title": "Befund",
        "description": "Evaluation of retrieval-augmented generation: traffic, verdicts, diagnoses, cost, comparisons.",
        "tags": ["befund", "rag"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": _laid_out(rows),
    }


def _variables() -> list[dict[str, Any]]:
    everything = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return [
        {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        _variable("job", "label_values(befund_build_info, job)"),
        {
            **_variable("run", 'label_values(befund_retrieval_metric{job="$job"}, run)'),
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": everything,
        },
    ]


def _variable(name: str, query: str) -> dict[str, Any]:
    asked = {"query": query, "refId": name}
    return {"name": name, "type": "query", "datasource": DATASOURCE, "query": asked, "refresh": 2, "sort": 1}


def _laid_out(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in rows.items():
        panels.append({"type": "row", "title": title, "collapsed": False, "panels": [], **_at(0, y, COLUMNS, 1)})
        x, y = 0, y + 1
        for panel in row:
            kind = panel.get("kind", "timeseries")
            if x + WIDTH[kind] > COLUMNS:
                x, y = 0, y + HEIGHT[kind]
            panels.append({**_panel(panel, kind), **_at(x, y, WIDTH[kind], HEIGHT[kind])})
            x += WIDTH[kind]
        y += max(HEIGHT[panel.get("kind", "timeseries")] for panel in row)
    return [{"id": number, **panel} for number, panel in enumerate(panels, 1)]


def _at(x: int, y: int, width: int, height: int) -> dict[str, Any]:
    return {"gridPos": {"x": x, "y": y, "w": width, "h": height}}


def _panel(panel: Mapping[str, Any], kind: str) -> dict[str, Any]:
    ceiling = {"max": panel["ceiling"]} if "ceiling" in panel else {}
    return {
        "type": kind,
        "title": panel["title"],
        "description": panel.get("description", ""),
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": {"unit": panel.get("unit", "none"), "min": 0, **ceiling}, "overrides": []},
        "options": _options(kind, named=panel["title"] == "Version"),
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": DATASOURCE,
                "expr": query,
                "legendFormat": legend,
                "instant": kind != "timeseries",
            }
            for at, (legend, query) in enumerate(panel["queries"].items())
        ],
    }


def _options(kind: str, *, named: bool) -> dict[str, Any]:
    if kind == "timeseries":
        legend = {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]}
        return {"legend": legend, "tooltip": {"mode": "multi"}}
    shown = {"textMode": "name" if named else "auto", "colorMode": "none"}
    return {"reduceOptions": {"calcs": ["lastNotNull"]}, **(shown if kind == "stat" else {"orientation": "horizontal"})}


def main() -> int:
    """Write the file, or say whether it is what this script would write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where the file differs")
    check = parser.parse_args().check
    text = json.dumps(dashboard(yaml.safe_load(PANELS.read_text())), indent=1) + "\n"
    if not check:
        OUTPUT.write_text(text)
    elif OUTPUT.read_text() != text:
        print(f"{OUTPUT.name} is not what {PANELS.name} says; run deploy/grafana/make_dashboard.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
