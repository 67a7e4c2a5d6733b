"""The bench of rewriting runs over every query; no figure is tested: a busy machine must not fail for being busy."""

from __future__ import annotations

from pathlib import Path

import pytest

import tpch_queries
from tests.bench.rewriting import SEMANTICS, measure


@pytest.mark.slow
def test_every_query_is_measured(tpch: Path) -> None:
    medians = measure(tpch, runs=1)
    assert set(medians) == set(tpch_queries.names())
    assert all(found[semantics] > 0 for found in medians.values() for semantics in SEMANTICS)
