"""GET /metrics."""

from litestar import Controller, Response, get
from litestar.di import NamedDependency

from befund.api.auth import open_to_all
from befund.telemetry import METRICS_MEDIA_TYPE, Metrics


class MetricsController(Controller):
    """What Prometheus scrapes."""

    opt = open_to_all()

    @get(
        "/metrics",
        operation_id="metrics",
        summary="Prometheus metrics",
        media_type="text/plain",
        response_description="Every series, in the text format",
    )
    async def metrics(self, metrics: NamedDependency[Metrics]) -> Response[bytes]:
        """Write every series in the text format."""
        return Response(metrics.exposition(), media_type=METRICS_MEDIA_TYPE)
