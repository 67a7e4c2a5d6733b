"""What a program holds while it runs, on both sides of Py4J, and whether that grows."""

from __future__ import annotations

import gc
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from forward_lineage.spark.settings import configured

# A slope that is further from 0 than this many standard errors is one.
SCATTERS = 3.0

# Nor is one that makes less than this of the first value from first to last: a file more among hundreds.
NOTICEABLE = 0.005

MOST_COLLECTIONS = 12

MEASURES = {
    "Python resident, KB": "of the process, after its garbage collection",
    "Python blocks": "allocated by Python's own allocator",
    "Python descriptors": "open",
    "Python threads": "",
    "Java heap, KB": "used after a full collection",
    "Java metaspace, KB": "used",
    "Java classes": "loaded",
    "Java code cache, KB": "used by compiled code: grows as long as the compiler finds something to do",
    "Java descriptors": "open",
    "Java threads": "alive",
    "views": "temporary ones of the session",
    "functions": "registered in the session",
    "cached plans": "of the application",
    "cached RDDs": "of the application",
    "temporary files": "in the folders of Python, Java and Spark",
    "home files": "in the folder of registrations and results",
    "home, KB": "their bytes",
}

# What other things than a leak move, so nothing is concluded from it.
NOT_JUDGED = ("Java code cache, KB", "Python threads", "Java threads")


@dataclass(frozen=True)
class Places:
    """Folders that a session writes into.

    Attributes:
        temporary: Python's and Java's folder for temporary files, and Spark's for blocks.
        home: where registrations and results are.
    """

    temporary: Path
    home: Path


def measured(spark: SparkSession, places: Places) -> dict[str, float]:
    """Everything in `MEASURES`, now; collects garbage on both sides first.

    Spark's parser learns from every text, and forgets nothing unless told to: a megabyte for each few texts, whoever
    wrote them. It is told to, for which the session needs `MANAGED`.
    """
    _clear_parser(spark)
    java = int(_jvm(spark).java.lang.ProcessHandle.current().pid())
    _collect_garbage(spark)
    files, home = _files(places.temporary), _files(places.home)
    session = spark._jsparkSession
    return {
        "Python resident, KB": _resident() / 1024,
        "Python blocks": sys.getallocatedblocks(),
        "Python descriptors": _descriptors(os.getpid()),
        "Python threads": _threads(os.getpid()),
        **_java_memory(spark),
        "Java descriptors": _descriptors(java),
        "Java threads": _threads(java),
        "views": session.sessionState().catalog().listTempViews("default", "*").size(),
        "functions": session.sessionState().functionRegistry().listFunction().size(),
        "cached plans": session.sharedState().cacheManager().numCachedEntries(),
        "cached RDDs": spark.sparkContext._jsc.getPersistentRDDs().size(),  # type: ignore[attr-defined]
        "temporary files": len(files),
        "home files": len(home),
        "home, KB": sum(home.values()) / 1024,
    }


MANAGED = {"spark.sql.parser.manageParserCaches": "true"}


def _clear_parser(spark: SparkSession) -> None:
    with configured(spark, {"spark.sql.parser.parserDfaCacheFlushThreshold": "1"}):
        spark.sql("SELECT 1")


def _jvm(spark: SparkSession) -> JavaObject:
    assert spark._jvm is not None
    return spark._jvm


def _collect_garbage(spark: SparkSession) -> None:
    """Until nothing more goes: Python lets go of what Java holds, and a thread of Spark's of what was broadcast."""
    used = [math.inf]
    while len(used) < MOST_COLLECTIONS and (len(used) < 4 or used[-1] < 0.99 * used[-2]):
        gc.collect()
        _jvm(spark).System.gc()
        _jvm(spark).Thread.sleep(200)
        used.append(_java_memory(spark)["Java heap, KB"])


def _java_memory(spark: SparkSession) -> dict[str, float]:
    factory = _jvm(spark).java.lang.management.ManagementFactory
    pools = {pool.getName(): pool.getUsage().getUsed() / 1024 for pool in factory.getMemoryPoolMXBeans()}
    return {
        "Java heap, KB": factory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1024,
        "Java metaspace, KB": pools["Metaspace"],
        "Java classes": factory.getClassLoadingMXBean().getLoadedClassCount(),
        "Java code cache, KB": sum(used for name, used in pools.items() if name.startswith("Code")),
    }


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _descriptors(process: int) -> int:
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


def _threads(process: int) -> int:
    return sum(1 for _ in Path(f"/proc/{process}/task").iterdir())


def _files(folder: Path) -> dict[Path, int]:
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            try:
                found[path] = path.stat().st_size
            except FileNotFoundError:  # put away in the meantime
                continue
    return found


# --- slopes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slope:
    """How fast something grows.

    Attributes:
        per_step: the slope of the line of least squares, for each step.
        error: its standard error; 0 where all points lie on the line.
        least: what is too little to be noticed, for each step.
    """

    per_step: float
    error: float
    least: float = 0.0

    @property
    def grows(self) -> bool:
        """Whether it is above 0 by more than its scatter."""
        return self.per_step > max(SCATTERS * self.error, self.least, 1e-9)

    def above(self, other: Slope) -> bool:
        """Whether it is above another slope by more than the scatter of both."""
        return Slope(self.per_step - other.per_step, math.hypot(self.error, other.error), self.least).grows


def slope(values: Sequence[float]) -> Slope:
    """The slope of values that were measured at equal steps; three at least.

    Raises:
        ValueError: fewer values.

    """
    n = len(values)
    if n < 3:
        raise ValueError(f"three values make a slope with an error; there are {n}")
    mean_x, mean_y = (n - 1) / 2, sum(values) / n
    spread = sum((x - mean_x) ** 2 for x in range(n))
    rise = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values)) / spread
    residual = sum((y - mean_y - rise * (x - mean_x)) ** 2 for x, y in enumerate(values))
    return Slope(rise, math.sqrt(max(residual, 0.0) / (n - 2) / spread), NOTICEABLE * values[0] / (n - 1))


def leaking(ours: Sequence[Mapping[str, float]], plain: Sequence[Mapping[str, float]]) -> list[str]:
    """What grows with lineage, and faster than it does without."""
    found = []
    for name in MEASURES:
        if name in NOT_JUDGED:
            continue
        with_lineage, without = (slope([each[name] for each in side]) for side in (ours, plain))
        if with_lineage.grows and with_lineage.above(without):
            found.append(name)
    return found
