"""POST /diagnose and /diagnose/batch over HTTP, with rules as judge and a real index."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from befund.app import create_app
from befund.settings import Settings

from .test_datasets import refused

pytestmark = pytest.mark.anyio

QUESTION = "How long does Orbit 3.0 retry failed webhooks?"
RETRIES = "Orbit 3.0 retries failed webhooks for "
OTHER_VERSION = "Orbit 2.4 retries failed webhooks for 24 hours."
SILENT = "The supplied documents do not specify webhook retry duration."
STAGES = ["ground_truth", "mapping", "index", "filter", "ranking", "context", "answer", "support"]


def case(said: str = f"{RETRIES}72 hours.", answer: str = f"{RETRIES}72 hours.", **changes: Any) -> dict[str, Any]:
    """An answer over a context that says so."""
    return {
        "question": QUESTION,
        "expected_facts": ["72 hours"],
        "answer": answer,
        "context": [{"id": "c1", "text": said}],
        "judge": "rules",
    } | changes


async def refused_at(call: Any, status: int, code: str, pointer: str) -> None:
    problem = await refused(call, status, code)
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


async def diagnosed(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post("/diagnose", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def batched(client: httpx.AsyncClient, items: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    answer = await client.post("/diagnose/batch", json={"items": items, **options})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


SCENARIOS = {
    "SUCCESS": case(),
    "RETRIEVAL_FAILURE": case(OTHER_VERSION, f"{RETRIES}24 hours."),
    "GENERATION_FAILURE": case(answer=f"{RETRIES}48 hours."),
    "UNSUPPORTED_CORRECT_ANSWER": case(SILENT),
}
WIEDERHOLT = "Orbit 3.0 wiederholt fehlgeschlagene Webhooks "
PARAPHRASED = [
    ("SUCCESS", f"{WIEDERHOLT}72 Stunden lang.", f"{WIEDERHOLT}drei Tage lang."),
    ("SUCCESS", f"{RETRIES}three days.", f"{RETRIES}72 hours."),
    ("SUCCESS", f"{RETRIES}72 hours.", f"{WIEDERHOLT}drei Tage lang."),
    ("RETRIEVAL_FAILURE", "Orbit 2.4 wiederholt Webhooks 24 Stunden lang.", f"{WIEDERHOLT}24 Stunden lang."),
    ("GENERATION_FAILURE", f"{WIEDERHOLT}72 Stunden lang.", f"{WIEDERHOLT}zwei Tage lang."),
    ("GENERATION_FAILURE", f"{RETRIES}72 hours.", "Orbit 3.0 does not retry failed webhooks for 72 hours."),
    ("UNSUPPORTED_CORRECT_ANSWER", "Die Unterlagen nennen keine Dauer.", f"{WIEDERHOLT}72 Stunden lang."),
    ("UNSUPPORTED_CORRECT_ANSWER", "Orbit 3.0 does not retry failed webhooks for 72 hours.", f"{RETRIES}72 hours."),
]


async def test_without_a_key_it_is_401_and_without_the_scope_403(kept_guarded: httpx.AsyncClient) -> None:
    for path, body in (("/diagnose", case()), ("/diagnose/batch", {"items": [case()]})):
        await refused(kept_guarded.post(path, json=body), 401, "unauthorized")
        await refused(kept_guarded.post(path, json=body, headers={"x-api-key": "dash-secret"}), 403, "forbidden")


@pytest.mark.parametrize(("expected", "body"), SCENARIOS.items(), ids=SCENARIOS)
async def test_the_four_scenarios(kept: httpx.AsyncClient, expected: str, body: dict[str, Any]) -> None:
    found = await diagnosed(kept, body)
    assert found["diagnosis"] == expected
    assert [stage["stage"] for stage in found["stages"]] == STAGES
    assert [stage["state"] for stage in found["stages"][2:5]] == ["not_probed"] * 3


@pytest.mark.parametrize(("expected", "context", "answer"), PARAPHRASED)
async def test_the_scenarios_in_other_words(kept: httpx.AsyncClient, expected: str, context: str, answer: str) -> None:
    assert (await diagnosed(kept, case(context, answer)))["diagnosis"] == expected


async def test_a_judgment_that_is_sent_is_taken_as_it_is(kept: httpx.AsyncClient) -> None:
    judgment = (await kept.post("/judge", json=case())).json()
    overruled = judgment | {"correct": False}
    found = await diagnosed(kept, case(judgment=overruled))
    assert (found["diagnosis"], found["judgment"]["id"]) == ("GENERATION_FAILURE", judgment["id"])


def by_a_model(quote: str, **verdicts: Any) -> dict[str, Any]:
    """A judgment as a model gives it: no rule has a name in it."""
    claim = {"claim": quote, "verdict": "contradicted", "chunk_id": "c1", "quote": None, "quote_verified": None}
    return {
        "correct": False, "faithful": False, "behaved": None, "reason": "It says otherwise.",
        "status": {"correct": "scored", "faithful": "scored", "behaved": "not_evaluable"},
        "facts": [{"fact": "72 hours", "verdict": "contradicted", "quote": quote}],
        "claims": [claim],
        "observed_behavior": "answer", "agreement": 1.0, "flags": [],
        "judge": {"name": "jury", "model": "some-model", "rubric": "2026-11", "fingerprint": "sha256:0"},
        "usage": {}, "cached": False, "latency_ms": 1.0, "id": "j1",
    } | verdicts  # fmt: skip


@pytest.mark.parametrize(
    ("context", "answer", "causes"),
    [
        (f"{RETRIES}72 hours.", f"{RETRIES}48 hours.", ["MISREAD", "OUTSIDE_KNOWLEDGE"]),
        (f"{RETRIES}72 hours.", "Orbit 3.0 does not retry failed webhooks for 72 hours.", ["MISREAD"]),
        (f"{RETRIES}72 hours. {OTHER_VERSION}", f"{RETRIES}24 hours.", ["VERSION_CONFUSION", "MISREAD"]),
    ],
)
async def test_what_a_model_judged_is_diagnosed_as_what_rules_judged(
    kept: httpx.AsyncClient, context: str, answer: str, causes: list[str]
) -> None:
    for judgment in (by_a_model(answer), None):
        found = await diagnosed(kept, case(context, answer, judgment=judgment))
        assert [found["cause"]["code"], *(each["code"] for each in found["contributing"])] == causes


async def test_gold_can_be_sent_with_the_answer(kept: httpx.AsyncClient) -> None:
    gold = {"evidence": [{"id": "E1", "quote": f"{RETRIES}72 hours"}], "evidence_mapping": {"E1": ["c1"]}}
    found = await diagnosed(kept, case(**gold))
    assert found["evidence"] == [{"id": "E1", "chunks": ["c1"], "in_context": True, "by": "text"}]
    by_id = await diagnosed(kept, case(relevant=["c1", "c2"], context=[{"id": "c1"}]))
    assert [(each["id"], each["in_context"], each["by"]) for each in by_id["evidence"]] == [
        ("c1", True, "id"), ("c2", False, "id"),
    ]  # fmt: skip
    assert by_id["diagnosis"] == "UNSUPPORTED_CORRECT_ANSWER"


async def test_a_question_of_a_data_set_brings_its_gold(kept: httpx.AsyncClient) -> None:
    body = {"dataset": "teralune", "question_id": "Q001", "answer": SILENT, "context": [{"id": "c1", "text": SILENT}]}
    found = await diagnosed(kept, body | {"retrieved": ["c1", "D003-chunk-1"], "top_k": 1})
    assert (found["diagnosis"], found["cause"]["code"]) == ("RETRIEVAL_FAILURE", "RANKED_BELOW_K")
    assert found["cause"]["detail"] == "D003-chunk-1 is at rank 2, top_k is 1"
    assert found["question_id"] == "Q001"


async def test_what_cannot_be_read_is_refused_with_its_place(kept: httpx.AsyncClient) -> None:
    await refused_at(kept.post("/diagnose", json=case(top_k=0)), 400, "malformed-request", "/top_k")
    await refused(kept.post("/diagnose", json=case(expected="x")), 400, "malformed-request")
    both = {"evidence": [{"id": "E1"}], "relevant": ["c1"]}
    await refused_at(kept.post("/diagnose", json=case(**both)), 422, "gold-given-twice", "/relevant")
    await refused(kept.post("/diagnose", json=case(run="main", dataset="teralune")), 422, "question-id-missing")


async def test_one_item_of_a_batch_fails_alone(kept: httpx.AsyncClient) -> None:
    items = [case(), {"answer": 7}, case(question=None), case(SILENT)]
    found = await batched(kept, items)
    classes = [each["diagnosis"] and each["diagnosis"]["diagnosis"] for each in found["results"]]
    assert classes == ["SUCCESS", None, None, "UNSUPPORTED_CORRECT_ANSWER"]
    problems = [each["problem"]["errors"][0]["pointer"] for each in found["results"][1:3]]
    assert problems == ["/items/1/answer", "/items/2/question"]
    assert found["summary"]["diagnoses"]["SUCCESS"] == {"n": 1, "questions": [], "items": [0]}


async def test_a_summary_sorts_the_work(kept: httpx.AsyncClient) -> None:
    wrong = [case(answer=f"{RETRIES}{hours} hours.", question_id=f"Q{hours}") for hours in (12, 48)]
    found = await batched(kept, [case(), *wrong, case(SILENT)], judge="rules")
    summary = found["summary"]
    assert list(summary["diagnoses"]) == ["GENERATION_FAILURE", "UNSUPPORTED_CORRECT_ANSWER", "SUCCESS"]
    assert summary["diagnoses"]["GENERATION_FAILURE"] == {"n": 2, "questions": ["Q12", "Q48"], "items": [1, 2]}
    assert [(code, group["n"]) for code, group in summary["causes"].items()] == [("MISREAD", 2), ("NOT_RETRIEVED", 1)]
    assert summary["rates"]["correct"]["n"] == 4


async def test_too_many_items_are_refused(kept: httpx.AsyncClient) -> None:
    items = [{"answer": ""}] * 1_001
    await refused_at(kept.post("/diagnose/batch", json={"items": items}), 422, "too-many-items", "/items")


@pytest.mark.parametrize(
    ("answer", "changes", "place"),
    [
        ("Nothing is known.", {"correct": True}, "correct"),
        ("Orbit 3.0 retries for 72 hours.", {"correct": None}, "correct"),
        (
            "Orbit 3.0 retries for 72 hours.",
            {"status": {"correct": "failed", "faithful": "scored", "behaved": "scored"}},
            "correct",
        ),
    ],
)
async def test_a_judgment_that_contradicts_itself_is_refused(
    kept: httpx.AsyncClient, answer: str, changes: dict[str, Any], place: str
) -> None:
    judgment = (await kept.post("/judge", json=case(answer=answer))).json()
    found = await kept.post("/diagnose", json=case(answer=answer, judgment=judgment | changes))
    assert (found.status_code, found.json()["type"].rpartition("/")[2]) == (422, "contradictory-judgment")
    assert found.json()["errors"][0]["pointer"] == f"/judgment/{place}"


@pytest.mark.parametrize("quote", ["...", "\u200b", "\u00ad", "   "])
async def test_a_quote_without_a_word_hides_no_evidence(kept: httpx.AsyncClient, quote: str) -> None:
    found = await diagnosed(kept, case(evidence=[{"id": "E1", "relevance": 1, "quote": quote}]))
    assert found["evidence_present"] is True


async def test_a_run_keeps_diagnosis_and_judgment(kept: httpx.AsyncClient) -> None:
    about = {"dataset": "teralune", "question_id": "Q001", "run": "main", "config": {"prompt": "v1"}}
    found = await diagnosed(kept, {"answer": SILENT, "context": [{"id": "c1", "text": SILENT}], **about})
    run = (await kept.get("/runs/main")).json()
    assert run["diagnoses"] == {"RETRIEVAL_FAILURE": {"n": 1, "questions": ["Q001"]}}
    assert run["causes"]["NOT_RETRIEVED"]["questions"] == ["Q001"]
    assert run["rates"]["correct"]["n"] == 1
    (record,) = run["records"]
    assert record["judgment"]["judgment"]["id"] == found["judgment"]["id"]
    assert record["diagnosis"]["diagnosis"]["cause"] == found["cause"]
    assert record["diagnosis"]["diagnosis"]["judgment"] is None


async def test_one_question_of_a_run_is_read_by_itself(kept: httpx.AsyncClient) -> None:
    for question in ("Q001", "Q002"):
        await diagnosed(kept, {"dataset": "teralune", "question_id": question, "run": "main", "answer": SILENT})
    found = (await kept.get("/runs/main/questions/Q002")).json()
    assert (found["name"], found["question_id"], found["question"]["expected_facts"]) == ("main", "Q002", ["24 hours"])
    assert found["diagnosis"]["diagnosis"]["question_id"] == "Q002"
    await refused(kept.get("/runs/main/questions/Q003"), 404, "unknown-question")
    await refused(kept.get("/runs/main/questions/none"), 404, "unknown-question")
    await refused(kept.get("/runs/none/questions/Q001"), 404, "unknown-run")


RUN = {"dataset": "teralune", "question_id": "Q001", "run": "main"}
SILENCE = {"answer": SILENT, "context": [{"id": "c1", "text": SILENT}]}


async def ranked(client: httpx.AsyncClient, *ranking: str, **options: Any) -> None:
    """A run that holds this ranking for Q001."""
    retrieval = {"rankings": {"Q001": list(ranking)}}
    body = {"dataset": "teralune", "retrieval": retrieval, "run": "main", **options}
    answer = await client.post("/retrieve-eval", json=body)
    assert answer.status_code == 200, answer.text


async def test_the_ranking_of_the_run_is_the_one_that_is_diagnosed(kept: httpx.AsyncClient) -> None:
    await ranked(kept, "c1", "x", "D003-chunk-1", config={"retrieval": {"top_k": 2}})
    found = await diagnosed(kept, RUN | SILENCE)
    assert found["cause"]["detail"] == "D003-chunk-1 is at rank 3, top_k is 2"
    assert found["notes"] == []
    batch = await batched(kept, [{"question_id": "Q001", **SILENCE}], dataset="teralune", run="main", top_k=3)
    (result,) = batch["results"]
    assert result["diagnosis"]["cause"]["code"] == "DROPPED_FROM_CONTEXT"
    assert result["diagnosis"]["notes"] == ["top_k is 3 as it was sent, and 2 in the run; what was sent counts."]


async def test_a_ranking_that_is_sent_counts_over_that_of_the_run(kept: httpx.AsyncClient) -> None:
    await ranked(kept, "c1", "D003-chunk-1")
    found = await diagnosed(kept, RUN | SILENCE | {"retrieved": ["c1", "x"]})
    assert found["cause"]["detail"] == "D003-chunk-1 is not among the 2 chunks that were retrieved"
    assert found["notes"] == [
        "The ranking that was sent is not the one that the run holds; the one that was sent counts."
    ]
    same = await diagnosed(kept, RUN | SILENCE | {"retrieved": ["c1"]})
    assert same["notes"] == []
    stored = (await kept.get("/runs/main/questions/Q001")).json()
    assert stored["diagnosis"]["retrieved"] == ["c1"]


async def test_a_judgment_of_the_run_is_taken_again(kept: httpx.AsyncClient) -> None:
    judged = (await kept.post("/judge", json=RUN | SILENCE | {"judge": "rules"})).json()
    for judge in ({}, {"judge": "rules"}):
        found = await diagnosed(kept, RUN | SILENCE | judge)
        assert (found["judgment"]["id"], found["judgment"]["cached"]) == (judged["id"], True)
    stored = (await kept.get("/runs/main/questions/Q001")).json()
    assert stored["judgment"]["judgment"]["id"] == judged["id"]
    assert stored["diagnosis"]["diagnosis"]["judgment"] is None


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({"answer": "72 hours."}, ["The run holds a judgment of another answer; the judge was asked anew."]),
        ({"context": []}, ["The run holds a judgment of another context or of another ground truth; "
                           "the judge was asked anew."]),
        ({"expected_facts": ["72 hours", "three attempts"]},
         ["The run holds a judgment of another context or of another ground truth; the judge was asked anew."]),
        ({"use_cache": False}, []),
    ],
)  # fmt: skip
async def test_a_judgment_of_anything_else_is_not(
    kept: httpx.AsyncClient, changes: dict[str, Any], notes: list[str]
) -> None:
    judged = (await kept.post("/judge", json=RUN | SILENCE)).json()
    found = await diagnosed(kept, RUN | SILENCE | changes)
    assert found["judgment"]["id"] != judged["id"]
    assert found["notes"] == notes


async def test_a_judgment_that_is_sent_counts_over_that_of_the_run(kept: httpx.AsyncClient) -> None:
    judged = (await kept.post("/judge", json=RUN | SILENCE)).json()
    found = await diagnosed(kept, RUN | SILENCE | {"judgment": judged | {"faithful": not judged["faithful"]}})
    word = {True: "true", False: "false"}
    assert found["faithful"] is not judged["faithful"]
    assert found["notes"] == [
        f"faithful is {word[found['faithful']]} in the judgment that was sent, {word[judged['faithful']]} in the run; "
        "the judgment that was sent counts."
    ]


async def test_a_run_that_is_begun_anew_is_not_looked_into(kept: httpx.AsyncClient) -> None:
    await ranked(kept, "c1", "D003-chunk-1")
    found = await diagnosed(kept, RUN | SILENCE | {"replace_run": True})
    assert found["cause"]["code"] == "NOT_RETRIEVED"


async def test_a_run_of_two_data_sets_is_none(kept: httpx.AsyncClient) -> None:
    items = [{"answer": "", "question_id": "Q001", "dataset": name} for name in ("teralune", "other")]
    answer = kept.post("/diagnose/batch", json={"items": items, "run": "main"})
    await refused(answer, 422, "several-datasets")


async def test_a_repetition_gets_the_first_answer(kept: httpx.AsyncClient) -> None:
    body = {"dataset": "teralune", "question_id": "Q001", "run": "main", "answer": SILENT}
    headers = {"Idempotency-Key": "once"}
    first = await kept.post("/diagnose", json=body, headers=headers)
    again = await kept.post("/diagnose", json=body, headers=headers)
    assert (again.content, again.headers["Idempotency-Replayed"]) == (first.content, "true")


async def test_without_texts_a_run_keeps_ids_and_ranks(serve_kept: Callable[..., Any]) -> None:
    client = await serve_kept(store_content="ids")
    questions = [{"id": "Q1", "question": QUESTION, "expected_facts": ["72 hours"], "relevant": ["g1"]}]
    await client.put("/datasets/own", json={"questions": questions})
    body = case(
        SILENT, f"{RETRIES}24 hours.", dataset="own", question_id="Q1", retrieved=["c1", "g1"], top_k=1, run="main"
    )
    await diagnosed(client, body)
    stored = (await client.get("/runs/main")).text
    for text in ("72 hours", "24 hours", "specify", "g1 is at rank"):
        assert text not in stored
    assert '"rank":2' in stored


async def test_diagnoses_are_counted_and_logged_without_texts(
    kept: httpx.AsyncClient, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    series = 'befund_diagnoses_total{cause="MISREAD",diagnosis="GENERATION_FAILURE"}'
    assert f"{series} 0.0" in (await kept.get("/metrics")).text
    await diagnosed(kept, SCENARIOS["GENERATION_FAILURE"] | {"question_id": "Q1", "retrieved": ["c1", "c2"]})
    text = (await kept.get("/metrics")).text
    assert f"{series} 1.0" in text
    assert 'befund_judgments_total{caller="anonymous",dimension="correct",judge="rules",verdict="false"} 1.0' in text
    (line,) = [line for line in logged() if line["event"] == "evaluated"]
    wanted = {"question_id": "Q1", "retrieved": ["c1", "c2"], "context": ["c1"], "endpoint": "/diagnose"}
    wanted |= {"diagnosis": "GENERATION_FAILURE", "cause": "MISREAD", "correct": False}
    assert {name: line[name] for name in wanted} == wanted
    assert "48 hours" not in str(line)


@pytest.fixture
async def indexed(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """With an index that holds three documents of one chunk each."""
    app: Any = create_app(Settings(data_dir=tmp_path), checks=[])
    async with app.app.lifespan():
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://befund")
        documents = [
            {"id": "new", "text": f"{RETRIES}72 hours.", "metadata": {"version": "3.0", "roles": ["staff"]}},
            {"id": "old", "text": OTHER_VERSION, "metadata": {"version": "2.4", "roles": ["public", "staff"]}},
            {"id": "far", "text": "Charities get a discount.", "metadata": {"version": "3.0", "roles": ["public"]}},
        ]
        await client.post("/collections/docs/documents", json={"documents": documents})
        yield client


GOLD = {"evidence": [{"id": "E1", "document": "new", "quote": f"{RETRIES}72 hours"}]}
PROBED = case(OTHER_VERSION, f"{RETRIES}24 hours.", **GOLD, evidence_mapping={"E1": ["new-chunk-1"]}, collection="docs")


async def test_the_index_is_looked_into(indexed: httpx.AsyncClient) -> None:
    found = await diagnosed(indexed, PROBED | {"where": {"version": "2.4"}})
    assert found["cause"]["code"] == "FILTERED_OUT"
    assert found["cause"]["clause"] == {"version": "2.4"}
    assert [stage["state"] for stage in found["stages"]] == [
        "ok", "ok", "ok", "failed", "skipped", "skipped", "failed", "failed",
    ]  # fmt: skip


async def test_a_chunk_that_the_index_returns_was_dropped_later(indexed: httpx.AsyncClient) -> None:
    found = await diagnosed(indexed, PROBED | {"top_k": 2})
    assert (found["cause"]["code"], found["cause"]["confidence"]) == ("DROPPED_FROM_CONTEXT", "inferred")
    ranking = found["stages"][4]
    assert (ranking["chunk"], ranking["rank"], ranking["k"]) == ("new-chunk-1", 1, 2)


async def test_a_quote_is_found_without_any_mapping(indexed: httpx.AsyncClient) -> None:
    body = {name: value for name, value in PROBED.items() if name != "evidence_mapping"}
    found = await diagnosed(indexed, body | {"top_k": 2})
    assert found["stages"][1] == {"stage": "mapping", "state": "ok", "detail": "found by its quote in new-chunk-1"}


async def test_what_may_not_be_read_is_known_from_the_index(indexed: httpx.AsyncClient) -> None:
    body = case(role="public", collection="docs", context=[{"id": "new-chunk-1", "text": f"{RETRIES}72 hours."}])
    found = await diagnosed(indexed, body)
    assert [cause["code"] for cause in found["contributing"]] == ["ACCESS_LEAK"]


async def test_what_of_the_index_cannot_be_used_is_refused(indexed: httpx.AsyncClient) -> None:
    await refused(indexed.post("/diagnose", json=PROBED | {"collection": "none"}), 404, "unknown-collection")
    await refused_at(
        indexed.post("/diagnose", json=PROBED | {"where": {"a": {"$like": 1}}}), 422, "bad-filter", "/where"
    )
    await refused_at(
        indexed.post("/diagnose", json=PROBED | {"embedder": "other"}), 422, "unknown-embedder", "/embedder"
    )
    batch = {"items": [PROBED], "collection": "none"}
    await refused(indexed.post("/diagnose/batch", json=batch), 404, "unknown-collection")


async def test_items_of_a_batch_may_look_into_different_collections(indexed: httpx.AsyncClient) -> None:
    items = [case(), PROBED | {"collection": None}, PROBED | {"collection": "none"}]
    found = await batched(indexed, items, collection="docs", where={"version": "2.4"})
    assert [each["problem"] and each["problem"]["type"] for each in found["results"]] == [
        None, None, "/problems/unknown-collection",
    ]  # fmt: skip
    assert found["results"][1]["diagnosis"]["cause"]["code"] == "FILTERED_OUT"
