"""A log that cannot be written, or that nobody reads, is no trouble to callers."""

import os
import re
import signal
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
import pytest


def dropped(client: httpx.Client) -> int:
    found = re.search(r"^befund_log_lines_dropped_total (\S+)$", client.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


def test_no_line_is_dropped_from_the_start(service: str) -> None:
    with httpx.Client(base_url=service) as client:
        assert dropped(client) == 0


def test_a_log_that_cannot_be_written_changes_no_answer(serve: Callable[..., Any]) -> None:
    with open("/dev/full", "w") as full:
        process = serve(log=full)
        with httpx.Client(base_url=process.url) as client:
            assert [client.get("/healthz").status_code for _ in range(10)] == [200] * 10
            assert client.get("/nothing").json()["status"] == 404
            while dropped(client) < 10:
                pass
        process.popen.send_signal(signal.SIGTERM)
        assert process.popen.wait(timeout=60) == 0


@pytest.mark.parametrize("path", ["/healthz", f"/{'x' * 2000}"])
def test_a_log_that_nobody_reads_stops_neither_requests_nor_the_end(serve: Callable[..., Any], path: str) -> None:
    reading, writing = os.pipe()
    with ExitStack() as stack:
        stack.enter_context(open(reading))
        process = serve(log=stack.enter_context(open(writing, "w")))
        with httpx.Client(base_url=process.url) as client:
            for _ in range(600):
                client.get(path)
            assert client.get("/healthz").status_code == 200
        process.popen.send_signal(signal.SIGTERM)
        assert process.popen.wait(timeout=60) == 0
