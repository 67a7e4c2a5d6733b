"""One commit's half of `tests.bench.commits`: a Spark session that times TPC-H queries as they are asked for.

Run as a file, with the commit's tree on PYTHONPATH: it uses public names only, which every commit has. A line on
standard input is a query's name; the answer is a JSON line, seconds to prepare it and to run it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tpch_queries import TABLES, query


def serve(data: Path, semantics: str) -> None:
    """Answer until standard input ends."""
    with tempfile.TemporaryDirectory() as scratch:
        spark = _session(scratch)
        lineage = ForwardLineage(spark, Path(scratch) / "home")
        for table in TABLES:
            lineage.register(table, path=data / f"{table}.parquet")
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            print(json.dumps(_timed(lineage, query(line.strip()), semantics)), flush=True)
        spark.stop()


def _session(scratch: str) -> SparkSession:
    settings = {
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
    }
    builder = SparkSession.builder.master("local[2]").appName("commits")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _timed(lineage: ForwardLineage, sql: str, semantics: str) -> dict[str, float]:
    start = time.perf_counter()
    frame = lineage.sql(sql, semantics)
    prepared = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return {"prepare": prepared - start, "run": time.perf_counter() - prepared}


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2])
