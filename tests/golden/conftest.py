"""A Spark session of its own for the golden fixtures, on the shared JVM."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.golden import tables
from tests.oracle.spark_answers import FAST_FOR_TINY_DATA
from tests.spark_settings import configure
from udafs.attach import attach


@pytest.fixture(scope="module")
def golden(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with the fixtures' tables; settings that make tiny queries fast.

    Tables of the catalog are seen by all sessions of the process: the next file's tests must not meet them.
    """
    session = spark.newSession()
    attach(session)
    configure(session, FAST_FOR_TINY_DATA)
    tables.create(session)
    yield session
    tables.drop(session)
