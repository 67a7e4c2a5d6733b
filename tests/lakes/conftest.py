"""A session with the engines of both formats; where there are none, one word says why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.engines import ASKED, CATALOG, FORMATS, NoEngineError, lake_session
from tests.shared_state import drop_views


@pytest.fixture(scope="session")
def lakes_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session has its tables and its log."""
    return tmp_path_factory.mktemp("lakes")


@pytest.fixture
def lakes_log(lakes_folder: Path) -> Path:
    """Spark's log, with warnings."""
    return lakes_folder / "spark.log"


@pytest.fixture(scope="session")
def lakes(lakes_folder: Path) -> Iterator[SparkSession]:
    """The session of a process that has no other."""
    if os.environ.get(ASKED) != "1":
        pytest.skip("make test-lakes runs it, with the engines of Delta and Iceberg")
    try:
        spark = lake_session(lakes_folder, *FORMATS)
    except NoEngineError as error:
        pytest.skip(str(error))
    spark.sql(f"CREATE NAMESPACE {CATALOG}.db")
    yield spark
    spark.stop()


@pytest.fixture
def lineage(lakes: SparkSession, tmp_path: Path) -> Iterator[ForwardLineage]:
    """One with a home of its own, whose names go with it."""
    yield ForwardLineage(lakes, home=tmp_path / "home")
    drop_views(lakes)
