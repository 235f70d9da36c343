"""Has texts read for facts: the context, the quotes of the gold, and what a wrong answer may have been taken from."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from befund.contract import Judgment
from befund.core.diagnosis.cases import Case
from befund.core.diagnosis.evidence import Evidence, Reading, evidence_in
from befund.core.diagnosis.generation import Echo, wrong_statements
from befund.core.diagnosis.stating import Statement, statement_of
from befund.core.judging import Item, Passage
from befund.ports import FactReader, Metadata


async def read_evidence(
    reader: FactReader, case: Case, about: Mapping[str, Metadata]
) -> tuple[Evidence, list[Reading]]:
    """What of the gold is in the context, and what the quotes of the gold state where it is not all there."""
    sought, context = case.sought, _under_titles(case.context, about)
    passages = [(passage.id, passage.text or "") for passage in context or ()]
    if context is None or not sought.facts or any(passage.text is None for passage in context):
        return evidence_in(sought, case.context), []
    readings = [Reading(id_, await _facts(reader, case, text, sought.facts)) for id_, text in passages]
    evidence = evidence_in(sought, context, readings)
    if evidence.present:
        return evidence, []
    quotes = [(wanted.id, wanted.quote) for wanted in sought.wanted if wanted.quote]
    stated = [Reading(id_, await _facts(reader, case, quote, sought.facts)) for id_, quote in quotes]
    return evidence_in(sought, context, readings, stated), stated


async def read_echoes(reader: FactReader, case: Case, judgment: Judgment, about: Mapping[str, Metadata]) -> list[Echo]:
    """Which chunks of the context say what a wrong answer says."""
    statements = wrong_statements(judgment, case.sent.answer)
    context = _under_titles(case.context, about) or ()
    echoes: list[Echo] = []
    for passage in context if statements else ():
        if passage.text is not None:
            facts = await _facts(reader, case, passage.text, statements)
            echoes += [Echo(said, passage.id, found) for said, found in zip(statements, facts, strict=True)]
    return echoes


async def _facts(reader: FactReader, case: Case, text: str, facts: Iterable[str]) -> list[Statement]:
    item = Item(question=case.sought.question, answer=text, expected_facts=list(facts))
    return [statement_of(fact) for fact in (await reader.observe(item)).facts]


def _under_titles(context: Sequence[Passage] | None, about: Mapping[str, Metadata]) -> list[Passage] | None:
    """The context, each chunk under its document's title, which often names the version that the text is about."""
    if context is None:
        return None
    titles = {passage.id: about.get(passage.id, {}).get("title") for passage in context}
    return [
        replace(passage, text=f"# {title}\n\n{passage.text}")
        if passage.text and isinstance(title := titles[passage.id], str) and title.strip()
        else passage
        for passage in context
    ]
