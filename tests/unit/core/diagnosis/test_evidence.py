from typing import Any

import pytest

from befund.core.diagnosis.gold import Wanted

from .conftest import QUESTION, Look

RETRIES = "Orbit 3.0 retries failed webhooks for "
WIEDERHOLT = "Orbit 3.0 wiederholt fehlgeschlagene Webhooks "

STATED = [
    f"{RETRIES}72 hours.",
    f"{RETRIES}three days.",
    f"{WIEDERHOLT}72 Stunden lang.",
    f"{WIEDERHOLT}drei Tage lang.",
    f"Orbit 2.4 retries failed webhooks for 24 hours. {RETRIES}72 hours.",
    "The retry window is 72 hours.",
]
NOT_STATED = [
    f"{RETRIES}24 hours.",
    "Orbit 2.4 retries failed webhooks for 72 hours.",
    "Orbit 2.4 wiederholt fehlgeschlagene Webhooks 72 Stunden lang.",
    "Orbit 3.0 does not retry failed webhooks for 72 hours.",
    "Orbit 3.0 wiederholt fehlgeschlagene Webhooks nicht 72 Stunden lang.",
    "The supplied documents do not specify how long webhooks are retried.",
    "Backups are kept for 72 hours.",
    "",
]


@pytest.mark.parametrize("text", STATED)
def test_a_text_that_states_the_fact_is_evidence(text: str, look: Look) -> None:
    found = look({"c1": text})
    assert (found.present, found.by, found.facts[0].chunk) == (True, "text", "c1")


@pytest.mark.parametrize("text", NOT_STATED)
def test_a_text_that_does_not_is_none(text: str, look: Look) -> None:
    found = look({"c1": text})
    assert (found.present, found.by, found.missing) == (False, "text", ["72 hours"])


def test_every_fact_must_be_stated_by_whichever_chunk(look: Look) -> None:
    facts = ["72 hours", "30 seconds"]
    first = {"c1": f"{RETRIES}72 hours."}
    assert look(first, facts=facts).missing == ["30 seconds"]
    both = first | {"c2": "The first retry of a failed webhook follows after 30 seconds."}
    assert [place.chunk for place in look(both, facts=facts).facts] == ["c1", "c2"]


def test_a_row_of_a_table_states_its_value(look: Look) -> None:
    table = (
        "| plan | requests | devices | seats | tokens |\n|---|---|---|---|---|\n| Growth | 300 | 1,200 | 6,000 | 90 |"
    )
    found = look({"c1": table}, question="How many requests does Growth allow?", facts=["300"])
    assert found.present is True


def test_a_version_is_no_count_and_a_heading_no_statement(look: Look) -> None:
    asked: dict[str, Any] = {"question": "How many exports may run at the same time?", "facts": ["3"]}
    assert look({"c1": "Exports of Orbit 3.0 run as a hosted service only."}, **asked).present is False
    assert look({"c1": "# Exports that may run: 3"}, **asked).present is False
    assert look({"c1": "At most three exports may run at the same time."}, **asked).present is True


def test_known_false_positives_are_no_evidence(look: Look) -> None:
    assert look({"c1": f"{RETRIES}72 hours."}, false_positives=["c1"]).present is False


def wanted(id_: str = "E1", *chunks: str, quote: str | None = None, grade: float = 1.0) -> Wanted:
    return Wanted(id=id_, grade=grade, chunks=chunks or ("g1",), quote=quote)


def test_what_an_expert_marked_counts_over_an_objection_of_the_rules(look: Look) -> None:
    quote = "An endpoint without a single success for five days is suspended."
    marked = [wanted(quote=quote)]
    asked: dict[str, Any] = {"question": "After how many days is an endpoint suspended?", "facts": ["5 days"]}
    assert look({"g1": f"{quote} Owners get a mail."}, wanted=marked, **asked).present is True


def test_with_ids_alone_all_gold_chunks_must_be_there(look: Look) -> None:
    gold = [wanted("E1", "g1"), wanted("E2", "g2", "g3")]
    assert look({"g1": None, "g2": None, "g3": None}, wanted=gold).present is True
    found = look({"g1": None, "g2": None}, wanted=gold)
    assert (found.present, found.by, [seen.in_context for seen in found.gold]) == (False, "id", [True, False])


def test_without_gold_ids_say_nothing(look: Look) -> None:
    assert (look({"g1": None}).present, look(None).present) == (None, None)


def test_without_facts_the_quotes_of_the_highest_grade_decide(look: Look) -> None:
    gold = [wanted("E1", quote="is never retried", grade=3.0), wanted("E2", quote="see the guide")]
    assert look({"c1": "Please see the guide."}, facts=(), wanted=gold).present is False
    found = look({"c1": "A 404 is\nnever  retried."}, facts=(), wanted=gold)
    assert (found.present, [seen.in_context for seen in found.gold]) == (True, [True, False])


def test_a_quote_that_is_cut_over_neighbours_is_there_with_both(look: Look) -> None:
    gold = [wanted("E1", "g1", "g2", quote="retried for 72 hours")]
    assert look({"g1": "It is retried for", "g2": "72 hours."}, facts=(), wanted=gold).present is True
    assert look({"g1": "It is retried for"}, facts=(), wanted=gold).present is False


def test_text_and_ids_that_disagree_are_told(look: Look) -> None:
    gold = [wanted("E1", "g1", quote="counted from the first attempt")]
    elsewhere = look({"c9": f"{RETRIES}72 hours, counted from the last failed attempt of webhooks."}, wanted=gold)
    assert elsewhere.present is True
    assert "no gold passage or chunk is in the context" in elsewhere.notes[0]
    lost = look({"g1": "Webhooks are sent as JSON."}, wanted=gold)
    assert lost.present is False
    assert "its text there does not state every fact" in lost.notes[0]


def test_a_quote_under_another_id_is_told(look: Look) -> None:
    marked = [wanted("E1", "g1", quote=f"{RETRIES}72 hours")]
    text = f"{RETRIES}72 hours."
    told = ["The quote of E1 stands in c1 of the context, and is mapped to g1."]
    assert look({"c1": text}, wanted=marked).notes == told
    assert look({"c1": text}, wanted=marked, facts=[]).notes == told
    assert look({"c1": text, "g1": text}, wanted=marked).notes == []


LOGS = "Audit entries of the logs stay available for 90 days and are then removed for good."
PROTOKOLLE = "Einträge im Prüfprotokoll bleiben 90 Tage lang verfügbar und werden dann endgültig gelöscht."
SITZ = "Jeder Sitzplatz wird mit 30 Euro im Monat berechnet, jährlich im Voraus."
SHORT = [
    ("How long are logs kept?", "90 days", "Logs: 90 days.", LOGS),
    ("Log retention?", "90 days", "The retention period is 90 days.", LOGS),
    (
        "Trial length?",
        "14 days",
        "The trial lasts 14 days.",
        "Every workspace may be tried for 14 days free of charge.",
    ),
    ("Wie lange werden Logs aufbewahrt?", "90 Tage", "Logs: 90 Tage.", PROTOKOLLE),
    ("Aufbewahrung der Logs?", "90 Tage", "Die Aufbewahrungsfrist beträgt 90 Tage.", PROTOKOLLE),
    ("Testphase?", "14 Tage", "Die Testphase dauert 14 Tage.", "Jeder Arbeitsbereich ist 14 Tage lang kostenlos."),
]
FOREIGN = [
    ("How long are logs kept?", "90 days", "Logs werden 90 Tage lang aufbewahrt.", PROTOKOLLE),
    ("How long are webhooks retried?", "72 hours", "Webhooks: 72 Stunden.", PROTOKOLLE),
    ("What does a seat cost?", "30 euro", "Ein Sitzplatz kostet 30 Euro im Monat.", SITZ),
    ("Wie lange werden Logs aufbewahrt?", "90 Tage", "Logs are kept for 90 days.", LOGS),
    ("Wie lange werden Webhooks wiederholt?", "72 Stunden", "Webhook retries: 72 hours.", LOGS),
]
ELSEWHERE = [
    ("How long are logs kept?", "90 days", "Backups are kept for 90 days.", LOGS),
    ("How long are logs kept?", "90 days", "Rechnungen sind binnen 90 Tagen zu bezahlen.", PROTOKOLLE),
    ("Wie lange werden Logs aufbewahrt?", "90 Tage", "Sicherungen werden 90 Tage lang aufbewahrt.", PROTOKOLLE),
    ("Wie lange werden Logs aufbewahrt?", "90 Tage", "Invoices must be paid within 90 days.", LOGS),
    (QUESTION, "72 hours", "After failed logins an account is locked for 72 hours.", LOGS),
    ("Logs in Orbit 3.0?", "90 days", "Orbit 2.4 keeps logs for 90 days.", LOGS),
    ("Logs in Orbit 3.0?", "90 days", "Orbit 2.4 bewahrt Logs 90 Tage lang auf.", PROTOKOLLE),
    ("Wie lange bewahrt Orbit 3.0 Logs auf?", "90 Tage", "Orbit 2.4 keeps logs for 90 days.", LOGS),
]


@pytest.mark.parametrize(("question", "fact", "text", "quote"), SHORT + FOREIGN)
def test_a_short_question_and_one_in_the_other_language_find_what_answers_them(
    question: str, fact: str, text: str, quote: str, look: Look
) -> None:
    assert look({"c1": text}, question=question, facts=[fact], wanted=[wanted(quote=quote)]).present is True


@pytest.mark.parametrize(("question", "fact", "text", "quote"), ELSEWHERE)
def test_the_same_figure_of_something_else_answers_nothing(
    question: str, fact: str, text: str, quote: str, look: Look
) -> None:
    assert look({"c1": text}, question=question, facts=[fact], wanted=[wanted(quote=quote)]).present is False
