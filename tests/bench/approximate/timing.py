"""What something takes: by the clock, and of the processor, in this process and in Spark's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

CORES = 2
_TICK = os.sysconf("SC_CLK_TCK")
_TIMES = 3


@dataclass(frozen=True)
class Took:
    """How long something took.

    Attributes:
        clock: seconds by the clock.
        cpu: seconds of the processor, of this process and Spark's.

    """

    clock: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.clock:7.2f} s ({self.cpu:7.2f} CPU)"


class Timer:
    """Times calls.

    Args:
        spark: whose process counts, too.

    """

    def __init__(self, spark: SparkSession) -> None:
        handle: Any = spark._jvm
        self._java = Path(f"/proc/{handle.java.lang.ProcessHandle.current().pid()}/stat")

    def of(self, call: Callable[[], Any]) -> tuple[Any, Took]:
        clock, cpu = time.perf_counter(), self._cpu()
        found = call()
        return found, Took(time.perf_counter() - clock, self._cpu() - cpu)

    def _cpu(self) -> float:
        used = self._java.read_text().rpartition(")")[2].split()
        return time.process_time() + (int(used[11]) + int(used[12])) / _TICK


def session() -> SparkSession:
    """Return a session of two cores."""
    builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.driver.memory", "2g")
    spark = (
        builder.config("spark.sql.shuffle.partitions", 4)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def warm(timer: Timer, call: Callable[[], Any]) -> tuple[Any, Took]:
    """Return what a call gives, and what it takes after the first time: of three times that of the median."""
    call()
    found = [timer.of(call) for _ in range(_TIMES)]
    return found[-1][0], sorted((took for _, took in found), key=lambda took: took.cpu)[_TIMES // 2]
