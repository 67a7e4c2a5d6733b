"""The examples in docstrings of `forward_lineage.steps` show what happens."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["step_graph", "execution_plan", "keeping", "identity", "serialising", "step"])
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"forward_lineage.steps.{name}"))
    assert tried
    assert not failed
