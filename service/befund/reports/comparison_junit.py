"""A comparison as JUnit XML: a test case a gate, which every CI shows."""

from __future__ import annotations

import re

from befund.contract import CompareResponse, GateResult
from befund.reports.comparison_words import gate_name, some
from befund.reports.markup import Markup, element

MEDIA_TYPE = "application/xml"
MOST_NAMED = 200
"""Questions a test case names."""
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def comparison_junit(answer: CompareResponse) -> bytes:
    """The document. What is inconclusive is an error: a CI must not show it as passed."""
    cases = [_case(gate) for gate in answer.gates]
    suite = element(
        "testsuite",
        *cases,
        name=_fit(f"befund compare {answer.names[0]} {answer.names[1]}"),
        tests=str(len(cases)),
        failures=str(sum(gate.status == "fail" for gate in answer.gates)),
        errors=str(sum(gate.status == "inconclusive" for gate in answer.gates)),
        skipped="0",
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{element("testsuites", suite)}\n'.encode()


def _case(gate: GateResult) -> Markup:
    names, others = some(gate.questions, most=MOST_NAMED)
    more = f"\nQuestions: {', '.join(names)}{others}" if names else ""
    detail, text = _fit(gate.detail), _fit(gate.detail + more)
    said = None
    if gate.status == "fail":
        said = element("failure", text, message=detail, type="fail")
    elif gate.status == "inconclusive":
        said = element("error", text, message=detail, type="inconclusive")
    return element("testcase", said, classname="befund.gates", name=_fit(gate_name(gate)))


def _fit(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("�", text)
