"""A Spark session of its own for the golden fixtures, on the shared JVM."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.golden import tables
from udafs.attach import attach


@pytest.fixture(scope="session")
def golden(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with the fixtures' tables; settings that make tiny queries fast."""
    session = spark.newSession()
    attach(session)
    for key, value in (
        ("spark.sql.shuffle.partitions", "1"),
        ("spark.sql.adaptive.enabled", "false"),
        ("spark.sql.codegen.wholeStage", "false"),  # compiling costs more than a dozen rows
    ):
        session.conf.set(key, value)
    tables.create(session)
    yield session
    tables.drop(session)
