"""The index in Chroma: in this process over a folder of ours, or a Chroma server."""

from befund.adapters.chroma.connection import EmbeddedChroma, ServedChroma
from befund.adapters.chroma.index import ChromaIndex

__all__ = ["ChromaIndex", "EmbeddedChroma", "ServedChroma"]
