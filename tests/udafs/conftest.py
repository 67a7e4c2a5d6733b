"""A session with the kernel, under Spark's own settings."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark_settings import DEFAULTS, configure
from udafs.attach import attach


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    attach(own)
    configure(own, DEFAULTS)
    return own
