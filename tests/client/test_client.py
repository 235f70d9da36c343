import json
import socket
import time
from typing import Any

import httpx
import pytest

import befund_client
from befund.contract import Dataset, Question, RankingEntry, RetrieveEvalOptions
from befund_client import (
    AsyncClient,
    Client,
    ConflictError,
    NotFoundError,
    ProblemError,
    ResponseError,
    RetrievalOptions,
    RetrieveEvalKeywords,
    Retry,
    TransportError,
)

from .conftest import Ask, Reply, Service, measured, problem

DATASET = {"questions": [{"id": "Q1", "question": "?", "relevant": ["a"]}]}
ALIVE = {"status": "ok", "version": "0.1.0"}


def test_retrieve_eval_sends_the_documented_body(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=measured()))
    ask("retrieve_eval", DATASET, {"Q1": ["a", "b"]}, k=[1, 5], run="main", split=None)
    sent = service.asked[0]
    assert (sent.method, sent.path) == ("POST", "/retrieve-eval")
    assert json.loads(sent.body) == {
        "dataset": DATASET,
        "retrieval": {"rankings": {"Q1": ["a", "b"]}},
        "k": [1, 5],
        "run": "main",
    }


def test_a_live_search_takes_the_place_of_rankings(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=measured()))
    search = RetrievalOptions(collection="docs", top_k=5, where={"language": "de"})
    ask("retrieve_eval", DATASET, search, k=[5])
    assert json.loads(service.asked[0].body) == {
        "dataset": DATASET,
        "retrieval": {"collection": "docs", "top_k": 5, "where": {"language": "de"}},
        "k": [5],
    }


def test_data_sets_and_entries_may_be_typed(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=measured()))
    dataset = Dataset(questions=[Question(id="Q1", question="?", relevant={"a": 2.0})])
    ask("retrieve_eval", dataset, {"Q1": [RankingEntry(id="a", score=0.5)], "Q2": {"b": 0.1}})
    sent = json.loads(service.asked[0].body)
    assert sent["dataset"]["questions"][0]["relevant"] == {"a": 2.0}
    assert sent["retrieval"]["rankings"]["Q1"] == [{"id": "a", "score": 0.5}]
    assert sent["retrieval"]["rankings"]["Q2"] == {"b": 0.1}


def test_the_answer_is_typed_and_unknown_fields_are_tolerated(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=measured(news={"from": "a later version"})))
    answer = ask("retrieve_eval", "teralune", {"Q1": ["a"]})
    assert answer.metrics["hit_rate@1"].value == 0.75


def test_the_key_is_sent_as_bearer(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=ALIVE))
    ask("health", client={"key": "secret"})
    assert service.asked[0].headers["authorization"] == "Bearer secret"


def test_address_and_key_come_from_the_environment(ask: Ask, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEFUND_URL", service.url + "/")
    monkeypatch.setenv("BEFUND_API_KEY", "ambient\n")
    service.plays(Reply(body=ALIVE))
    assert ask("health", client={"url": None}).version == "0.1.0"
    assert service.asked[0].path == "/healthz"
    assert service.asked[0].headers["authorization"] == "Bearer ambient"


def test_without_a_key_none_is_sent(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=ALIVE))
    ask("health")
    assert "authorization" not in service.asked[0].headers


def test_not_ready_is_an_answer_and_asked_once(ask: Ask, service: Service) -> None:
    service.plays(Reply(503, {"status": "unready", "dependencies": {"store": {"state": "down", "detail": "locked"}}}))
    assert ask("ready").dependencies["store"].detail == "locked"
    assert len(service.asked) == 1


def test_post_returns_the_bytes_as_they_came(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=b'{"any":  1}'))
    assert ask("post", "/retrieve-eval", b"{}") == b'{"any":  1}'


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_passing_failures_are_retried(ask: Ask, service: Service, status: int) -> None:
    service.plays(Reply(status, b"<html>busy"), Reply(body=measured()))
    ask("retrieve_eval", "d", {"Q1": ["a"]})
    first, second = service.asked
    assert first.body == second.body


def test_repetitions_carry_the_same_idempotency_key_and_request_id(ask: Ask, service: Service) -> None:
    service.plays(Reply(503), Reply(body=measured()))
    ask("retrieve_eval", "d", {"Q1": ["a"]})
    first, second = service.asked
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.headers["x-request-id"] == second.headers["x-request-id"]


def test_two_calls_have_two_idempotency_keys(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=measured()))
    ask("retrieve_eval", "d", {"Q1": ["a"]})
    ask("retrieve_eval", "d", {"Q1": ["a"]})
    assert service.asked[0].headers["idempotency-key"] != service.asked[1].headers["idempotency-key"]


def test_retries_are_bounded(ask: Ask, service: Service) -> None:
    service.plays(Reply(503, problem(503, "the judge is down")))
    with pytest.raises(ProblemError, match="the judge is down"):
        ask("health")
    assert len(service.asked) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 413, 415, 422, 500])
def test_refusals_are_not_retried(ask: Ask, service: Service, status: int) -> None:
    service.plays(Reply(status, problem(status)))
    with pytest.raises(ProblemError) as caught:
        ask("retrieve_eval", "d", {"Q1": ["a"]})
    assert caught.value.status == status
    assert len(service.asked) == 1


def test_retry_after_is_waited_for(ask: Ask, service: Service) -> None:
    service.plays(Reply(429, problem(429), {"Retry-After": "1"}), Reply(body=ALIVE))
    started = time.monotonic()
    ask("health")
    assert time.monotonic() - started >= 1.0


def test_a_retry_after_beyond_the_budget_ends_the_call_at_once(ask: Ask, service: Service) -> None:
    service.plays(Reply(429, problem(429, "40 requests a minute"), {"Retry-After": "3600"}))
    started = time.monotonic()
    with pytest.raises(ProblemError, match="40 requests a minute"):
        ask("health")
    assert time.monotonic() - started < 2.0
    assert len(service.asked) == 1


def test_a_reset_connection_is_tried_again(ask: Ask, service: Service) -> None:
    service.plays(Reply(reset=True), Reply(body=ALIVE))
    assert ask("health").status == "ok"


def test_a_connection_that_always_breaks_is_a_transport_error(ask: Ask, service: Service) -> None:
    service.plays(Reply(reset=True))
    with pytest.raises(TransportError, match="after 3 attempts") as caught:
        ask("health")
    assert isinstance(caught.value.__cause__, httpx.RequestError)
    assert caught.value.request_id == service.asked[0].headers["x-request-id"]


def test_nobody_listening_says_where_and_what_to_check(ask: Ask) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(
            TransportError, match=f"no connection to {url}.* after 3 attempts: is the service running there"
        ):
            ask("health", client={"url": url})


def test_a_slow_answer_is_given_up_once(ask: Ask, service: Service) -> None:
    service.plays(Reply(body=ALIVE, after_seconds=0.5))
    with pytest.raises(TransportError, match=r"within 0\.1 s"):
        ask("health", client={"timeout": 0.1})
    assert len(service.asked) == 1


def test_an_error_holds_the_problem(ask: Ask, service: Service) -> None:
    places = [{"pointer": f"/questions/{n}/id", "detail": f"again {n}"} for n in range(5)]
    service.plays(Reply(422, problem(422, "a question id twice", errors=places, later="field")))
    with pytest.raises(ProblemError) as caught:
        ask("retrieve_eval", "d", {"Q1": ["a"]})
    assert caught.value.problem.errors[4].pointer == "/questions/4/id"
    assert caught.value.request_id == "r-1"
    assert str(caught.value) == (
        "Some title (422): a question id twice; /questions/0/id: again 0; /questions/1/id: again 1; "
        "/questions/2/id: again 2; and 2 more places [request r-1]"
    )


@pytest.mark.parametrize(("status", "kind"), [(404, NotFoundError), (409, ConflictError)])
def test_what_callers_catch_apart_has_its_class(ask: Ask, service: Service, status: int, kind: type[Exception]) -> None:
    service.plays(Reply(status, problem(status)))
    with pytest.raises(kind):
        ask("health")


@pytest.mark.parametrize("body", [b"{broken", b"\xff\xfe", b"[]", b'{"status": "fine"}', b""])
def test_an_answer_outside_the_contract_is_a_response_error(ask: Ask, service: Service, body: bytes) -> None:
    service.plays(Reply(200, body, {"X-Request-ID": "theirs"}))
    with pytest.raises(ResponseError, match="GET /healthz answered 200") as caught:
        ask("health")
    assert caught.value.request_id == "theirs"


def test_an_error_page_is_a_response_error_with_its_status(ask: Ask, service: Service) -> None:
    service.plays(Reply(502, b"<html>Bad gateway"))
    with pytest.raises(ResponseError, match="begins '<html>Bad gateway'") as caught:
        ask("health")
    assert caught.value.status == 502


def test_a_redirect_is_not_followed(ask: Ask, service: Service) -> None:
    service.plays(Reply(308, b"", {"Location": "https://elsewhere.example/"}))
    with pytest.raises(ResponseError, match=r"redirects to https://elsewhere\.example/"):
        ask("health", client={"key": "secret"})


def test_an_undecodable_encoding_is_a_transport_error(ask: Ask, service: Service) -> None:
    service.plays(Reply(200, b"not gzip", {"Content-Encoding": "gzip"}))
    with pytest.raises(TransportError):
        ask("health")


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("form", ["map", "dict", "entry"])
def test_a_score_that_json_cannot_write_is_refused(ask: Ask, score: float, form: str) -> None:
    rankings: dict[str, Any] = {
        "map": {"Q1": {"a": score}},
        "dict": {"Q1": [{"id": "a", "score": score}]},
        "entry": {"Q1": [RankingEntry(id="a", score=score)]},
    }
    with pytest.raises(ValueError, match=r"the score of 'a' for question 'Q1' is -?(nan|inf)"):
        ask("retrieve_eval", "d", rankings[form])


def test_an_unknown_option_is_a_type_error(ask: Ask) -> None:
    with pytest.raises(TypeError, match="no option 'cutoffs'"):
        ask("retrieve_eval", "d", {}, cutoffs=[1])


def test_a_string_is_no_ranking(ask: Ask) -> None:
    with pytest.raises(TypeError, match="give a list of ids"):
        ask("retrieve_eval", "d", {"Q1": "abc"})


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8080",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://host?x=1",
        "http://a\x1bb",
        "http://xn--a.ä\u0378",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no address of a service"):
        Client(url)


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="BEFUND_API_KEY") as caught:
        Client(key="geheim\x00")
    assert "geheim" not in str(caught.value)


def test_the_transport_can_be_given() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=ALIVE))
    with Client("http://nowhere.example", transport=transport) as client:
        assert client.health().version == "0.1.0"


def test_both_clients_have_the_same_verbs() -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert (
        verbs(Client)
        == verbs(AsyncClient)
        == {
            "calibrate",
            "close",
            "compare",
            "dataset",
            "datasets",
            "delete_dataset",
            "delete_question",
            "delete_run",
            "export_run",
            "health",
            "import_run",
            "post",
            "promote_run",
            "put_dataset",
            "ready",
            "rejudge_run",
            "retrieve_eval",
            "run",
            "runs",
            "ingest",
            "map_evidence",
            "judge",
            "judge_batch",
            "start_judging",
            "job",
            "cancel_job",
            "diagnose",
            "diagnose_batch",
            "run_question",
            "monitors",
            "monitor",
            "monitor_entries",
            "delete_monitor",
        }
    )


def test_every_option_of_the_contract_can_be_given() -> None:
    assert set(RetrieveEvalKeywords.__annotations__) == set(RetrieveEvalOptions.__struct_fields__)


def test_the_public_names_are_these() -> None:
    assert befund_client.__all__ == [
        "AsyncClient",
        "BefundError",
        "CalibrateKeywords",
        "CalibrationItem",
        "Client",
        "CompareKeywords",
        "CompareSide",
        "ConflictError",
        "DatasetFormat",
        "DatasetLike",
        "DiagnoseBatchKeywords",
        "DiagnoseItem",
        "DiagnoseKeywords",
        "DocumentLike",
        "FileError",
        "Gate",
        "GateLike",
        "JudgeBatchKeywords",
        "JudgeItem",
        "JudgeKeywords",
        "Loaded",
        "NotFoundError",
        "ProblemError",
        "RankingLike",
        "Rankings",
        "RankingsFormat",
        "ResponseError",
        "RetrievalOptions",
        "RetrieveEvalKeywords",
        "Retry",
        "SideLike",
        "TransportError",
        "compare_body",
        "read_answers",
        "read_calibration",
        "read_cases",
        "read_config",
        "read_dataset",
        "read_gates",
        "read_ids",
        "read_mapping",
        "read_rankings",
        "retrieve_eval_body",
    ]
    assert Retry().attempts == 4
