"""What only a real server shows: raw sockets, chunked bodies, slow callers, signals."""

import json
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

EXAMPLE: dict[str, Any] = {
    "dataset": {"questions": [{"id": "Q1", "question": "A private question?", "relevant": ["c1"]}]},
    "retrieval": {"rankings": {"Q1": ["c1", "c2"]}},
}


def large_body(megabytes: int) -> bytes:
    filler = [{"id": f"Q{number}", "question": "?" * 1000} for number in range(megabytes * 1000)]
    return json.dumps({**EXAMPLE, "dataset": {"questions": filler}, "per_question": False}).encode()


def connection_to(url: str) -> socket.socket:
    address = httpx.URL(url)
    return socket.create_connection((address.host, address.port), timeout=20)


def until_no_caller_is_taken(url: str) -> None:
    while True:
        try:
            connection_to(url).close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:  # it was waiting to be accepted when the service let go of its address
            continue


def read_answer(sock: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one answer off a socket: status, headers, body."""
    with sock.makefile("rb") as stream:
        status = int(stream.readline().split()[1])
        headers: dict[str, str] = {}
        while line := stream.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        return status, headers, stream.read(int(headers.get("content-length", 0)))


def head_of(length: int | None) -> bytes:
    framing = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
    lines = ["POST /retrieve-eval HTTP/1.1", "host: befund", "content-type: application/json", framing, "", ""]
    return "\r\n".join(lines).encode()


def test_it_answers(service: str) -> None:
    assert httpx.get(f"{service}/healthz").json()["status"] == "ok"
    assert httpx.post(f"{service}/retrieve-eval", json=EXAMPLE).status_code == 200


def test_it_hides_what_it_is_built_with(service: str) -> None:
    assert "server" not in httpx.get(f"{service}/healthz").headers


def test_a_body_over_the_limit_is_refused_by_its_length_alone(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_MAX_BODY_BYTES="1000")
    with connection_to(process.url) as sock:
        sock.sendall(head_of(1001))
        status, headers, body = read_answer(sock)
    assert status == 413
    assert headers["content-type"] == "application/problem+json"
    assert json.loads(body)["type"] == "/problems/body-too-large"


def test_a_caller_who_wants_to_close_can_send_all_and_read_the_refusal(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_MAX_BODY_BYTES="1000")
    with connection_to(process.url) as sock:
        sock.sendall(head_of(20_000_000).replace(b"host: ", b"connection: close\r\nhost: ") + b" " * 20_000_000)
        assert read_answer(sock)[0] == 413
        assert sock.recv(1) == b""


def test_a_chunked_body_over_the_limit_is_refused(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_MAX_BODY_BYTES="1000")
    with connection_to(process.url) as sock:
        sock.sendall(head_of(None) + b"1f4\r\n" + b" " * 500 + b"\r\n1f5\r\n" + b" " * 501 + b"\r\n")
        assert read_answer(sock)[0] == 413


def test_a_chunked_body_within_the_limit_is_read(service: str) -> None:
    answer = httpx.post(f"{service}/retrieve-eval", content=iter([json.dumps(EXAMPLE).encode()]))
    assert answer.status_code == 200


def test_callers_who_stop_halfway_hold_up_nobody(service: str) -> None:
    halves = [b"GET /healthz HTTP/1.1\r\nhost: bef", head_of(1_000_000) + b"{", head_of(None) + b"5\r\n{"]
    with ExitStack() as stack:
        for number in range(30):
            stack.enter_context(connection_to(service)).sendall(halves[number % len(halves)])
        began = time.monotonic()
        assert httpx.get(f"{service}/healthz").status_code == 200
        assert httpx.post(f"{service}/retrieve-eval", json=EXAMPLE).status_code == 200
        assert time.monotonic() - began < 1


def test_a_large_evaluation_does_not_hold_up_liveness(service: str) -> None:
    body = large_body(8)
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=service) as client:
        client.get("/healthz")
        evaluation = pool.submit(httpx.post, f"{service}/retrieve-eval", content=body, timeout=60)
        waits: list[float] = []
        while not evaluation.done():
            began = time.monotonic()
            assert client.get("/healthz").status_code == 200
            waits.append(time.monotonic() - began)
        assert evaluation.result().status_code == 200
    assert max(waits) < 0.5


def test_the_log_is_lines_of_json_without_content_or_keys(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_API_KEYS="ci:hunter2=evaluate", BEFUND_TYPO="x")
    httpx.post(f"{process.url}/retrieve-eval", json=EXAMPLE, headers={"x-api-key": "hunter2"})
    httpx.post(f"{process.url}/retrieve-eval", content=b"private{", headers={"x-api-key": "hunter3"})
    process.popen.send_signal(signal.SIGTERM)
    code, lines = process.end()
    events = [json.loads(line) for line in lines]
    assert code == 0
    assert [event["status"] for event in events if event["event"] == "request"] == [200, 401]
    assert [event["caller"] for event in events if event["event"] == "request"] == ["ci", "anonymous"]
    assert {"event": "unknown setting", "name": "BEFUND_TYPO"}.items() <= events[0].items()
    assert not [line for line in lines if "hunter" in line or "private" in line]


def test_sigterm_lets_an_evaluation_finish(serve: Callable[..., Any]) -> None:
    process = serve()
    body = large_body(20)
    with connection_to(process.url) as sock:
        sock.sendall(head_of(len(body)) + body)
        process.popen.send_signal(signal.SIGTERM)
        assert read_answer(sock)[0] == 200
    assert process.end()[0] == 0


def test_sigterm_lets_evaluations_finish_that_wait_for_a_place(serve: Callable[..., Any]) -> None:
    process = serve()
    body = large_body(4)
    with ExitStack() as stack:
        sockets = [stack.enter_context(connection_to(process.url)) for _ in range(6)]
        for sock in sockets:
            sock.sendall(head_of(len(body)) + body)
        process.popen.send_signal(signal.SIGTERM)
        assert [read_answer(sock)[0] for sock in sockets] == [200] * 6
    assert process.end()[0] == 0


def test_sigterm_lets_a_body_on_its_way_arrive_and_takes_no_new_caller(serve: Callable[..., Any]) -> None:
    process = serve()
    body = json.dumps(EXAMPLE).encode()
    with connection_to(process.url) as sock:
        sock.sendall(head_of(len(body)) + body[:10])
        assert httpx.get(f"{process.url}/healthz").status_code == 200
        process.popen.send_signal(signal.SIGTERM)
        until_no_caller_is_taken(process.url)
        sock.sendall(body[10:])
        status, headers, _ = read_answer(sock)
    assert status == 200
    assert headers["connection"] == "close"
    assert process.end()[0] == 0


def test_a_body_that_never_ends_does_not_hold_up_the_end(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_SHUTDOWN_SECONDS="1")
    with connection_to(process.url) as sock:
        sock.sendall(head_of(1_000_000) + b"{")
        assert httpx.get(f"{process.url}/healthz").status_code == 200
        process.popen.send_signal(signal.SIGTERM)
        status, _, body = read_answer(sock)
    code, lines = process.end()
    assert (status, json.loads(body)["status"]) == (503, 503)
    assert code == 1
    assert [json.loads(line)["status"] for line in lines if '"request"' in line] == [200, 503]


def test_an_evaluation_that_takes_too_long_does_not_hold_up_the_end(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_SHUTDOWN_SECONDS="1")
    questions = [{"id": f"Q{number}", "question": "?", "relevant": ["c1"]} for number in range(10_000)]
    slow = {
        "dataset": {"questions": questions},
        "retrieval": {"rankings": {question["id"]: ["c2", "c1"] for question in questions}},
        "k": list(range(1, 101)),
        "per_question": False,
    }
    body = json.dumps(slow).encode()
    with ExitStack() as stack:
        sockets = [stack.enter_context(connection_to(process.url)) for _ in range(8)]
        for sock in sockets:
            sock.sendall(head_of(len(body)) + body)
        assert httpx.get(f"{process.url}/healthz").status_code == 200
        process.popen.send_signal(signal.SIGTERM)
        assert 503 in {read_answer(sock)[0] for sock in sockets}
    assert process.end()[0] == 1


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_quits_at_once(serve: Callable[..., Any], second: signal.Signals) -> None:
    process = serve()
    with connection_to(process.url) as sock:
        sock.sendall(head_of(100) + b"{")
        assert httpx.get(f"{process.url}/healthz").status_code == 200
        process.popen.send_signal(signal.SIGTERM)
        until_no_caller_is_taken(process.url)
        assert process.popen.poll() is None
        process.popen.send_signal(second)
        assert process.popen.wait(timeout=20) == -second


def test_an_address_in_use_is_an_error(service: str) -> None:
    port = str(httpx.URL(service).port)
    command = [sys.executable, "-m", "befund", "serve", "--port", port]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 3
    assert finished.stdout == ""
    assert finished.stderr == (
        f"befund: cannot listen on 127.0.0.1:{port} (Address already in use): --port takes another, 0 a free one\n"
    )


def test_the_data_folder_is_said_at_the_start(serve: Callable[..., Any], tmp_path: Path) -> None:
    process = serve(BEFUND_DATA_DIR=str(tmp_path / "kept"))
    assert process.popen.stdout.readline() == f"Data folder: {tmp_path}/kept (BEFUND_DATA_DIR)\n"


def test_bodies_still_arriving_are_refused_when_there_is_no_room(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_MAX_BODY_BYTES="1000000")
    with ExitStack() as stack:
        sockets = [stack.enter_context(connection_to(process.url)) for _ in range(5)]
        for sock in sockets:
            sock.sendall(head_of(1_000_000) + b" " * 999_999)
        refused, _, _ = select.select(sockets, [], [], 20)
        status, headers, body = read_answer(refused[0])
        assert httpx.get(f"{process.url}/healthz").status_code == 200
    assert (status, headers["retry-after"]) == (503, "2")
    assert json.loads(body)["type"] == "/problems/busy"


def test_a_body_that_trickles_is_refused(serve: Callable[..., Any]) -> None:
    process = serve(BEFUND_BODY_TIMEOUT_SECONDS="1")
    with connection_to(process.url) as sock:
        sock.sendall(head_of(1_000_000))
        while not select.select([sock], [], [], 0.1)[0]:
            sock.sendall(b" ")
        status, headers, body = read_answer(sock)
    assert (status, headers["connection"]) == (408, "close")
    assert "BEFUND_BODY_TIMEOUT_SECONDS" in json.loads(body)["detail"]
