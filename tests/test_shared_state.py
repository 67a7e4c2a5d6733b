"""What a file of tests leaves behind is gone for the next one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.shared_state import SharedState

DEFAULT = "io.file.buffer.size"  # of Hadoop's own


def test_everything_is_put_back(spark: SparkSession, tmp_path: Path) -> None:
    session: Any = spark._jsparkSession
    hadoop = session.sparkContext().hadoopConfiguration()
    folder, partitions = Path.cwd(), spark.conf.get("spark.sql.shuffle.partitions")
    path, size = os.environ["PATH"], hadoop.get(DEFAULT)
    assert size is not None
    state = SharedState()
    state.started(spark)
    spark.conf.set("spark.sql.shuffle.partitions", "77")
    spark.conf.unset("spark.sql.codegen.wholeStage")
    spark.conf.set("left.behind", "1")
    hadoop.unset(DEFAULT)
    hadoop.set("left.behind", "1")
    hadoop.set("fs.defaultFS", "viewfs://elsewhere/")
    os.environ["LEFT_BEHIND"] = "1"
    os.environ["PATH"] = "/nowhere"
    os.chdir(tmp_path)
    spark.sql("CREATE DATABASE left_behind")
    spark.sql("USE left_behind")
    try:
        state.put_back()
        assert spark.conf.get("spark.sql.shuffle.partitions") == partitions
        assert spark.conf.get("spark.sql.codegen.wholeStage") == "false"
        assert spark.conf.get("left.behind", None) is None
        assert (hadoop.get(DEFAULT), hadoop.get("left.behind"), hadoop.get("fs.defaultFS")) == (size, None, "file:///")
        assert ("LEFT_BEHIND" in os.environ, os.environ["PATH"], Path.cwd()) == (False, path, folder)
        assert spark.catalog.currentDatabase() == "default"
    finally:
        spark.sql("DROP DATABASE left_behind")


def test_what_has_not_changed_is_left_alone(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SharedState()
    state.started(spark)
    before = dict(spark.conf.getAll) if hasattr(spark.conf, "getAll") else {}
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "another")
    state.put_back()
    assert os.environ["PYTEST_CURRENT_TEST"] == "another"
    assert (dict(spark.conf.getAll) if hasattr(spark.conf, "getAll") else {}) == before
