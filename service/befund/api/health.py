"""What is asked of any service: what it is, whether it lives, whether it can take work."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from msgspec import Struct

import befund
from befund.api.auth import open_to_all
from befund.contract import DependencyState, Health, Index, Readiness
from befund.core.errors import BefundError


class Check(Struct, frozen=True):
    """Something the service depends on. `ask` raises when it does not answer.

    The service is unready while a `vital` one is down; the others are only shown. No answer within `seconds` is down.
    """

    name: str
    ask: Callable[[], Awaitable[object]]
    vital: bool = True
    seconds: float = 2.0


class Checks(Struct, frozen=True):
    """Everything the service depends on."""

    every: Sequence[Check] = ()

    async def readiness(self) -> Readiness:
        """Ask all at the same time."""
        states = await asyncio.gather(*(_state_of(check) for check in self.every))
        down = any(check.vital and state.state == "down" for check, state in zip(self.every, states, strict=True))
        dependencies = {check.name: state for check, state in zip(self.every, states, strict=True)}
        return Readiness(status="unready" if down else "ready", dependencies=dependencies)


class HealthController(Controller):
    """What an orchestrator asks, and whoever opens the address without a path."""

    opt = open_to_all()

    @get("/", operation_id="index", summary="What is served here?", response_description="The version, and paths")
    async def index(self) -> Index:
        """Name the version and the paths that lead on."""
        paths = ["/schema", "/healthz", "/readyz", "/metrics"]
        return Index(service="befund", version=befund.__version__, paths=paths)

    @get(
        "/healthz", operation_id="healthz", summary="Is the process alive?", response_description="The process is alive"
    )
    async def healthz(self) -> Health:
        """Answer without touching anything."""
        return Health(status="ok", version=befund.__version__)

    @get(
        "/readyz",
        operation_id="readyz",
        summary="Can it take work?",
        response_description="The service can take work",
        responses={503: ResponseSpec(Readiness, generate_examples=False, description="Something vital is down")},
    )
    async def readyz(self, checks: NamedDependency[Checks]) -> Response[Readiness]:
        """Ask every dependency; 503 while one the service cannot do without is down."""
        readiness = await checks.readiness()
        return Response(readiness, status_code=200 if readiness.status == "ready" else 503)


async def _state_of(check: Check) -> DependencyState:
    """Ask one dependency. The page is open to all, so an error shows its kind and not its text."""
    try:
        async with asyncio.timeout(check.seconds):
            await check.ask()
    except TimeoutError:
        return DependencyState(state="down", detail=f"no answer within {check.seconds:g} s")
    except BefundError as error:
        return DependencyState(state="down", detail=error.code)
    except Exception as error:  # whatever a dependency raises means that it is down
        return DependencyState(state="down", detail=type(error).__name__)
    return DependencyState(state="ok")
