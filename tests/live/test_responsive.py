"""While large requests are evaluated, the service goes on answering, and nothing gets mixed up."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

QUESTIONS, RESULTS = 10_000, 100


def request_of(rank: int, *, questions: int = QUESTIONS, per_question: bool = False) -> bytes:
    """Questions whose one relevant chunk stands at `rank` of its ranking of 100."""
    names = [f"Q{number:05}" for number in range(questions)]
    rankings = {}
    for number, name in enumerate(names):
        ranking = [f"D{number:05}-chunk-{place}" for place in range(RESULTS)]
        ranking[rank - 1] = f"{name}-gold"
        rankings[name] = ranking
    listed = [{"id": name, "question": f"Question {name}?", "relevant": [f"{name}-gold"]} for name in names]
    return json.dumps(
        {
            "dataset": {"questions": listed},
            "retrieval": {"rankings": rankings},
            "k": [RESULTS],
            "metrics": ["mrr"],
            "per_question": per_question,
        }
    ).encode()


def evaluate(url: str, body: bytes) -> dict[str, Any]:
    answer = httpx.post(f"{url}/retrieve-eval", content=body, timeout=60)
    assert answer.status_code == 200
    document: dict[str, Any] = answer.json()
    return document


def test_liveness_is_answered_while_10_000_questions_are_evaluated(service: str) -> None:
    body = request_of(4)
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=service) as client:
        evaluation = pool.submit(evaluate, service, body)
        answered = 0
        while not evaluation.done():
            answer = client.get("/healthz")
            assert answer.status_code == 200
            assert answer.json()["status"] == "ok"
            answered += 1
    assert evaluation.result()["metrics"]["mrr@100"]["value"] == 0.25
    assert answered >= 20


def test_small_evaluations_are_answered_rightly_beside_a_large_one(service: str) -> None:
    small = request_of(2, questions=3, per_question=True)
    with ThreadPoolExecutor(1) as pool:
        evaluation = pool.submit(evaluate, service, request_of(4))
        answers = []
        while not evaluation.done():
            answers.append(evaluate(service, small))
    assert evaluation.result()["questions"]["total"] == QUESTIONS
    assert answers
    for answer in answers:
        assert answer["metrics"]["mrr@100"]["value"] == 0.5
        assert [entry["id"] for entry in answer["per_question"]] == ["Q00000", "Q00001", "Q00002"]


def test_large_evaluations_at_the_same_time_do_not_mix(service: str) -> None:
    sizes = {1: 2000, 2: 2100, 4: 2200, 5: 2300, 8: 2400, 10: 2500}
    with ThreadPoolExecutor(len(sizes)) as pool:
        bodies = [request_of(rank, questions=size) for rank, size in sizes.items()]
        answers = list(pool.map(lambda body: evaluate(service, body), bodies))
    assert [answer["questions"]["eligible"] for answer in answers] == list(sizes.values())
    for rank, answer in zip(sizes, answers, strict=True):
        assert answer["metrics"]["mrr@100"]["value"] == pytest.approx(1 / rank)


def test_liveness_is_answered_while_a_body_comes_in_tiny_chunks(service: str) -> None:
    address = httpx.URL(service)
    head = b"POST /retrieve-eval HTTP/1.1\r\nhost: befund\r\ntransfer-encoding: chunked\r\n\r\n"

    def send_byte_by_byte() -> bytes:
        with socket.create_connection((address.host, address.port), timeout=60) as sock:
            sock.sendall(head + b"1\r\n \r\n" * 200_000 + b"0\r\n\r\n")
            return sock.recv(12)

    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=service) as client:
        refusal = pool.submit(send_byte_by_byte)
        answered = 0
        while not refusal.done():
            assert client.get("/healthz").status_code == 200
            answered += 1
    assert refusal.result() == b"HTTP/1.1 400"
    assert answered >= 20
