"""A session with Comet's plugin and shuffle manager, or without; and which of Comet's operators a plan has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.spark.local import local_session
from tests.lakes.engines import fetched

COMET = "org.apache.datafusion:comet-spark-spark4.1_2.13:1.2.0"
"""For Spark 4.1 and Scala 2.13; the version says which Spark it was made for."""
SWITCH = "spark.comet.enabled"
VARIANTS: Mapping[str, Mapping[str, str]] = {
    "as it comes": {},
    "all of it": {
        # Scans and shuffles that Comet does not take over by itself are converted for it, so that it has more to do.
        "spark.comet.convert.parquet.enabled": "true",
        "spark.comet.convert.shuffleInput.enabled": "true",
        "spark.comet.convert.range.enabled": "true",
        "spark.comet.convert.inMemoryCache.enabled": "true",
        "spark.comet.convert.rdd.enabled": "true",
        "spark.comet.convert.oneRowRelation.enabled": "true",
        "spark.comet.convert.broadcastBuildSide.enabled": "true",
        "spark.comet.exec.range.enabled": "true",
        "spark.comet.exec.inMemoryCache.enabled": "true",
        "spark.comet.write.parquet.enabled": "true",
    },
}
"""Settings under which it is tried, by name."""
# What is no operator that computes: conversions, and the kinds of Comet's shuffles.
_NO_OPERATORS = {"CometColumnarToRow", "CometNativeColumnarToRow", "CometNativeShuffle", "CometColumnarShuffle"}


def comet_session(root: Path) -> SparkSession:
    """Start the session of a process, with Comet on.

    Raises:
        NoEngineError: there is no jar of it.

    """
    jar = str(fetched(COMET))
    settings = {
        "spark.jars": jar,
        "spark.driver.extraClassPath": jar,
        "spark.plugins": "org.apache.spark.CometPlugin",
        "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": "2g",
        SWITCH: "true",
    }
    return _session(root, settings)


def session_without(root: Path) -> SparkSession:
    """Start the session of a process, Spark's own."""
    return _session(root, {})


def _session(root: Path, settings: Mapping[str, str]) -> SparkSession:
    settings = {"spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": str(root / "warehouse"), **settings}
    spelled = {key.replace(".", "__"): value for key, value in settings.items()}
    return local_session("comet", master="local[2]", driver_memory="2g", log=root / "spark.log", **spelled)


def operators(frame: DataFrame) -> Counter[str]:
    """Return Comet's operators in the plan of a frame that has run, without those that only convert."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    final = plan.partition("== Initial Plan ==")[0]  # of an adaptive plan; the final one stands first
    return Counter(each for each in re.findall(r"\bComet\w+", final) if each not in _NO_OPERATORS)
