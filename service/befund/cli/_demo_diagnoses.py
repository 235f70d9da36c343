"""The part of the demonstration that diagnoses recorded answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from befund.bundled import bundled
from befund.cli._shown import near, own_name, wrapped
from befund.terminal.text import counted
from befund_client import Client, read_cases

if TYPE_CHECKING:
    from rich.console import Console

ANSWERS = "teralune/answers.jsonl"
WORST_SHOWN = 3
WHAT = """\
The recorded answers that people found wrong, diagnosed: was the evidence in the context, where was it lost on the way \
from the index, what did the generator do with it? The collection of the live search is looked into for each."""

UNMAPPED = """\
have the cause UNMAPPED_EVIDENCE, and rightly so: the bundled data leaves documents out of the index, and their \
evidence out of its mapping, on purpose."""


def show_diagnoses(url: str, collection: str, out: Console) -> None:
    """Diagnose the bundled answers that are wrong, over HTTP."""
    import httpx

    from befund.terminal.diagnoses import cases_of, report

    file = bundled(ANSWERS) / ANSWERS
    lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    wrong = {line["question_id"] for line in lines if False in line["human"].values()}
    items = [item for item in read_cases(file).value if item.question_id in wrong]
    options = {"diagnose": near(file), "--dataset": "teralune", "--collection": collection}
    out.print("5. Diagnoses", style="bold")
    out.print(f"{WHAT}\n\nThe same by hand, of all recorded answers, once the documents are ingested:\n")
    out.print(f"{own_name()} ingest --bundled", soft_wrap=True)
    out.print(wrapped([own_name()], options) + "\n", soft_wrap=True)
    with Client(url, transport=httpx.HTTPTransport()) as client:
        answer = client.diagnose_batch(items, dataset="teralune", collection=collection, judge="rules")
    unmapped = answer.summary.causes["UNMAPPED_EVIDENCE"]["n"]
    out.print(f"{unmapped} of {counted(len(items), 'answer')} {UNMAPPED}\n")
    for part in report(cases_of(items, [answer]), width=out.width, most=WORST_SHOWN):
        out.print(part)
