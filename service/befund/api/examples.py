"""Requests a reader can send as they stand, by path. They appear in the OpenAPI document and on its page."""

from collections.abc import Mapping
from typing import Any

_QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "Q001",
        "question": "How long does Orbit 3.0 retry failed webhooks?",
        "relevant": {"D003-chunk-1": 2, "D005-chunk-2": 1},
        "non_relevant": ["D099-chunk-1"],
        "tags": ["webhooks"],
    },
    {
        "id": "Q002",
        "question": "Which roles may rotate an API key?",
        "relevant": ["D007-chunk-4"],
        "tags": ["access"],
        "role": "partner",
    },
]

REQUESTS: Mapping[str, Mapping[str, dict[str, Any]]] = {
    "/retrieve-eval": {
        "Rankings of chunk ids": {
            "dataset": {"questions": _QUESTIONS},
            "retrieval": {
                "rankings": {
                    "Q001": ["D003-chunk-1", "D099-chunk-1", "D005-chunk-2"],
                    "Q002": [
                        {"id": "D001-chunk-1", "roles": ["partner", "staff"]},
                        {"id": "D007-chunk-4", "roles": ["staff"]},
                    ],
                }
            },
            "k": [1, 3],
        },
        "Evidence mapped to chunks": {
            "dataset": {
                "questions": [
                    {
                        "id": "Q001",
                        "question": "How long does Orbit 3.0 retry failed webhooks?",
                        "evidence": [{"id": "D003-E01", "relevance": 2}],
                    }
                ],
                "evidence_mapping": {"D003-E01": ["D003-chunk-1"]},
            },
            "retrieval": {"rankings": {"Q001": ["D005-chunk-2", "D003-chunk-1"]}},
            "level": "evidence",
            "k": [1, 3],
        },
    }
}
