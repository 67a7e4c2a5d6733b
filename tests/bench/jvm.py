"""Seconds of CPU that Spark's JVM takes, whatever else the machine does: for figures from a machine that others use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.bench.harness import Variant


class JvmSeconds:
    """User and system seconds of a session's JVM, noted for each run of a variant.

    Attributes:
        seconds: by variant, of each run, those for warming up included.

    """

    def __init__(self, spark: SparkSession) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._process = Path("/proc") / str(gateway.proc.pid) / "stat"
        self.seconds: dict[str, list[float]] = {}

    def now(self) -> float:
        """Return the seconds so far."""
        after_name = self._process.read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def variant(self, name: str, prepare: Callable[[], DataFrame]) -> Variant:
        """Return a variant whose runs are noted."""
        begun = [0.0]

        def begin() -> DataFrame:
            begun[0] = self.now()
            return prepare()

        return Variant(name, begin, lambda: self.seconds.setdefault(name, []).append(self.now() - begun[0]))
