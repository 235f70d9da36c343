"""One endpoint and model: what it was found to take, and one call to it. Only this module knows the openai client."""

from collections.abc import AsyncIterator, Mapping
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx2
import openai
from msgspec import Struct

from befund.adapters.openai_judge.failures import CallError, failure_of, seconds_to_wait
from befund.adapters.openai_judge.forms import FORMS, Ask, Form, NoReplyError, Reply, body_of, path_of, reply_in

LARGEST_BODY_BYTES = 4 * 1024 * 1024
CONNECT_SECONDS = 10.0
NO_KEY = "none"
_NEEDED = frozenset({"model", "messages", "instructions", "input", "text", "response_format"})
_RENAMED = {"max_completion_tokens": "max_tokens"}


class BodyTooLargeError(httpx2.TransportError):
    """An answer is larger than any reply can be."""


class Dialect(Struct):
    """What an endpoint was found to take; learned once, for all calls.

    Attributes:
        form: The first form to try.
        proven: Whether a usable reply came in that form.
        left_out: Parameters it does not take.
    """

    form: Form = FORMS[0]
    proven: bool = False
    left_out: frozenset[str] = frozenset()

    def settle(self, form: Form) -> None:
        """Keep to the form that worked."""
        if not self.proven:
            self.form, self.proven = form, True


class Endpoint:
    """A model behind a base URL.

    Args:
        url: Base URL, as `https://api.openai.com/v1`.
        key: Its key; None where it needs none.
        headers: Sent with every request.
        connections: How many at the same time.
    """

    def __init__(self, *, url: str, key: str | None, headers: Mapping[str, str], connections: int) -> None:
        self.dialect = Dialect()
        # Redirects are not followed: they would carry texts and headers to an address nobody configured.
        self._http = httpx2.AsyncClient(
            verify=_certificates(),
            follow_redirects=False,
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            event_hooks={"response": [_bound]},
        )
        self._client = openai.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=url,
            default_headers=dict(headers),
            http_client=self._http,
            max_retries=0,
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        )

    async def call(self, ask: Ask, *, form: Form) -> Reply:
        """Ask once.

        Raises:
            CallError: There is no reply.
        """
        body = self._body(ask, form)
        try:
            response = await self._client.post(path_of(form), cast_to=httpx2.Response, body=body)
        except openai.APIStatusError as error:
            answer = error.response
            raise failure_of(
                answer.status_code,
                answer.content,
                sent=body.keys() - _NEEDED,
                retry_after=seconds_to_wait(answer.headers),
            ) from error
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, BodyTooLargeError):
                raise CallError("garbled", f"its answer is larger than {LARGEST_BODY_BYTES} bytes") from error
            raise CallError("unavailable", f"no answer ({type(error.__cause__).__name__})") from error
        try:
            return reply_in(form, response.content)
        except NoReplyError as error:
            said = f"the endpoint answered {response.status_code} with something that is no reply of a model"
            raise CallError("garbled", said, status=response.status_code) from error

    async def close(self) -> None:
        """Let go of every connection."""
        await self._client.close()

    def _body(self, ask: Ask, form: Form) -> dict[str, Any]:
        body = body_of(form, ask)
        for name in self.dialect.left_out & body.keys():
            value = body.pop(name)
            if name in _RENAMED and _RENAMED[name] not in self.dialect.left_out:
                body[_RENAMED[name]] = value
        return body


@cache
def _certificates() -> SSLContext:
    """Read once for all judges: it takes longer than everything else about a client."""
    return httpx2.create_ssl_context()


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that ends with an error when it grows too large."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = LARGEST_BODY_BYTES
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise BodyTooLargeError("the answer is too large")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)
