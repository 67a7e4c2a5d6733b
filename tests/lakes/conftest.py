"""A session with the engines that there are for this Spark; tests of a format that has none say so and are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.engines import ASKED, CATALOG, FORMATS, NoEngineError, available, jars, lake_session, with_s3a
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
def engines_asked() -> None:
    """Skips where nobody asked for the engines."""
    if os.environ.get(ASKED) != "1":
        pytest.skip("make test-lakes runs it, with the engines of Delta and Iceberg")


@pytest.fixture(scope="session")
def lakes(engines_asked: None, lakes_folder: Path) -> Iterator[SparkSession]:
    """The session of a process that has no other."""
    try:
        kinds = available()
    except NoEngineError as error:
        pytest.skip(str(error))
    spark = lake_session(lakes_folder, *kinds, settings=with_s3a())
    if "iceberg" in kinds:
        spark.sql(f"CREATE NAMESPACE {CATALOG}.db")
    yield spark
    spark.stop()


@pytest.fixture(autouse=True)
def _with_its_engine(request: pytest.FixtureRequest) -> None:
    """The format of a test is a parameter of it, or `FORMAT` in its module."""
    if os.environ.get(ASKED) != "1":
        return  # nothing is fetched
    parameters = getattr(request.node, "callspec", None)
    asked = (getattr(request.module, "FORMAT", None), *(parameters.params.values() if parameters else ()))
    for kind in (each for each in FORMATS if each in asked):
        try:
            jars(kind)
        except NoEngineError as error:
            pytest.skip(str(error))


@pytest.fixture
def lineage(lakes: SparkSession, tmp_path: Path) -> Iterator[ForwardLineage]:
    """One with a home of its own, whose names go with it."""
    yield ForwardLineage(lakes, home=tmp_path / "home")
    drop_views(lakes)
