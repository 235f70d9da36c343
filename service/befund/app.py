"""The one place where the service is put together."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from time import perf_counter, time
from typing import Any

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.types import ControllerRouterHandler

import befund
from befund.adapters.store_sql import SqlStore
from befund.api.arrival import Bodies
from befund.api.auth import Authorizer, refuse_undeclared_routes
from befund.api.body import SMALL_BODY_BYTES, Json, refuse_other_media_types
from befund.api.datasets import DatasetController
from befund.api.health import Check, Checks, HealthController
from befund.api.metrics import MetricsController
from befund.api.middleware import Boundary
from befund.api.problems import exception_handlers
from befund.api.retrieve import RetrieveController, RetrieveEvaluation
from befund.api.runs import RunController
from befund.api.schema import encoded_document, openapi_config
from befund.api.workers import Workers
from befund.core.configured import ModelJudge
from befund.ports import Store
from befund.settings import Settings
from befund.telemetry import Metrics, Telemetry
from befund.usecases.datasets import Datasets
from befund.usecases.runs import Runs, prune, prune_daily

EVALUATIONS_AT_ONCE = 2
EVALUATION_PLACES = 256
LARGEST_BODIES_HELD = 4


def create_app(
    settings: Settings,
    *,
    store: Store | None = None,
    checks: Sequence[Check] = (),
    routes: Sequence[ControllerRouterHandler] = (),
    clock: Callable[[], float] = perf_counter,
    dropped_log_lines: Callable[[], int] = lambda: 0,
) -> Boundary:
    """Wire the service.

    Args:
        settings: What it runs with.
        store: Where data sets and runs are kept, instead of what the settings say. Opened and closed with the app.
        checks: What /readyz asks beside the store.
        routes: Routes beside our own.
        clock: Seconds for measuring durations.
        dropped_log_lines: Gives how many log lines could not be written.
    """
    workers = Workers(at_once=EVALUATIONS_AT_ONCE, places=EVALUATION_PLACES)
    bodies = Bodies(most_bytes=LARGEST_BODIES_HELD * settings.max_body_bytes, seconds=settings.body_timeout_seconds)

    store = store or make_store(settings)
    datasets = Datasets(store, settings.store_content)

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        encoded_document(app)
        await store.open()
        try:
            await datasets.put_bundled()
            async with _retention(store, settings.retention_days):
                yield
        finally:
            workers.close()
            await store.close()

    whole_evaluations = Router(
        "/",
        route_handlers=[RetrieveController, DatasetController, RunController],
        request_max_body_size=settings.max_body_bytes,
    )
    # Series start at 0 for every route, so the metrics are made once the routes are known; handlers ask for them later.
    metrics: Metrics
    telemetry: Telemetry
    app = Litestar(
        [HealthController, MetricsController, whole_evaluations, *routes],
        before_request=refuse_other_media_types,
        dependencies={
            "checks": _given(lambda: Checks((Check("store", store.ask), *checks))),
            "datasets": _given(lambda: datasets),
            "runs": _given(lambda: Runs(store, settings.store_content)),
            "workers": _given(lambda: workers),
            "metrics": _given(lambda: metrics),
            "evaluation": _given(lambda: RetrieveEvaluation(workers, telemetry, store, settings.store_content)),
        },
        dto=Json,
        exception_handlers=exception_handlers(log_content=settings.log_content),
        guards=[Authorizer(settings.api_keys)],
        lifespan=[lifespan],
        logging_config=None,
        openapi_config=openapi_config(),
        request_max_body_size=SMALL_BODY_BYTES,
    )
    refuse_undeclared_routes(app)
    metrics = Metrics(
        version=befund.__version__,
        routes=_known_routes(app),
        callers=[key.name for key in settings.api_keys],
        judges=[judge for judge in settings.judges.every if isinstance(judge, ModelJudge)],
        dropped_log_lines=dropped_log_lines,
        runs=settings.metrics_runs,
    )
    telemetry = Telemetry(metrics, clock, settings.log_questions)
    return Boundary(app, metrics=metrics, bodies=bodies)


def make_store(settings: Settings) -> Store:
    """The store that the settings name; it is not opened here."""
    return SqlStore(settings.database_url or settings.data_dir / "befund.sqlite")


async def check_store(store: Store) -> None:
    """Raise DependencyError where the service could not start with this store."""
    await store.open()
    await store.close()


@asynccontextmanager
async def _retention(store: Store, days: int | None) -> AsyncIterator[None]:
    """Delete old runs now and every day; none where runs are kept for ever."""
    if days is None:
        yield
        return
    await prune(store, days=days, now=time())
    task = asyncio.create_task(prune_daily(store, days=days, clock=time))
    try:
        yield
    finally:
        task.cancel()


def _given(value: Callable[[], Any]) -> Provide:
    return Provide(value, sync_to_thread=False)


def _known_routes(app: Litestar) -> list[tuple[str, str, int]]:
    """Each route's template, method and success status."""
    return [
        (route.path_format, method, handler.status_code)
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        if isinstance(handler, HTTPRouteHandler)
        for method in sorted(handler.http_methods)
        if method != "OPTIONS"
    ]
