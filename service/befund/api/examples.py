"""Requests a reader can send as they stand, by path, and what the service answers to them.

They appear in the OpenAPI document and on its page.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from befund.usecases.compare import compare_rankings
from befund.usecases.retrieve import evaluate_retrieval

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

_LISTS = {"Q001": ["D099-chunk-1", "D003-chunk-1"], "Q002": ["D007-chunk-4", "D001-chunk-1"]}

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
    },
    "/compare": {
        "Top 1 against top 2, with gates": {
            "dataset": {"questions": _QUESTIONS},
            "baseline": {"rankings": _LISTS, "k": 1},
            "candidate": {"rankings": _LISTS, "k": 2},
            "gates": [
                {"metric": "hit_rate", "max_regressions": 0},
                {"metric": "chunks_per_question", "max_increase_percent": 50},
            ],
        },
    },
}

ANSWERS: Mapping[str, Callable[[bytes], object]] = {
    "/retrieve-eval": lambda body: evaluate_retrieval(body, clock=lambda: 0.0),
    "/compare": compare_rankings,
}

PROBLEM: dict[str, Any] = {
    "type": "/problems/malformed-request",
    "title": "Malformed request",
    "status": 400,
    "detail": "Expected `str`, got `int` at /dataset/questions/0/id. GET /schema describes what is read here.",
    "instance": "/retrieve-eval",
    "request_id": "5f0c1a9e7d5b4c0d9f0b8d1c2e3f4a5b",
    "errors": [{"pointer": "/dataset/questions/0/id", "detail": "Expected `str`, got `int`"}],
}


def answer_to(path: str, request: Mapping[str, Any]) -> object:
    """Give the answer to an example, computed and not written down, so that it stays true."""
    return msgspec.to_builtins(ANSWERS[path](msgspec.json.encode(request)))
