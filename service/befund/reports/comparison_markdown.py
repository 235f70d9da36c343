"""A comparison as a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from befund.contract import CompareResponse, Finding, MetricComparison
from befund.reports.comparison_words import (
    SAYS,
    budget_rows,
    change,
    corrected,
    difference_row,
    figure,
    first_and_last,
    interval,
    is_telling,
    observed,
    p_value,
    some,
    summary,
    threshold,
)
from befund.reports.visible import all_visible

MEDIA_TYPE = "text/markdown"
MARKS = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️", None: "ℹ️"}
LONGEST = 60_000
"""Characters; a comment on GitHub has at most 65,536."""
_SPECIAL = re.compile(r"([\\`*_\[\]|<>~&])")
_LINKED = re.compile(r"([@#]|://)")
"""What GitHub and GitLab make a link of, or a message to somebody, escaped or not."""


def comparison_markdown(answer: CompareResponse) -> bytes:
    """The comment. Names that callers chose are shown as they are and never act as Markdown."""
    answer = all_visible(answer)
    blocks = [
        *_head(answer),
        *_gates(answer),
        *_first(answer),
        *_metrics(answer),
        *_budget(answer),
        *_questions(answer),
        *_rest(answer),
    ]
    text = ""
    for block in blocks:
        if len(text) + len(block) > LONGEST:
            text += "\nThe rest is in the report; this comment has no room for it.\n"
            break
        text += block + "\n"
    return text.encode()


def literal(text: str) -> str:
    r"""Text of others, without any effect in Markdown, on one line.

    >>> literal("a|b *c*"), literal("<img>\n@you") == "\\<img\\> @\u200byou"
    ('a\\|b \\*c\\*', True)
    """
    return _LINKED.sub("\\1\u200b", _SPECIAL.sub(r"\\\1", " ".join(text.split())))


def _head(answer: CompareResponse) -> Iterator[str]:
    before, after = map(literal, answer.names)
    said = SAYS[answer.verdict]
    yield f"## {MARKS[answer.verdict]} Befund: {said}, {after} against {before}\n"
    yield f"{summary(answer)}\n"


def _gates(answer: CompareResponse) -> Iterator[str]:
    if answer.gates:
        rows = (
            (
                f"{MARKS[gate.status]} {gate.status}",
                literal(gate.metric),
                observed(gate),
                threshold(gate),
                literal(gate.detail)
                + (f" {_names(gate.questions)}" if gate.questions and gate.status != "pass" else ""),
            )
            for gate in answer.gates
        )
        yield _table(("gate", "metric", "observed", "threshold", "why"), rows)


def _first(answer: CompareResponse) -> Iterator[str]:
    first, _ = first_and_last(answer)
    if first:
        yield "\n".join(["Read this first:\n", *map(_finding, first)]) + "\n"


def _metrics(answer: CompareResponse) -> Iterator[str]:
    if answer.metrics:
        before, after = map(literal, answer.names)
        header = ("metric", before, after, "change", f"{1 - answer.alpha:.0%} interval", "p", "n", "better", "worse")
        yield _table(header, map(_metric, answer.metrics), figures=1)


def _metric(metric: MetricComparison) -> tuple[str, ...]:
    emphasis = "**" if is_telling(metric) else ""
    return (
        literal(metric.metric) + ("" if metric.comparable else " (not comparable)"),
        *(
            " ".join(filter(None, (figure(side.value), corrected(side))))
            for side in (metric.baseline, metric.candidate)
        ),
        f"{emphasis}{change(metric.delta)}{emphasis}",
        interval(metric.ci),
        p_value(metric).replace("<", "&lt;"),
        str(metric.n),
        str(len(metric.improved)),
        str(len(metric.regressed)),
    )


def _budget(answer: CompareResponse) -> Iterator[str]:
    rows = budget_rows(answer)
    if rows:
        yield _table(("budget", *map(literal, answer.names), "change"), rows, figures=1)


def _questions(answer: CompareResponse) -> Iterator[str]:
    said = answer.questions
    lists = {
        "only in the baseline": said.only_baseline,
        "only in the candidate": said.only_candidate,
        "text, facts or gold changed": said.changed_gold,
        "unscored in the baseline": said.unscored_baseline,
        "unscored in the candidate": said.unscored_candidate,
    }
    for metric in answer.metrics:
        lists[f"{metric.metric} regressed"] = metric.regressed
        lists[f"{metric.metric} improved"] = metric.improved
    lines = [f"- **{literal(what)}**: {_names(names)}" for what, names in lists.items() if names]
    if lines:
        yield _details(f"Questions that differ ({len(answer.per_question)} changed)", lines)


def _rest(answer: CompareResponse) -> Iterator[str]:
    _, last = first_and_last(answer)
    if last:
        yield _details("Findings", map(_finding, last))
    if answer.comparable.differences:
        rows = (tuple(map(literal, difference_row(each))) for each in answer.comparable.differences)
        yield _details("What differs", [_table(("field", *map(literal, answer.names)), rows)])


def _finding(found: Finding) -> str:
    named = f" ({_names(found.questions)})" if found.questions else ""
    return f"- **{literal(found.code)}** {literal(found.message)}{named}"


def _names(names: Sequence[str]) -> str:
    shown, more = some(names)
    return ", ".join(map(literal, shown)) + more


def _details(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"<details><summary>{title}</summary>\n", *lines, "\n</details>\n"])


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, figures: int | None = None) -> str:
    """A table; from the column `figures` on they are aligned to the right."""
    marks = ["---:" if figures is not None and i >= figures else "---" for i in range(len(header))]
    lines = [header, marks, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
