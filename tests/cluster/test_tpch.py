"""TPC-H on a cluster: rows and lineage are what they are in one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tpch_queries
from tests.cluster.answers import by_comment, differences, saved, store_example, traced_tpch
from tests.cluster.driver import Driver
from tests.updates.elsewhere import updated

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

QUERIES = tpch_queries.names()[:22]
EVERY_DAY = ("q17",)  # Q3 is saved, below


@pytest.mark.long  # every day two executors save the same: tests/tpch_queries/test_saving.py
def test_some(spark: SparkSession, driver: Driver, tpch: Path, tmp_path: Path) -> None:
    found = driver.call(traced_tpch, tpch, tmp_path / "there", EVERY_DAY, "data")
    assert differences(found, traced_tpch(spark, tpch, tmp_path / "here", EVERY_DAY, "data")) == []
    kept = driver.call(saved, tpch, tmp_path / "there", "q3")
    assert kept == saved(spark, tpch, tmp_path / "here", "q3")
    assert kept["several tasks wrote"]
    by_value = driver.call(by_comment, tpch, tmp_path / "there")
    assert differences(by_value, by_comment(spark, tpch, tmp_path / "here")) == []


@pytest.mark.long
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("semantics", ["data", "control"])
def test_all(spark: SparkSession, driver: Driver, tpch: Path, tmp_path: Path, semantics: str) -> None:
    found = driver.call(traced_tpch, tpch, tmp_path / "there", QUERIES, semantics)
    assert differences(found, traced_tpch(spark, tpch, tmp_path / "here", QUERIES, semantics)) == []


@pytest.mark.long
@pytest.mark.timeout(6000)
def test_saved_and_asked(spark: SparkSession, driver: Driver, tpch: Path, tmp_path: Path) -> None:
    for name in ("q1", "q3", "q13", "q15", "q18"):
        assert driver.call(saved, tpch, tmp_path / "there", name) == saved(spark, tpch, tmp_path / "here", name), name


@pytest.mark.long
def test_the_demo(spark: SparkSession, driver: Driver, tmp_path: Path) -> None:
    found = driver.call(store_example, tmp_path / "there")
    assert differences(found, store_example(spark, tmp_path / "here")) == []


@pytest.mark.long
def test_an_update(spark: SparkSession, driver: Driver, tmp_path: Path) -> None:
    there, other = driver.call(updated, tmp_path / "there")
    assert other == []
    assert there == updated(spark, tmp_path / "here")[0]
