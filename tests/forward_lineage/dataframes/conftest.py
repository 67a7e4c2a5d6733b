"""The paper's store example, once for each module."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.demo import register_store_example


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    lineage = ForwardLineage(spark, tmp_path_factory.mktemp("shop") / "home")
    register_store_example(spark, lineage)
    return lineage
