"""An endpoint that speaks OpenAI's protocol over a real socket, and misbehaves on demand.

It answers like a model that knows how to read: a fact is stated if its words stand in the answer, a claim is supported
if its sentence stands in a passage. `refuse` gives forms it does not take, `then` what it does with the next requests.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

DATA = re.compile(r"<(befund-data-[0-9a-f]{16})>\n(.*?)\n</\1>", re.DOTALL)
USAGE = {"read": 3000, "written": 90, "cached": 1000}


class Asked(Struct):
    """One request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def form(self) -> str:
        if self.path.endswith("/responses"):
            return "responses"
        wanted = self.body.get("response_format")
        if wanted is None:
            return "plain"
        if wanted["type"] == "json_schema":
            return "chat_schema"
        if "schema" not in wanted:
            return "json"
        return "json_with_exact_schema" if "prefixItems" in json.dumps(wanted) else "json_with_schema"

    @property
    def system(self) -> str:
        text: str = self.body["instructions"] if self.form == "responses" else self.body["messages"][0]["content"]
        return text

    @property
    def user(self) -> str:
        text: str = self.body["input"] if self.form == "responses" else self.body["messages"][1]["content"]
        return text

    @property
    def data(self) -> dict[str, Any]:
        found = DATA.search(self.user)
        assert found is not None
        data: dict[str, Any] = json.loads(found[2])
        return data


class Wire:
    """The connection of one request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def answer(
        self, status: int, body: Any, *, headers: Mapping[str, str] | None = None, media: str = "application/json"
    ) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = {"content-type": media, "content-length": str(len(content)), **(headers or {})}
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.writer.write(head.encode() + b"\r\n" + content)
        await self.writer.drain()

    async def caller_gone(self) -> None:
        await self.reader.read()


Step = Callable[[Asked, Wire], Awaitable[None]]


class FakeEndpoint:
    """See the module. `asked` are all requests so far; `most_in_flight` how many were under way at the same time."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.refuse: dict[str, Step] = {}
        self.usually: Step = says()
        self.in_flight = 0
        self.most_in_flight = 0
        self.arrived = asyncio.Event()
        self._steps: list[Step] = []

    def then(self, *steps: Step) -> None:
        self._steps.extend(steps)

    @property
    def forms(self) -> list[str]:
        return [asked.form for asked in self.asked]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await read_request(reader)) is not None:
                self.asked.append(asked)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                self.arrived.set()
                try:
                    await self._step(asked)(asked, Wire(reader, writer))
                finally:
                    self.in_flight -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _step(self, asked: Asked) -> Step:
        if asked.form in self.refuse:
            return self.refuse[asked.form]
        return self._steps.pop(0) if self._steps else self.usually


@asynccontextmanager
async def fake_endpoint() -> AsyncIterator[FakeEndpoint]:
    endpoint = FakeEndpoint()
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        task.add_done_callback(connections.discard)
        await endpoint.handle(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield endpoint
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode().strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Asked(first.split()[1], headers, json.loads(body))


def read_as_a_model(asked: Asked) -> dict[str, Any]:
    """The reply of a model that judges well."""
    data = asked.data
    answer = " ".join(data["answer"].values())
    refuses = "do not know" in answer.lower()
    facts = [
        {
            "id": name,
            "rationale": "Looked it up.",
            "quote": fact if fact.lower() in answer.lower() else None,
            "verdict": "stated" if fact.lower() in answer.lower() else "missing",
        }
        for name, fact in data["expected_facts"].items()
    ]
    references = [
        {"id": name, "rationale": "Compared.", "verdict": "agrees" if text in answer else "disagrees"}
        for name, text in data["reference_answers"].items()
    ]
    sentences = [
        {"id": name, "claims": [] if refuses else [claim_on(sentence, data["context"])]}
        for name, sentence in (data["answer"].items() if data["context"] is not None else ())
    ]
    return {
        "behavior": {"rationale": "It speaks.", "observed": "no_answer" if refuses else "answer"},
        "facts": facts,
        "references": references,
        "sentences": sentences,
        "reason": "Read word by word.",
    }


def claim_on(sentence: str, context: Mapping[str, str]) -> dict[str, Any]:
    for name, text in context.items():
        if sentence.rstrip(".").lower() in text.lower():
            said = {"chunk_id": name, "quote": sentence.rstrip("."), "verdict": "supported"}
            return {"claim": sentence, "rationale": "It is there.", **said}
    return {
        "claim": sentence,
        "rationale": "Not there.",
        "chunk_id": None,
        "quote": None,
        "verdict": "unsupported",
    }


def envelope(asked: Asked, text: str | None, **how: Any) -> dict[str, Any]:
    """An answer of the protocol around a text. `finish`: stop, length, filter, refusal; `usage`: None leaves it out."""
    finish, usage = how.get("finish", "stop"), how.get("usage", USAGE)
    if asked.form == "responses":
        part = {"type": "refusal", "refusal": "No."} if finish == "refusal" else {"type": "output_text", "text": text}
        reasons = {"length": "max_output_tokens", "filter": "content_filter"}
        answer = {
            "object": "response",
            "status": "incomplete" if finish in reasons else "completed",
            "incomplete_details": {"reason": reasons[finish]} if finish in reasons else None,
            "output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": [part]}],
        }
        names = ("input_tokens", "output_tokens", "input_tokens_details")
    else:
        message = {"role": "assistant", "content": text}
        if finish == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "No."}
        reason = {"filter": "content_filter", "refusal": "stop"}.get(finish, finish)
        answer = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
        names = ("prompt_tokens", "completion_tokens", "prompt_tokens_details")
    if usage is not None:
        given = {names[0]: usage["read"], names[1]: usage["written"], names[2]: {"cached_tokens": usage["cached"]}}
        answer["usage"] = given
    return answer


def says(text: str | Callable[[Asked], str] | None = None, **how: Any) -> Step:
    """Answer with a reply: a good one, this text, or what a function makes of the request."""

    async def step(asked: Asked, wire: Wire) -> None:
        said = json.dumps(read_as_a_model(asked)) if text is None else text
        await wire.answer(200, envelope(asked, said(asked) if callable(said) else said, **how))

    return step


def changed(change: Callable[[dict[str, Any]], object], **how: Any) -> Step:
    """Answer with a good reply that something was done to."""

    def text(asked: Asked) -> str:
        reply = read_as_a_model(asked)
        change(reply)
        return json.dumps(reply)

    return says(text, **how)


def error(status: int, message: str = "no", *, headers: Mapping[str, str] | None = None, **more: Any) -> Step:
    """Answer with an error of the protocol."""

    async def step(asked: Asked, wire: Wire) -> None:
        await wire.answer(status, {"error": {"message": message, **more}}, headers=headers)

    return step


def sends(body: bytes, *, status: int = 200, media: str = "application/json") -> Step:
    """Answer with anything."""

    async def step(asked: Asked, wire: Wire) -> None:
        await wire.answer(status, body, media=media)

    return step


def hangs(asked: Asked, wire: Wire) -> Awaitable[None]:
    """Take the request and never answer."""
    return wire.caller_gone()


async def drips(asked: Asked, wire: Wire) -> None:
    """Send the answer a byte at a time, without end."""
    wire.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        wire.writer.write(b"1\r\n \r\n")
        await wire.writer.drain()
        await asyncio.sleep(0.01)


async def resets(asked: Asked, wire: Wire) -> None:
    """Close the connection without an answer."""
    wire.writer.transport.abort()


async def floods(asked: Asked, wire: Wire) -> None:
    """Send an answer that never ends, as fast as it is taken."""
    wire.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        wire.writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await wire.writer.drain()


def in_order(*steps: Step) -> Step:
    """Do one of them a request, the last one for ever."""
    left = list(steps)

    async def step(asked: Asked, wire: Wire) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(asked, wire)

    return step
