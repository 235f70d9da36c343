"""What the service needs from outside, each as a Protocol: adapters implement them, app.py chooses."""

from befund.ports.answered import Answered
from befund.ports.embedding import Embedder, EmbedderIdentity, Tokenizer, Vectors
from befund.ports.index import (
    Collection,
    Contest,
    Hit,
    Index,
    IndexedChunk,
    IndexProbe,
    Metadata,
    ProbedChunk,
    Standing,
)
from befund.ports.jobs import JobQueue, NewJob
from befund.ports.judges import Cache, CallOutcome, FactReader, Judge, JudgeMeter, Judges
from befund.ports.monitors import EntryPage, Monitors
from befund.ports.store import DatasetRemoved, DatasetWritten, RunPage, RunWrite, Store

__all__ = [
    "Answered",
    "Cache",
    "CallOutcome",
    "Collection",
    "Contest",
    "DatasetRemoved",
    "DatasetWritten",
    "Embedder",
    "EmbedderIdentity",
    "EntryPage",
    "FactReader",
    "Hit",
    "Index",
    "IndexProbe",
    "IndexedChunk",
    "JobQueue",
    "Judge",
    "JudgeMeter",
    "Judges",
    "Metadata",
    "Monitors",
    "NewJob",
    "ProbedChunk",
    "RunPage",
    "RunWrite",
    "Standing",
    "Store",
    "Tokenizer",
    "Vectors",
]
