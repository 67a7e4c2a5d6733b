"""TPC-H at scale factor 0.01 with its tables registered."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.tpch_queries.sessions import traced_session


@pytest.fixture(scope="module")
def traced(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    return traced_session(spark, tpch, tmp_path_factory.mktemp("home"))
