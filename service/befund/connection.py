"""One connection: uvicorn's HTTP/1.1 over h11, with what it leaves open bounded.

Time for a head to arrive, for the rest of a body that is not wanted any more, and for an answer to be read; and what is
not HTTP becomes a request like others, so that it is counted, logged and answered with a problem document.
"""

import asyncio
import sys
from typing import Any, cast

import h11
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from befund.api.arrival import MALFORMED
from befund.api.middleware import HEAD_TOO_LARGE
from befund.api.problems import Refusal

PATIENCE_SECONDS = 30.0
"""How long a head, or the rest of a body after its answer, may take, and how long a caller may read nothing."""
LINGER_SECONDS = 5.0
"""How long a caller still sending is read on, since closing at once would take the answer away from it."""
_PIECE_BYTES = 16 * 1024
"""How much is read at a time where it may hold thousands of tiny chunks, so that others get their turn between."""


class Connection(H11Protocol):
    """What uvicorn makes for each connection it accepts.

    Args:
        patience_seconds: How long a caller may take, each time the connection waits for it.
        uvicorns: What uvicorn gives every connection.
    """

    def __init__(self, *, patience_seconds: float = PATIENCE_SECONDS, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._patience_seconds = patience_seconds
        self._due: asyncio.TimerHandle | None = None
        self._due_in: Any = None
        self._unread: asyncio.TimerHandle | None = None
        self._refused = False
        self._backlog = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, with as much time for the first byte as between two requests."""
        super().connection_made(cast(asyncio.Transport, _Lingering(transport, self)))
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Read on, in pieces where that may take long; a refused caller's data go nowhere."""
        if self._refused or self.transport.is_closing():
            return
        if self._backlog:
            self._backlog += data
            self.transport.pause_reading()
        elif len(data) <= _PIECE_BYTES or self._is_in_plain_body():
            super().data_received(data)
            self._limit_time()
        else:
            self._backlog += data
            self.transport.pause_reading()
            self._read_backlog()

    def on_response_complete(self) -> None:
        """Go on to the next request, or give the caller time to send the rest of a body nobody waits for."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._limit_time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop every clock."""
        self._stop_clock()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Let the request under way finish, and tell its caller that it is the last one here."""
        super().shutdown()
        if self.cycle is not None:
            self.cycle.default_headers = [*self.cycle.default_headers, CLOSE_HEADER]

    def pause_writing(self) -> None:
        """Wait for the caller to read, for some time."""
        super().pause_writing()
        self._wait_for_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The caller has read."""
        super().resume_writing()
        self._stop_waiting_for_reader()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP: the body under way, or a head, which becomes a request of its own."""
        refusal = _refusal_of(sys.exc_info()[1])
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.scope["extensions"] = {MALFORMED: refusal}  # type: ignore[dict-item]
            self.cycle.message_event.set()
        elif self.conn.our_state is h11.IDLE:
            self._refuse(refusal)
        else:
            self.transport.close()

    def _should_upgrade(self) -> bool:
        """Ignore offers to speak another protocol, as HTTP allows."""
        return False

    def _is_in_plain_body(self) -> bool:
        is_body = self.conn.their_state is h11.SEND_BODY
        return is_body and all(name != b"transfer-encoding" for name, _ in self.headers)

    def _read_backlog(self) -> None:
        if self._refused or self.transport.is_closing():
            self._backlog.clear()
            return
        size = len(self._backlog) if self._is_in_plain_body() else _PIECE_BYTES
        super().data_received(bytes(self._backlog[:size]))
        self._limit_time()
        del self._backlog[:size]
        if self._backlog:
            self.loop.call_soon(self._read_backlog)
        elif not self.flow.read_paused:
            self.transport.resume_reading()

    def _refuse(self, refusal: Refusal) -> None:
        self._unset_keepalive_if_required()
        self.headers = []
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "method": "",
            "root_path": "",
            "path": "",
            "raw_path": b"",
            "query_string": b"",
            "headers": self.headers,
            "state": self.app_state.copy(),
            "extensions": {MALFORMED: refusal},  # type: ignore[dict-item]
        }
        self.cycle = RequestResponseCycle(
            scope=self.scope,
            conn=self.conn,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            on_response=self.on_response_complete,
        )
        task = self.loop.create_task(self.cycle.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _limit_time(self) -> None:
        """Close the connection if a head, or what nobody waits for of a body, does not end in time."""
        theirs = self.conn.their_state
        unwanted = theirs is h11.SEND_BODY and self.conn.our_state is h11.DONE
        due_in = theirs if theirs is h11.IDLE or unwanted else None
        if due_in is not self._due_in:
            self._stop_clock()
            self._due_in = due_in
            if due_in is not None:
                self._due = self.loop.call_later(self._patience_seconds, self.timeout_keep_alive_handler)

    def _stop_clock(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _wait_for_reader(self, unread: int) -> None:
        self._unread = self.loop.call_later(self._patience_seconds, self._abort_unless_read, unread)

    def _abort_unless_read(self, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= unread:
            self.transport.abort()
        else:
            self._wait_for_reader(left)

    def _stop_waiting_for_reader(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


class _Lingering:
    """A transport that, closed while the caller is still sending, stops writing and reads on for a while."""

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection
        self._lingers = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._lingers or self._transport.is_closing()

    def close(self) -> None:
        is_sending = self._connection.conn.their_state in (h11.SEND_BODY, h11.ERROR)
        if self.is_closing() or not is_sending:
            self._transport.close()
        else:
            self._lingers = True
            self._transport.write_eof()
            self._transport.resume_reading()
            self._connection.loop.call_later(LINGER_SECONDS, self._transport.close)


def _refusal_of(error: BaseException | None) -> Refusal:
    status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
    match status:
        case 431:
            return Refusal(431, HEAD_TOO_LARGE)
        case 501:
            return Refusal(501, "Bodies are read with Content-Length or Transfer-Encoding: chunked, nothing else.")
        case _:
            what = str(error).partition(":")[0]  # what follows may quote the request
            return Refusal(400, f"This is not HTTP/1.1 ({what}). Send a well-formed request.")
