"""The bench of dependencies: everybody says the same, over few rows; and so do brute force and the words."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.bench.physicians import DEPENDENCIES, generate, physicians
from tests.bench.profiling import measure, our_ways, rivals

ROWS = 30_000


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_physicians_are_what_they_were(seed: int) -> None:
    assert physicians(1000, seed) == physicians(1000, seed)
    assert physicians(1000, seed) != physicians(1000, seed + 1)


@pytest.mark.long  # the bench compares them, too
def test_everybody_says_the_same(spark: SparkSession, tmp_path: Path) -> None:
    files = generate(tmp_path / "data", ROWS, seed=7)
    all_ways = our_ways(spark, files, tmp_path) + rivals(files, all_columns=True)
    said = measure(all_ways, rounds=1)
    table = physicians(ROWS, seed=7)
    for text, (violations, rows) in zip(DEPENDENCIES, said, strict=True):
        left, right = text.split(" -> ")
        values = defaultdict(list)
        for key, value in zip(table.column(left).to_pylist(), table.column(right).to_pylist(), strict=True):
            values[key].append(value)
        bad = [each for each in values.values() if len(set(each)) > 1]
        assert (violations, rows) == (len(bad), sum(map(len, bad)))
        assert bad or text == DEPENDENCIES[-1]
    for way in all_ways:
        assert len(way.verdict) == len(way.graph) == 1
        assert 0 < way.verdict[0] <= way.graph[0]
