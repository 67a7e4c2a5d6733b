"""Run a traced query while an executor dies; a program of its own, because a Python process has one Spark context."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql.functions import udf

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.spark_settings import CLUSTER


def parent_of(pid: int) -> int:
    """Return the parent of a process: the fourth word of its /proc entry, after a name in parentheses."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def main(folder: str, scratch: str) -> None:
    """Print the (value, id) pairs and how many executors were lost."""
    spark = local_session(
        "losing an executor",
        log=Path(scratch) / "spark.log",
        spark__sql__files__maxPartitionBytes="65536",
        spark__executor__memory="512m",
        **CLUSTER,
    )
    marker = Path(scratch) / "died"

    @udf("bigint")
    def perhaps_die(v: int) -> int:
        context = TaskContext.get()
        if v == 0 and context is not None and context.attemptNumber() == 0:
            marker.touch()
            executor = os.getppid()  # the daemon that forks Python workers …
            while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{executor}/cmdline").read_bytes():
                executor = parent_of(executor)  # … and above it the executor's JVM
            os.kill(executor, signal.SIGKILL)
        return v

    spark.udf.register("perhaps_die", perhaps_die)
    lineage = ForwardLineage(spark, Path(scratch) / "home")
    lineage.register("t", path=folder)
    frame = lineage.sql("SELECT v FROM t WHERE v % 41 = 0 AND perhaps_die(v) >= 0")
    rows = frame.selectExpr("v", "dl_ids(DL.t) AS ids").collect()
    print(json.dumps({"executors_lost": int(marker.exists()), "pairs": sorted([row.v, *row.ids] for row in rows)}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
