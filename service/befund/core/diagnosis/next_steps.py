"""What to do first about a cause."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from befund.contract import Cause, CauseCode


class Wording(Struct, frozen=True):
    """What advice calls that with which something is done: fields and routes in requests, commands and options there.

    Attributes:
        ingest: What takes documents in.
        map: What finds the quotes of evidence in a collection.
        look: What shows at which stage something was lost.
        truth: What says what a right answer states.
    """

    ingest: str
    map: str
    look: str
    truth: str


FIELDS = Wording(
    ingest="POST /collections/{name}/documents",
    map="POST /collections/{name}/evidence-mapping",
    look="`collection` and `retrieved`",
    truth="`expected_facts` or `reference_answers`",
)
COMMANDS = Wording(
    ingest="befund ingest",
    map="befund dataset map",
    look="--collection, and with the ranking (`retrieved`) in the file",
    truth="expected facts or reference answers",
)
FAR_BELOW = 50
"""From this rank on a larger k is no remedy."""

_STEPS: Mapping[CauseCode, str] = {
    "NO_GROUND_TRUTH": "Say what a right answer states: give the question {truth}.",
    "UNMAPPED_EVIDENCE": "Map the evidence anew: {map} finds its quotes in the collection.",
    "DOCUMENT_MISSING": "Ingest the document ({ingest}), then ask again.",
    "CHUNK_MISSING": "Ingest the chunk's document anew: part of it is gone, or was cut otherwise.",
    "TEXT_LOST": "Look at how the document is read and cut: words of it are lost on the way into the index.",
    "FILTERED_OUT": "Correct the clause of the filter, or the chunk's metadata.",
    "RANKED_BELOW_K": "Raise top_k past the rank, or rerank.",
    "INDEX_UNREACHABLE": "Ingest the chunk anew, or rebuild the collection: its vector is lost or wrong.",
    "DROPPED_FROM_CONTEXT": "Look at the context assembly: its limits, its reranker, its deduplication.",
    "PARTIAL_EVIDENCE": "Retrieve for each part of the question: one search did not find all of it.",
    "SPLIT_ACROSS_CHUNKS": "Cut the document otherwise, let chunks overlap, or give the generator the neighbours too.",
    "NOT_RETRIEVED": "Diagnose again with {look}, to see at which stage it was lost.",
    "GENERATION_ERROR": "Look at the generator's log: error, limit or time-out.",
    "MISREAD": "Let the prompt ask for a quote before the answer, use another model, or send fewer chunks.",
    "VERSION_CONFUSION": "Filter the other version out by its metadata, or name each chunk's version in the prompt.",
    "CONTRADICTORY_CONTEXT": "Take the outdated passage out of the index, or tell the generator which source holds.",
    "OMISSION": "Let the prompt ask for every part of the answer.",
    "UNSUPPORTED_ADDITION": "Let the prompt forbid what the context does not say.",
    "OUTSIDE_KNOWLEDGE": "Let the prompt allow the context alone; the answer will not stay right by luck.",
    "WRONG_REFUSAL": "Look at what makes the prompt refuse: the context held the answer.",
    "ANSWERED_ANYWAY": "Let the prompt ask back or decline where the context does not settle the question.",
    "ACCESS_LEAK": "Filter by role before the search: this role must not receive the chunk.",
    "UNKNOWN": "Read the answer beside its context.",
}


def usual_step(code: CauseCode, wording: Wording = FIELDS) -> str:
    """What to do first about any cause of a kind.

    >>> usual_step("DOCUMENT_MISSING", COMMANDS)
    'Ingest the document (befund ingest), then ask again.'
    """
    return _worded(_STEPS[code], wording)


def next_step(cause: Cause, contributing: Sequence[Cause] = (), wording: Wording = FIELDS) -> str:
    """The first thing to do about a cause, with what else is at hand.

    >>> next_step(Cause(code="RANKED_BELOW_K", detail="", confidence="measured", rank=9))
    'Raise top_k to 9 or more, or rerank: the chunk is found, but too far down.'
    """
    if cause.code == "UNMAPPED_EVIDENCE" and any(each.code == "DOCUMENT_MISSING" for each in contributing):
        return _worded("Ingest the document the evidence is in ({ingest}), then map the evidence ({map}).", wording)
    if cause.code == "RANKED_BELOW_K":
        if isinstance(cause.rank, int) and cause.rank < FAR_BELOW:
            return f"Raise top_k to {cause.rank} or more, or rerank: the chunk is found, but too far down."
        return "Search otherwise (another embedder, words beside vectors, a rewritten question): it is too far down."
    if cause.code == "NOT_RETRIEVED" and cause.confidence == "measured":
        return "Compare how the answer's retrieval searched with the index as it is now: query, filter, k, and time."
    return usual_step(cause.code, wording)


def _worded(step: str, wording: Wording) -> str:
    return step.format(ingest=wording.ingest, map=wording.map, look=wording.look, truth=wording.truth)
