"""Spark settings that several tests share.

Compiling the code that Spark generates takes a second of CPU or two for a query of TPC-H, planning it again after each
stage some more, and running it on small data next to nothing. So the suite's session generates no code, neither for
whole stages nor for single expressions, and does not plan adaptively. (Spark's own `listTables` does not survive that:
see `kinds` in tests/forward_lineage/conftest.py.) Tests for which it matters ask for Spark's defaults: those of the
kernel, of row ids, and `tests/tpch_queries/test_neutrality.py`, which every day runs some queries of TPC-H under other
settings, and in the long tier all of them. Programs that tests start have Spark's defaults.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from forward_lineage.spark.settings import configured as configured  # noqa: PLC0414 - handed on

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# What the pages of Spark's own UI would show of each plan that runs is written for nobody; by default at length.
FEW_WORDS = {"spark.sql.ui.explainMode": "simple"}
DEFAULTS = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}

# For `local_session` of a program with two executors, Java processes of their own, with the options that the driver has
# from its environment (tests/conftest.py).
CLUSTER = {
    "master": "local-cluster[2,1,1024]",
    "driver_memory": "1g",
    "spark__executor__extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
}


def configure(session: SparkSession, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        session.conf.set(key, value)
