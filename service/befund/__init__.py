"""Befund: an evaluation service for retrieval-augmented generation."""

from importlib.metadata import version

__version__ = version("befund")
