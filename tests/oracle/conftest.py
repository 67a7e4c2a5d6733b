"""A Spark session for many tiny queries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.oracle.spark_answers import fast_for_tiny_data


@pytest.fixture(scope="module")
def tiny(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with fast_for_tiny_data(spark) as session:
        ForwardLineage(session, home=tmp_path_factory.mktemp("home"))  # brings dlunion and the rest
        yield session
