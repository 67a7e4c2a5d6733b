"""Spark's classes, loaded and verified once for all the Java processes of the suite (Java's class data sharing).

A Java process of Spark takes half of its first seconds for that, and the suite starts dozens of them.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pyspark

from forward_lineage.spark.java import find_java

# Whatever such a file cannot be used for, Java says in lines among the program's own, and goes on without it.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"

_TYPICAL_PROGRAM = """
import sys
from pathlib import Path
from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from forward_lineage.spark.versions import arrow_table

folder = Path(sys.argv[1])
spark = local_session("class archive", master="local[2]", driver_memory="2g", log=folder / "log")
for name in ("a", "b"):
    spark.range(100).selectExpr("id AS k", "id % 7 AS g", "CAST(id AS DECIMAL(12, 2)) AS v").write.parquet(
        str(folder / name)
    )
lineage = ForwardLineage(spark, folder / "home")
for name in ("a", "b"):
    lineage.register(name, path=folder / name)
text = "SELECT a.g, sum(b.v) FROM a JOIN b ON a.k = b.k WHERE b.k IN (SELECT g FROM a) GROUP BY a.g ORDER BY 2"
arrow_table(lineage.sql(text))
lineage.save(text, "saved")
spark.stop()
"""


def options(archive: Path) -> str:
    """The options for Java to use an archive, if it is there and fits."""
    return f"-XX:SharedArchiveFile={archive} {_QUIET}"


def path(folder: Path) -> Path:
    """Where the archive for this Java and this Spark is, or will be."""
    java = find_java().resolve()
    fits = f"{java} {java.stat().st_mtime_ns} {pyspark.__version__} {pyspark.__file__}"
    stands_for = hashlib.sha256(fits.encode()).hexdigest()[:12]
    return folder / f"spark-classes-{stands_for}.jsa"


def make(archive: Path, scratch: Path) -> None:
    """Run a typical program and keep the classes that it loaded; without success there is no archive, and no harm."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_name(f".{os.getpid()}-{archive.name}")
    given = os.environ.get("SPARK_SUBMIT_OPTS", "")
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": f"{given} -XX:ArchiveClassesAtExit={unfinished} {_QUIET}"}
    command = [sys.executable, "-c", _TYPICAL_PROGRAM, str(scratch)]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    if done.returncode == 0 and unfinished.exists():
        unfinished.replace(archive)
    unfinished.unlink(missing_ok=True)
