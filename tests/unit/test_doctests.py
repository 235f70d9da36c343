"""The examples in docstrings say what is true."""

import doctest
import importlib
import pkgutil

import pytest

import befund.core

MODULES = [found.name for found in pkgutil.walk_packages(befund.core.__path__, "befund.core.")] + ["befund.api.body"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples_to_run() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [found for name in MODULES for found in finder.find(importlib.import_module(name)) if found.examples]
    assert len(examples) >= 15
