"""Sketches, and what one would do instead: every way gives the same rows, and says what it keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.bench.harness import Turns
from tests.bench.instead_of_sketches import CASES, Ways, rows_for
from tests.bench.sketches_or_views import instances, measure
from tests.bench.stack_overflow import write_tables


@pytest.mark.long  # the bench compares them, too, before it measures
def test_every_way_gives_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    write_tables(spark, tmp_path / "data", 0.0002)
    tables = {name: tmp_path / "data" / name for name in ("users", "posts")}
    ways = Ways(spark, CASES["S-Q1"], tables, tmp_path).all()
    try:
        rows = {row[1]: row for row in rows_for(spark, "S-Q1", ways, Turns(1, warm_up=0))}
    finally:
        spark.catalog.clearCache()
    assert list(rows) == ["plain", "sketch", "Bloom filters", "sorted", "sorted, sketch", "cached", "aggregate"]
    assert all(way.bytes > 0 for name, way in ways.items() if name != "plain")
    assert rows["sketch"][-1].startswith(("use", "plain: its sketch would save"))


def test_the_aggregate_of_q18_is_asked_in_place_of_its_subquery() -> None:
    over = CASES["q18"].over
    assert "having" not in over and over.count("aggregate") == 1 and over.endswith("limit 100")


def test_instances_come_from_so_many_settings() -> None:
    asked = instances(300, 4, 5, 20, seed=1)
    assert len({(each.first, each.end) for each in asked}) == 4
    assert len({each.least for each in asked}) == 5
    assert all(each.first < each.end for each in asked)


@pytest.mark.long  # the bench compares them, too
def test_views_and_sketches_give_the_rows_of_the_query(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()  # tables are registered in it
    write_tables(session, tmp_path / "data", 0.0002)
    (tmp_path / "here").mkdir()
    found = measure(session, tmp_path / "data", tmp_path / "here", instances(4, 2, 2, 3, seed=1))
    assert found.different == []
    assert found.made["views"] <= 2 and found.stored["views"] > 0
    assert found.made["sketches"] + found.used <= 4
