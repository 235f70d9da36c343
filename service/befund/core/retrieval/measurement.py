"""One retrieval request, measured."""

from msgspec import Struct

from befund.core.metrics import Metric, Values
from befund.core.retrieval.cases import Cases
from befund.core.retrieval.envelope import LazyDataset, LazyRetrieveEvalRequest


class Measurement(Struct, frozen=True):
    """One request, measured: its questions and rankings, and each metric's value for each eligible question."""

    request: LazyRetrieveEvalRequest
    dataset: LazyDataset
    cases: Cases
    values: dict[Metric, Values]
