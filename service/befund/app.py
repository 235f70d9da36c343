"""The one place where the service is put together."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from time import perf_counter, time
from typing import Any
from uuid import uuid4

import structlog
from litestar import Litestar, Router
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.types import ControllerRouterHandler

import befund
from befund.adapters.chroma import ChromaProbe, EmbeddedChroma, ServedChroma
from befund.adapters.embedding import EndpointEmbedder, StaticEmbedder
from befund.adapters.folder import FolderError, read_folder
from befund.adapters.front_matter import read_front_matter
from befund.adapters.judges import build_judges
from befund.adapters.memory_cache import MemoryCache
from befund.adapters.rules_judge import RulesJudge
from befund.adapters.splitter import split_markdown
from befund.adapters.store_sql import SqlStore
from befund.api.arrival import Bodies
from befund.api.auth import Authorizer, refuse_undeclared_routes
from befund.api.body import SMALL_BODY_BYTES, Json
from befund.api.calibration import CalibrationController
from befund.api.collections import CollectionsController
from befund.api.compare import CompareController, Comparison
from befund.api.datasets import DatasetController
from befund.api.diagnose import DiagnoseBatchController, DiagnoseController, DiagnoseEvaluation
from befund.api.documents import DOCUMENTS_BODY_BYTES, DocumentsController
from befund.api.health import Check, Checks, HealthController
from befund.api.jobs import Ending, JobController
from befund.api.judge import JudgeBatchController, JudgeController, JudgeEvaluation, item_problem
from befund.api.metrics import MetricsController
from befund.api.middleware import Boundary
from befund.api.monitors import MonitorController
from befund.api.problems import exception_handlers
from befund.api.reading import refuse_what_is_not_read
from befund.api.rejudge import RejudgeController
from befund.api.retrieve import RetrieveController, RetrieveEvaluation
from befund.api.runs import RunController
from befund.api.schema import encoded_document, openapi_config
from befund.api.workers import Workers
from befund.bundled import MissingDataError, bundled
from befund.contract import Content, IngestRequest
from befund.core.errors import BefundError, DependencyError
from befund.ports import Store
from befund.settings import Settings
from befund.telemetry import Metrics, Telemetry
from befund.usecases.compare import Comparing
from befund.usecases.datasets import Datasets
from befund.usecases.diagnose import Diagnosing
from befund.usecases.ingest import Ingestion
from befund.usecases.jobs import JobRunner, Jobs, count_jobs, prune_jobs
from befund.usecases.judge import Judging
from befund.usecases.monitors import Monitoring
from befund.usecases.probing import IndexParts
from befund.usecases.retention import Retention
from befund.usecases.runs import Runs
from befund.usecases.search import SearchParts

EVALUATIONS_AT_ONCE = 2
EVALUATION_PLACES = 256
SEARCHES_AT_ONCE = 8
CORPUS = "teralune/documents"
CORPUS_COLLECTION = "teralune_corpus"
LARGEST_BODIES_HELD = 4


def new_id() -> str:
    """A name nobody else gives."""
    return uuid4().hex


def create_app(
    settings: Settings,
    *,
    store: Store | None = None,
    checks: Sequence[Check] | None = None,
    routes: Sequence[ControllerRouterHandler] = (),
    clock: Callable[[], float] = perf_counter,
    dropped_log_lines: Callable[[], int] = lambda: 0,
    corpus: bool = False,
    ahead: bool = False,
    for_one_command: bool = False,
) -> Boundary:
    """Wire the service.

    Args:
        settings: What it runs with.
        store: Where data sets and runs are kept, instead of what the settings say. Opened and closed with the app.
        checks: What /readyz asks beside the store; None for the index.
        routes: Routes beside our own.
        clock: Seconds for measuring durations.
        dropped_log_lines: Gives how many log lines could not be written.
        corpus: Whether the bundled documents are brought into their collection, while it serves already.
        ahead: Whether the data of the rules judge is loaded before the first answer asks for it, while it serves.
        for_one_command: Whether it lives for one command: the index is opened when something asks for it, and jobs are
            left to services.
    """
    workers = Workers(at_once=EVALUATIONS_AT_ONCE, places=EVALUATION_PLACES)
    bodies = Bodies(most_bytes=LARGEST_BODIES_HELD * settings.max_body_bytes, seconds=settings.body_timeout_seconds)

    store = store or make_store(settings)
    datasets = Datasets(store, settings.store_content)
    live_search = LiveSearch(settings, on_demand=for_one_command)
    searches = asyncio.Semaphore(SEARCHES_AT_ONCE)
    ingestion = ingestion_into(live_search.parts, settings.store_content)
    judging: Judging
    diagnosing: Diagnosing
    jobs: Jobs
    retention = Retention(store, settings.retention_days, settings.monitor_entries, time)
    ending = Ending()
    asked = (Check("store", store.ask), *([Check("index", live_search.ready)] if checks is None else checks))

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        nonlocal judging, diagnosing, jobs
        encoded_document(app)
        bringing: asyncio.Task[None] | None = None
        loading: asyncio.Task[None] | None = None
        background: list[asyncio.Task[None]] = []
        await store.open()
        rules = RulesJudge()
        bench = build_judges(
            settings.judges, rules=rules, forced_rules=rules.forced(), cache=MemoryCache(), meter=metrics.judges
        )
        judging = Judging(bench, store, settings.store_content, clock, new_id, metrics.judges.canary)
        diagnosing = Diagnosing(judging, live_search.probing, rules)
        jobs = Jobs(store.jobs, judging, new_id, asyncio.Event())
        runner = JobRunner(jobs, owner=new_id(), problem_of=item_problem, report=JudgeEvaluation(judging, telemetry))
        try:
            live_search.open()
            await datasets.put_bundled()
            bringing = asyncio.create_task(bring_corpus(ingestion)) if corpus else None
            loading = asyncio.create_task(rules.load()) if ahead else None
            background = (
                []
                if for_one_command
                else [
                    asyncio.create_task(runner.run()),
                    asyncio.create_task(prune_jobs(store.jobs, clock=time)),
                    asyncio.create_task(count_jobs(store.jobs, metrics.jobs)),
                ]
            )
            async with _within_bounds(retention):
                yield
        finally:
            for task in (bringing, loading, *background):
                if task is not None:
                    task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            workers.close()
            await live_search.close()
            await bench.close()
            await rules.close()
            await store.close()

    whole_evaluations = Router(
        "/",
        route_handlers=[
            RetrieveController,
            DatasetController,
            RunController,
            CompareController,
            JudgeBatchController,
            DiagnoseBatchController,
            CalibrationController,
        ],
        request_max_body_size=settings.max_body_bytes,
    )
    documents = Router(
        "/",
        route_handlers=[DocumentsController],
        request_max_body_size=min(DOCUMENTS_BODY_BYTES, settings.max_body_bytes),
    )
    # Series start at 0 for every route, so the metrics are made once the routes are known; handlers ask for them later.
    metrics: Metrics
    telemetry: Telemetry
    app = Litestar(
        [
            HealthController,
            MetricsController,
            CollectionsController,
            JudgeController,
            RejudgeController,
            DiagnoseController,
            JobController,
            MonitorController,
            documents,
            whole_evaluations,
            *routes,
        ],
        before_request=refuse_what_is_not_read,
        dependencies={
            "checks": _given(lambda: Checks(asked)),
            "parts": _given(lambda: live_search.parts),
            "datasets": _given(lambda: datasets),
            "runs": _given(lambda: Runs(store, settings.store_content)),
            "monitoring": _given(lambda: Monitoring(store, lambda: datetime.now(UTC))),
            "workers": _given(lambda: workers),
            "comparison": _given(
                lambda: Comparison(
                    Comparing(store, Runs(store, settings.store_content), judging.judges, settings.gates),
                    workers,
                    telemetry,
                )
            ),
            "ingestion": _given(lambda: ingestion),
            "jobs": _given(lambda: jobs),
            "ending": _given(lambda: ending),
            "judgment": _given(lambda: JudgeEvaluation(judging, telemetry)),
            "diagnosis": _given(lambda: DiagnoseEvaluation(diagnosing, telemetry)),
            "metrics": _given(lambda: metrics),
            "evaluation": _given(
                lambda: RetrieveEvaluation(
                    workers, telemetry, store, settings.store_content, live_search.parts, searches
                )
            ),
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
        judges=settings.judges,
        dropped_log_lines=dropped_log_lines,
        runs=settings.metrics_runs,
    )
    telemetry = Telemetry(metrics, clock, settings.log_questions)
    return Boundary(app, metrics=metrics, bodies=bodies, claim=live_search.claim, ending=ending)


async def bring_corpus(ingestion: Ingestion) -> None:
    """Bring the bundled documents into their collection; what it holds already is not embedded again."""
    log = structlog.get_logger()
    try:
        folder = await asyncio.to_thread(lambda: read_folder(bundled(CORPUS) / CORPUS))
        request = IngestRequest(documents=[file.document() for file in folder.files])
        answer = await ingestion.ingest(CORPUS_COLLECTION, request)
    except (BefundError, FolderError, MissingDataError) as error:
        log.error("corpus", detail=str(error))
        return
    log.info("corpus", collection=answer.collection, chunks=answer.chunks, added=answer.documents.added)


def ingestion_into(parts: SearchParts, content: Content) -> Ingestion:
    """What writes Markdown documents into the collections of an index, with their texts or without."""
    return Ingestion(
        parts.index,
        parts.embedder,
        split=split_markdown,
        front_matter=read_front_matter,
        keep_texts=content == "full",
    )


class LiveSearch:
    """What live searches need, as the settings say; opened and closed with the service."""

    def __init__(self, settings: Settings, *, on_demand: bool = False) -> None:
        folder = settings.data_dir / "chroma"
        self._folder = None if settings.chroma_url else EmbeddedChroma(folder, on_demand=on_demand)
        self._on_demand = on_demand
        self._static = StaticEmbedder()
        self._endpoint = (
            EndpointEmbedder(
                settings.embedder,
                url=settings.embedding_url,
                key=settings.embedding_key.value if settings.embedding_key else None,
            )
            if settings.embedder
            else None
        )
        self._index = ChromaProbe(self._folder or ServedChroma(settings.chroma_url or ""))
        self._warm: asyncio.Task[None] | None = None
        embedder = self._endpoint or self._static
        self.parts = SearchParts(index=self._index, embedder=embedder, tokenizer=self._static)
        self.probing = IndexParts(index=self._index, probe=self._index, embedder=embedder)

    def claim(self) -> None:
        """Take the index's folder, where the index is one.

        Raises:
            DependencyError: Another process has it, or it cannot be written.
        """
        if self._folder is not None:
            self._folder.claim()

    def open(self) -> None:
        """Open the index, and begin to load what the first search would otherwise wait for. Raises as `claim` does."""
        if self._on_demand:
            return
        if self._folder is not None:
            self._folder.open()
        self._warm = asyncio.create_task(self._warm_up())

    async def ready(self) -> None:
        """Return once everything is loaded and the index can be asked.

        Raises:
            DependencyError: It cannot, or not yet.
        """
        if self._warm is None or not self._warm.done():
            raise DependencyError("index-opening", "The index is being opened. Try again shortly.", retry_after=1)
        await self._index.ready()

    async def close(self) -> None:
        """Close the index and the embedders."""
        if self._warm is not None:
            self._warm.cancel()
        for part in (self._index, self._endpoint, self._static):
            if part is not None:
                await part.close()

    async def _warm_up(self) -> None:
        try:
            await asyncio.gather(self._static.load(), self._index.collections())
        except DependencyError as error:  # readiness says so until it is over
            structlog.get_logger().error("index", code=error.code, detail=error.detail)


def make_store(settings: Settings) -> Store:
    """The store that the settings name; it is not opened here."""
    return SqlStore(settings.database_url or settings.data_dir / "befund.sqlite")


async def check_store(store: Store) -> None:
    """Raise DependencyError where the service could not start with this store."""
    await store.open()
    await store.close()


@asynccontextmanager
async def _within_bounds(retention: Retention) -> AsyncIterator[None]:
    """Delete what is too old or too much, now and every hour."""
    await retention.prune()
    task = asyncio.create_task(retention.prune_hourly())
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
