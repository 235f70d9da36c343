"""`befund serve`: run the service."""

import argparse
import asyncio
import os
import sys
from typing import Any

from befund.cli import FAILED
from befund.settings import Address, Loaded, SettingsError, load_settings


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "serve", help="run the service", description="Run the service until it is told to stop."
    )
    parser.add_argument("--host", help="address to listen on, instead of the one in BEFUND_LISTEN")
    parser.add_argument(
        "--port", type=_port, help="port to listen on, instead of the one in BEFUND_LISTEN; 0: a free one"
    )
    parser.add_argument(
        "--corpus", action="store_true", help="bring the bundled documents into the collection teralune_corpus"
    )
    parser.set_defaults(run=serve)


def serve(arguments: argparse.Namespace) -> int:
    """Serve until a signal; give an error where the settings do not allow it."""
    try:
        loaded = _settings(arguments)
    except SettingsError as error:
        print(f"befund: {error}", file=sys.stderr)
        return FAILED

    import structlog

    from befund.app import check_store, create_app, make_store
    from befund.core.errors import DependencyError
    from befund.log_lines import LogLines
    from befund.server import CANNOT_START, CUT_SHORT, refuse_taken, run
    from befund.telemetry import configure_logging

    listen = loaded.settings.listen
    try:
        refuse_taken(listen)
    except OSError as error:
        why = error.strerror or str(error)
        print(f"befund: cannot listen on {listen} ({why}): --port takes another, 0 a free one", file=sys.stderr)
        return FAILED

    lines = LogLines(sys.stderr)
    configure_logging(loaded.settings.log_level, stream=lines)
    for name in loaded.unknown:
        structlog.get_logger().warning("unknown setting", name=name)
    try:
        store = make_store(loaded.settings)
        asyncio.run(check_store(store))
        app = create_app(
            loaded.settings,
            store=store,
            dropped_log_lines=lambda: lines.dropped,
            corpus=arguments.corpus,
            ahead=True,
        )
        app.claim()
        code = run(app, listen, folder=loaded.settings.data_dir, shutdown_seconds=loaded.settings.shutdown_seconds)
    except DependencyError as error:
        print(f"befund: {error.detail}", file=sys.stderr)
        return FAILED
    finally:
        lines.end()
    if code == CANNOT_START:
        print(f"befund: cannot serve on {listen}; see the log lines above", file=sys.stderr)
    if code == CUT_SHORT:
        os._exit(code)  # Python would wait for the evaluations still running in threads, which nothing can stop
    return code


def _settings(arguments: argparse.Namespace) -> Loaded:
    import msgspec

    loaded = load_settings(os.environ)
    listen = loaded.settings.listen
    host = listen.host if arguments.host is None else arguments.host
    port = listen.port if arguments.port is None else arguments.port
    settings = msgspec.structs.replace(loaded.settings, listen=Address(host, port))
    settings.refuse_open_address()
    return msgspec.structs.replace(loaded, settings=settings)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)
