"""The index in Chroma: in this process over a folder of ours, or a Chroma server."""

from befund.adapters.chroma.connection import EmbeddedChroma, ServedChroma
from befund.adapters.chroma.index import ChromaIndex
from befund.adapters.chroma.probe import ChromaProbe

__all__ = ["ChromaIndex", "ChromaProbe", "EmbeddedChroma", "ServedChroma"]
