"""Faults of every kind, each seeded into the pipeline by itself."""

from pipeline import (
    Fault,
    beside,
    cut_in_context,
    first,
    only,
    split,
    truncated,
    with_random_vector,
    with_vector_of,
    without,
    without_chunk,
    without_document,
)

RETRIEVAL, GENERATION, UNSUPPORTED = "RETRIEVAL_FAILURE", "GENERATION_FAILURE", "UNSUPPORTED_CORRECT_ANSWER"
SUCCESS, OPEN = "SUCCESS", "NOT_EVALUABLE"


def _lost(kind: str, question: str, cause: str, **more: object) -> Fault:
    return Fault(kind=kind, question=question, diagnosis=RETRIEVAL, cause=cause, **more)


def _wrong(kind: str, question: str, cause: str, answer: str, **more: object) -> Fault:
    return Fault(kind=kind, question=question, diagnosis=GENERATION, cause=cause, answer=answer, **more)


FAULTS = [
    _lost("document never ingested", "Q008", "DOCUMENT_MISSING", index=without_document("D033")),
    _lost("document never ingested", "Q012", "DOCUMENT_MISSING", index=without_document("D019")),
    _lost("document never ingested", "Q087", "DOCUMENT_MISSING", index=without_document("D031")),
    _lost("chunk deleted", "Q038", "CHUNK_MISSING", index=without_chunk("D007-chunk-3")),
    _lost("chunk deleted", "Q046", "CHUNK_MISSING", index=without_chunk("D010-chunk-3")),
    _lost("text truncated in the index", "Q051", "TEXT_LOST", index=truncated("D012-chunk-1", "for ten minutes")),
    _lost("text truncated in the index", "Q083", "TEXT_LOST", index=truncated("D027-chunk-2", "limited to 100")),
    _lost(
        "mapping removed", "Q082", "UNMAPPED_EVIDENCE",
        context=without("D026-chunk-1"), sent={"evidence_mapping": {"D016-E02": ["D016-chunk-1"]}},
    ),
    _lost(
        "mapping of another chunking", "Q077", "UNMAPPED_EVIDENCE",
        context=without("D021-chunk-3"), sent={"evidence_mapping": {"D021-E03": ["D021-chunk-1"]}},
    ),
    _lost("filter on the wrong version", "Q038", "FILTERED_OUT", where={"version": "2.4"}),
    _lost("filter on the wrong status", "Q040", "FILTERED_OUT", where={"status": {"$in": ["draft", "superseded"]}}),
    _lost(
        "one clause of two is wrong", "Q070", "FILTERED_OUT",
        where={"$and": [{"roles": {"$contains": "public"}}, {"document": {"$ne": "D018"}}]},
    ),
    _lost("k too small", "Q015", "RANKED_BELOW_K", k=5),
    _lost("k too small", "Q031", "RANKED_BELOW_K", k=10),
    _lost("k too small", "Q079", "RANKED_BELOW_K", k=1),
    _lost("context truncated", "Q075", "DROPPED_FROM_CONTEXT", context=cut_in_context("D020-chunk-2", "400 days")),
    _lost("context has room for fewer", "Q041", "DROPPED_FROM_CONTEXT", context=first(1)),
    _lost("reranker throws the evidence out", "Q057", "DROPPED_FROM_CONTEXT", context=without("D013-chunk-3")),
    _lost("chunk split", "Q012", "SPLIT_ACROSS_CHUNKS", index=split("D019-chunk-2", "15 minutes")),
    _lost("quote cut in two, one half arrives", "Q036", "SPLIT_ACROSS_CHUNKS", k=20, context=only("D032-chunk-2")),
    _lost("half of the evidence", "Q010", "PARTIAL_EVIDENCE",
          context=only("D021-chunk-2"), sent={"collection": None, "retrieved": None, "where": None}),
    _lost("vector replaced by noise", "Q088", "INDEX_UNREACHABLE", index=with_random_vector("D032-chunk-1")),
    _lost("vector of another chunk", "Q090", "INDEX_UNREACHABLE",
          index=with_vector_of("D033-chunk-3", "D012-chunk-1"), k=3),
    _lost("answered from an older index", "Q059", "NOT_RETRIEVED",
          context=only("D026-chunk-1"), sent={"retrieved": ["D026-chunk-1", "D025-chunk-1"]}),
    _lost("nobody looked into the index", "Q067", "NOT_RETRIEVED",
          context=only("D018-chunk-1"), sent={"collection": None, "retrieved": None}),
    Fault(kind="right without evidence", question="Q030", diagnosis=UNSUPPORTED, cause="DROPPED_FROM_CONTEXT",
          answer="Webhooks in Orbit 3.0 are signed with SHA-256.", k=10, context=only("D001-chunk-1")),
    _wrong("figure of the other version", "Q001", "VERSION_CONFUSION",
           "Orbit 3.0 versucht es 24 Stunden lang.", context=only("D003-chunk-1", "D004-chunk-1")),
    _wrong("figure of the other version", "Q006", "VERSION_CONFUSION",
           "An access token is valid for 720 minutes.", context=only("D007-chunk-2", "D009-chunk-1")),
    _wrong("figure of the other version", "Q044", "VERSION_CONFUSION",
           "One request may hold 1,000 measurements.", context=only("D010-chunk-1", "D011-chunk-1")),
    _wrong("outdated passage in the context", "Q001", "CONTRADICTORY_CONTEXT",
           "Fehlgeschlagene Webhooks werden einen Tag lang wiederholt.",
           context=beside("D003-chunk-1", "Old FAQ: failed webhooks are retried for one day.")),
    _wrong("generator error", "Q022", "GENERATION_ERROR", "", sent={"generation": {"error": "timeout after 30 s"}}),
    _wrong("generator error", "Q037", "GENERATION_ERROR", "An error occurred.",
           sent={"generation": {"error": "429 rate limited"}}),
    _wrong("generator refuses", "Q042", "WRONG_REFUSAL", "I cannot answer this from the documents."),
    _wrong("generator refuses", "Q046", "WRONG_REFUSAL", "The documents do not say which reason code is sent."),
    _wrong("figure of the next column", "Q054", "MISREAD", "Growth allows 6,000 ingest requests per minute."),
    _wrong("figure made up", "Q065", "MISREAD", "Charities get a discount of 20 percent."),
    _wrong("one fact left out", "Q049", "OMISSION", "Hourly averages are kept for three years."),
    _wrong("one fact left out", "Q010", "OMISSION", "The live systems are cleared after 30 days.",
           context=only("D021-chunk-2", "D022-chunk-1")),
    Fault(kind="something added", question="Q038", diagnosis=SUCCESS, cause="UNSUPPORTED_ADDITION",
          answer="A refresh token lasts 30 days. Each renewal costs 2 euro."),
    _wrong("answered instead of asked back", "Q003", "ANSWERED_ANYWAY", "Webhooks werden 72 Stunden lang wiederholt.",
           where={"roles": {"$contains": "public"}}),
    _wrong("answered what no document says", "Q011", "ANSWERED_ANYWAY", "Yes, Orbit is certified for HIPAA.",
           where={"roles": {"$contains": "public"}}),
    _wrong("forbidden chunk in the context", "Q118", "ACCESS_LEAK",
           "The post-mortem names an expired certificate.", context=only("D032-chunk-3")),
    _wrong("forbidden chunk in the context", "Q120", "ACCESS_LEAK",
           "Gebündelte Webhooks werden 96 Stunden lang wiederholt.", context=only("D028-chunk-2")),
    Fault(kind="nobody said what is right", question="Q056", diagnosis=OPEN, cause="NO_GROUND_TRUTH",
          answer="400 deliveries per second.", sent={"expected_facts": [], "reference_answers": []}),
]  # fmt: skip
