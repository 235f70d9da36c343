"""All that a run holds about one question, on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from befund.contract import DiagnosisRecord, JudgmentRecord, Question, RetrievalRecord, RunQuestion
from befund.terminal.diagnoses import case_report
from befund.terminal.retrieval import plain_table, section
from befund.terminal.text import listed, literal, short_id, shortened

RANKS_SHOWN = 10
_WORDS = {True: "yes", False: "no"}


def explanation(found: RunQuestion, *, width: int) -> Iterator[RenderableType]:
    """Question, ranking, context, verdict and cause, as far as the run knows them."""
    yield section(f"{short_id(found.question_id)} in run {short_id(found.name)}", *_question(found.question, width))
    if found.retrieval is not None:
        yield section("Ranking", *_ranking(found.retrieval))
    if found.diagnosis is not None and found.diagnosis.retrieved:
        title = "Ranking" if found.retrieval is None else "Ranking sent with the answer, which was diagnosed"
        yield section(title, Text(listed(found.diagnosis.retrieved, most=RANKS_SHOWN)))
    context = _context(found.judgment, found.diagnosis)
    if context is not None:
        yield section("Context", Text(listed(context, most=RANKS_SHOWN) if context else "empty"))
    if found.judgment is not None:
        yield section("Verdict", *_verdict(found.judgment, width))
    if found.diagnosis is not None:
        answer = None if found.judgment else found.diagnosis.answer
        yield from case_report(found.diagnosis.diagnosis, name="Diagnosis", answer=answer, width=width)
    else:
        yield Text("Not diagnosed in this run: befund diagnose --run stores the cause too.")


def _question(question: Question, width: int) -> Iterator[RenderableType]:
    if question.question:
        yield Text(shortened(question.question, 2 * width))
    expected = ", ".join(f'"{fact}"' for fact in question.expected_facts) or question.expected_behavior
    yield Text(f"expected: {shortened(expected, width)}")


def _ranking(found: RetrievalRecord) -> Iterator[RenderableType]:
    if found.excluded is not None:
        yield Text(f"excluded: {found.excluded}")
    table = plain_table("rank", "chunk", "gold")
    for rank, entry in enumerate((found.ranking or [])[:RANKS_SHOWN], start=1):
        chunk = entry if isinstance(entry, str) else entry.id
        grade = found.relevant.get(chunk)
        table.add_row(Text(str(rank)), Text(short_id(chunk)), Text("" if grade is None else f"{grade:g}"))
    yield table
    if found.first_relevant_rank is not None and found.first_relevant_rank > RANKS_SHOWN:
        yield Text(f"the first relevant chunk is at rank {found.first_relevant_rank}")
    for what, chunks in (("may not be read", found.acl_leaks), ("known to be wrong", found.known_false_positives)):
        if chunks:
            yield Text(f"{what}: {listed(chunks)}")


def _context(judgment: JudgmentRecord | None, diagnosis: DiagnosisRecord | None) -> list[str] | None:
    if judgment is not None and judgment.context is not None:
        return [chunk.id for chunk in judgment.context]
    return None if diagnosis is None else diagnosis.context


def _verdict(found: JudgmentRecord, width: int) -> Iterator[RenderableType]:
    if found.answer is not None:
        yield Text(f"answer: {shortened(found.answer, 2 * width)}")
    judgment = found.judgment
    names = ("correct", "faithful", "behaved")
    verdicts = [f"{name}: {_WORDS.get(getattr(judgment, name), getattr(judgment.status, name))}" for name in names]
    yield Text(f"{'; '.join(verdicts)} (by {literal(judgment.judge.name)})")
    if judgment.reason:
        yield Text(shortened(judgment.reason, 2 * width))
