"""Spark settings that several tests share.

Compiling the code that Spark generates takes a second of CPU or two for a query of TPC-H, and running it on small data
next to nothing. So the suite's session generates none for whole stages, and tests for which it matters ask for it:
those of the kernel, of row ids, and one run of each TPC-H query with lineage. Programs that tests start have Spark's
defaults.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

# Without code for single expressions either, which Spark's own catalog does not survive (`listTables`).
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
GENERATED_CODE = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}  # the defaults


def configure(session: SparkSession, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        session.conf.set(key, value)
