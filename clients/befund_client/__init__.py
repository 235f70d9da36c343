"""The Befund client: measure a retrieval-augmented generation system from Python.

    from befund_client import Client

    with Client("http://127.0.0.1:8080") as client:
        answer = client.retrieve_eval(dataset, {"Q001": ["D003-chunk-1"]}, k=[1, 5])
        print(answer.metrics["hit_rate@5"].value)

Needs httpx and msgspec alone. Requests and answers are the types of `befund.contract`.
"""

from befund.contract import CalibrationItem, CompareSide, DiagnoseItem, Gate, JudgeItem, RetrievalOptions
from befund_client._client import AsyncClient, Client
from befund_client._comparing import CompareKeywords, GateLike, SideLike, compare_body
from befund_client._diagnosing import DiagnoseBatchKeywords, DiagnoseKeywords
from befund_client._documents import DocumentLike
from befund_client._errors import (
    BefundError,
    ConflictError,
    FileError,
    NotFoundError,
    ProblemError,
    ResponseError,
    TransportError,
)
from befund_client._exchange import Retry
from befund_client._files import (
    DatasetFormat,
    Loaded,
    Rankings,
    RankingsFormat,
    read_answers,
    read_calibration,
    read_cases,
    read_config,
    read_dataset,
    read_gates,
    read_ids,
    read_mapping,
    read_rankings,
)
from befund_client._judging import CalibrateKeywords, JudgeBatchKeywords, JudgeKeywords
from befund_client._requests import DatasetLike, RankingLike, RetrieveEvalKeywords, retrieve_eval_body

__all__ = [
    "AsyncClient",
    "BefundError",
    "CalibrateKeywords",
    "CalibrationItem",
    "Client",
    "CompareKeywords",
    "CompareSide",
    "ConflictError",
    "DatasetFormat",
    "DatasetLike",
    "DiagnoseBatchKeywords",
    "DiagnoseItem",
    "DiagnoseKeywords",
    "DocumentLike",
    "FileError",
    "Gate",
    "GateLike",
    "JudgeBatchKeywords",
    "JudgeItem",
    "JudgeKeywords",
    "Loaded",
    "NotFoundError",
    "ProblemError",
    "RankingLike",
    "Rankings",
    "RankingsFormat",
    "ResponseError",
    "RetrievalOptions",
    "RetrieveEvalKeywords",
    "Retry",
    "SideLike",
    "TransportError",
    "compare_body",
    "read_answers",
    "read_calibration",
    "read_cases",
    "read_config",
    "read_dataset",
    "read_gates",
    "read_ids",
    "read_mapping",
    "read_rankings",
    "retrieve_eval_body",
]
