"""`befund openapi`: print the OpenAPI document, or check a copy of it."""

import argparse
import sys
from pathlib import Path
from typing import Any

DRIFT = 1


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("openapi", help="print the OpenAPI document")
    parser.add_argument("--check", metavar="FILE", type=Path, help="compare with this copy; exit 1 when they differ")
    parser.set_defaults(run=openapi)


def openapi(arguments: argparse.Namespace) -> int:
    """Print the document, or say whether the copy is still true."""
    from befund.api.schema import encoded_document
    from befund.app import create_app
    from befund.settings import Settings

    document = encoded_document(create_app(Settings()).app)
    if arguments.check is None:
        sys.stdout.buffer.write(document)
        return 0
    try:
        copy = arguments.check.read_bytes()
    except OSError as error:
        print(f"befund: {arguments.check}: {error.strerror}", file=sys.stderr)
        return DRIFT
    if copy == document:
        return 0
    print(f"befund: {arguments.check} differs from the code; write it anew: befund openapi > FILE", file=sys.stderr)
    return DRIFT
