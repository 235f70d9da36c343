"""A comparison as JUnit XML: a test case a gate, which every CI shows."""

from __future__ import annotations

from befund.contract import CompareResponse, GateResult
from befund.reports.comparison_words import gate_name, some
from befund.reports.markup import Markup, element
from befund.reports.visible import all_visible

MEDIA_TYPE = "application/xml"
MOST_NAMED = 200
"""Questions a test case names."""


def comparison_junit(answer: CompareResponse) -> bytes:
    """The document. What is inconclusive is an error: a CI must not show it as passed."""
    answer = all_visible(answer)
    cases = [_case(gate) for gate in answer.gates]
    suite = element(
        "testsuite",
        *cases,
        name=f"befund compare {answer.names[0]} {answer.names[1]}",
        tests=str(len(cases)),
        failures=str(sum(gate.status == "fail" for gate in answer.gates)),
        errors=str(sum(gate.status == "inconclusive" for gate in answer.gates)),
        skipped="0",
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{element("testsuites", suite)}\n'.encode()


def _case(gate: GateResult) -> Markup:
    names, others = some(gate.questions, most=MOST_NAMED)
    more = f"\nQuestions: {', '.join(names)}{others}" if names else ""
    text = gate.detail + more
    said = None
    if gate.status == "fail":
        said = element("failure", text, message=gate.detail, type="fail")
    elif gate.status == "inconclusive":
        said = element("error", text, message=gate.detail, type="inconclusive")
    return element("testcase", said, classname="befund.gates", name=gate_name(gate))
