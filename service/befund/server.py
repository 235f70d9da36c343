"""uvicorn, and how it ends.

On the first signal nothing more is accepted and everything accepted is finished, evaluations waiting for a place
included, for as long as the settings allow; a second signal ends the process at once.
"""

import gc
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from befund.api.middleware import LARGEST_HEAD_BYTES
from befund.connection import Connection
from befund.settings import Address

CANNOT_START = 3
"""Exit code when the address cannot be listened on."""
CUT_SHORT = 1
"""Exit code when something accepted was not finished in the time allowed."""
KEEP_ALIVE_SECONDS = 75
"""Longer than load balancers and clients keep an idle connection, so that no request meets one just closed here."""


def refuse_taken(address: Address) -> None:
    """Raise OSError where the address cannot be listened on: uvicorn finds out once all is loaded, and logs it.

    A name stands for several addresses; of these every one is tried, as a server listens on all of them.
    """
    places = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, kind, protocol, _, place in places:
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            tried.bind(place)
            tried.listen()


def run(app: Any, address: Address, *, folder: Path, shutdown_seconds: int) -> int:
    """Serve until a signal and give the exit code; say where the service listens and which data folder it has."""
    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        loop="asyncio" if sys.platform == "win32" else "uvloop",
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=shutdown_seconds,
        h11_max_incomplete_event_size=LARGEST_HEAD_BYTES,
    )
    server = _Server(config, folder)
    try:
        server.run()
    except SystemExit:  # uvicorn's way to say that it could not start; its log line says why
        return CANNOT_START
    return CUT_SHORT if server.cut_short else 0


class _Server(uvicorn.Server):
    """Says where it listens, and exits with 0 when it was asked to stop."""

    cut_short = False

    def __init__(self, config: uvicorn.Config, folder: Path) -> None:
        super().__init__(config)
        self._folder = folder

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        gc.freeze()  # what was imported stays for good: a collection under load need not walk through it
        for listener in self.servers[0].sockets:
            host, port = listener.getsockname()[:2]
            print(f"Befund listens on http://{Address(host, port)}", flush=True)
        print(f"Data folder: {self._folder.absolute()} (BEFUND_DATA_DIR)", flush=True)

    async def shutdown(self, sockets: Any = None) -> None:
        accepted = list(self.server_state.tasks)
        await super().shutdown(sockets)
        self.cut_short = any(task.cancelling() for task in accepted)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True
        self.config.app.ending.begun = True  # type: ignore[union-attr] # ours
