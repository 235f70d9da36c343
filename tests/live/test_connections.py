"""What callers do to a connection: heads that are no HTTP, too large or never end, offers of other protocols."""

import json
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

EXAMPLE: dict[str, Any] = {
    "dataset": {"questions": [{"id": "Q1", "question": "A private question?", "relevant": ["c1"]}]},
    "retrieval": {"rankings": {"Q1": ["c1", "c2"]}},
}
BODY = json.dumps(EXAMPLE).encode()
LIVE = b"GET /healthz HTTP/1.1\r\nhost: befund\r\n\r\n"


def post(*lines: bytes, body: bytes = BODY) -> bytes:
    head = [b"POST /retrieve-eval HTTP/1.1", b"host: befund", b"content-type: application/json", *lines]
    if not any(line.startswith(b"transfer-encoding") for line in lines):
        head.append(b"content-length: %d" % len(body))
    return b"\r\n".join([*head, b"", body])


class Caller:
    """A socket, and the answers read off it."""

    def __init__(self, url: str) -> None:
        address = httpx.URL(url)
        self.socket = socket.create_connection((address.host, address.port), timeout=20)
        self.stream = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> tuple[int, dict[str, str], bytes]:
        status = int(self.stream.readline().split()[1])
        headers: dict[str, str] = {}
        while line := self.stream.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        return status, headers, self.stream.read(int(headers.get("content-length", 0)))

    def problem(self) -> dict[str, Any]:
        status, headers, body = self.read()
        document: dict[str, Any] = json.loads(body)
        assert headers["content-type"] == "application/problem+json"
        assert document["status"] == status
        assert document["request_id"] == headers["x-request-id"]
        assert set(document) == {"type", "title", "status", "detail", "instance", "request_id", "errors"}
        return document

    def is_closed(self) -> bool:
        return self.stream.read() == b""

    def close(self) -> None:
        self.stream.close()
        self.socket.close()


@pytest.fixture
def caller(service: str) -> Any:
    made = Caller(service)
    yield made
    made.close()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"hello\r\n\r\n", id="no-http"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", id="tls"),
        pytest.param(b"GET /\r\n\r\n", id="http-0.9"),
        pytest.param(b"GET /healthz HTTP/1.1\r\n\r\n", id="no-host"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", id="two-hosts"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost : a\r\n\r\n", id="blank-before-colon"),
        pytest.param(b"GET /a b HTTP/1.1\r\nhost: a\r\n\r\n", id="blank-in-path"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: \x00\r\n\r\n", id="zero-byte"),
        pytest.param(post(b"content-length: 5"), id="two-lengths"),
        pytest.param(post(b"content-length: -5"), id="negative-length"),
        pytest.param(post(b"content-length: 5", b"transfer-encoding: chunked"), id="length-and-chunked"),
        pytest.param(post(b"transfer-encoding: chunked", body=b"zz\r\nx\r\n0\r\n\r\n"), id="no-chunk"),
        pytest.param(post(b"transfer-encoding: chunked", body=b"1\r\nxyz\r\n0\r\n\r\n"), id="chunk-too-long"),
    ],
)
def test_what_is_not_http_is_400_with_a_problem_document(caller: Caller, sent: bytes) -> None:
    caller.send(sent)
    problem = caller.problem()
    assert (problem["status"], problem["type"]) == (400, "/problems/malformed-request")
    assert caller.is_closed()


def test_a_request_after_which_comes_no_http_is_answered_first(caller: Caller) -> None:
    caller.send(LIVE + b"hello\r\n\r\n")
    assert caller.read()[0] == 200
    assert caller.problem()["status"] == 400
    assert caller.is_closed()


def test_what_is_not_http_is_counted(serve: Callable[..., Any]) -> None:
    process = serve()
    caller = Caller(process.url)
    caller.send(b"hello\r\n\r\n")
    caller.problem()
    caller.close()
    metrics = httpx.get(f"{process.url}/metrics").text
    labels = 'caller="anonymous",method="OTHER",route="unmatched",status="400"'
    assert f"befund_http_requests_total{{{labels}}} 1.0" in metrics


def test_a_transfer_encoding_nobody_knows_is_501(caller: Caller) -> None:
    caller.send(post(b"transfer-encoding: gzip, chunked"))
    assert caller.problem()["status"] == 501


def test_http_2_is_505(caller: Caller) -> None:
    caller.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert caller.problem()["status"] == 505
    assert caller.is_closed()


@pytest.mark.parametrize("method", [b"BREW", b"PROPFIND", b"TRACE", b"get"])
def test_a_method_nobody_answers_is_405_with_the_methods_that_are(caller: Caller, method: bytes) -> None:
    caller.send(LIVE.replace(b"GET", method))
    status, headers, body = caller.read()
    assert status == json.loads(body)["status"] == 405
    assert set(headers["allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket", b"TLS/1.0"])
def test_an_offer_to_speak_another_protocol_is_ignored(caller: Caller, protocol: bytes) -> None:
    offer = (b"upgrade: " + protocol, b"connection: Upgrade, HTTP2-Settings", b"http2-settings: AAEAAEAAAAIAAAAB")
    for _ in range(2):
        caller.send(post(*offer))
        status, _, body = caller.read()
        assert status == 200
        assert json.loads(body)["questions"]["total"] == 1


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: " + b"x" * 70_000 + b"\r\n\r\n", id="one-header"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: a\r\n" + b"x: y\r\n" * 12_000 + b"\r\n", id="many-headers"),
        pytest.param(b"GET /healthz?" + b"x" * 70_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", id="query"),
        pytest.param(b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", id="path"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: " + b"x" * 3_000_000, id="without-end"),
    ],
)
def test_a_head_over_64_kib_is_431(caller: Caller, head: bytes) -> None:
    caller.send(head)
    problem = caller.problem()
    assert (problem["status"], problem["type"]) == (431, "/problems/head-too-large")


def test_a_head_of_60_kib_is_read(caller: Caller) -> None:
    caller.send(LIVE.replace(b"\r\n\r\n", b"\r\nx: " + b"x" * 60_000 + b"\r\n\r\n"))
    assert caller.read()[0] == 200


def test_a_path_sent_as_if_to_a_proxy_is_read(caller: Caller) -> None:
    caller.send(LIVE.replace(b"/healthz", b"http://befund:8080/healthz?x=1"))
    assert caller.read()[0] == 200


def test_pipelined_requests_are_answered_in_order(caller: Caller) -> None:
    caller.send(LIVE + post() + LIVE.replace(b"/healthz", b"/nothing") + LIVE)
    assert [caller.read()[0] for _ in range(4)] == [200, 200, 404, 200]


def test_a_body_is_asked_for_before_it_is_sent(caller: Caller) -> None:
    request = post(b"expect: 100-continue")
    caller.send(request[: -len(BODY)])
    assert caller.stream.readline() == b"HTTP/1.1 100 Continue\r\n"
    while caller.stream.readline().strip():
        pass
    caller.send(BODY)
    assert caller.read()[0] == 200


def test_a_body_that_is_not_wanted_is_not_asked_for(caller: Caller) -> None:
    caller.send(post(b"expect: 100-continue", b"content-encoding: gzip")[: -len(BODY)])
    assert caller.problem()["status"] == 415


def test_chunks_with_extensions_and_trailers_are_read(caller: Caller) -> None:
    body = b"".join(b"1;name=value\r\n%c\r\n" % byte for byte in BODY) + b"0\r\nx-checksum: 1\r\n\r\n"
    caller.send(post(b"transfer-encoding: chunked", body=body) + LIVE)
    assert [caller.read()[0], caller.read()[0]] == [200, 200]


def test_an_empty_content_encoding_is_none(caller: Caller) -> None:
    caller.send(post(b"content-encoding:"))
    assert caller.read()[0] == 200
