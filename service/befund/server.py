"""uvicorn, and how it ends.

On the first signal nothing more is accepted and everything accepted is finished, evaluations waiting for a place
included; a second signal ends the process at once.
"""

import signal
import sys
from types import FrameType
from typing import Any

import uvicorn

from befund.settings import Address

CANNOT_START = 3
KEEP_ALIVE_SECONDS = 75
"""Longer than load balancers and clients keep an idle connection, so that no request meets one just closed here."""


def run(app: Any, address: Address) -> int:
    """Serve until a signal and give the exit code."""
    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        loop="asyncio" if sys.platform == "win32" else "uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = _Server(config)
    try:
        server.run()
    except SystemExit:  # uvicorn's way to say that it could not start; its log line says why
        print(f"befund: cannot serve on {address}; see the log lines above", file=sys.stderr)
        return CANNOT_START
    return 0


class _Server(uvicorn.Server):
    """Says where it listens, and exits with 0 when it was asked to stop."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for listener in self.servers[0].sockets:
            host, port = listener.getsockname()[:2]
            print(f"Befund listens on http://{Address(host, port)}", flush=True)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True
