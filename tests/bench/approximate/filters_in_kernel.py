"""All keys of a membership filter, asked in Spark: ``python -m tests.bench.approximate.filters_in_kernel [rows]``.

The rows are those of `filters`: 7 attributes, skewed. GROUP BY CUBE gives each key, NULL standing for what may be any.
The exit code is 1 if `dl_may_occur` says of one that it does not occur.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.approximate.filters import ROWS, logs


def main() -> int:
    columns = logs(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
    keys = len(columns.all_tuples())
    names = [f"a{number}" for number in range(columns.codes.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        spark = local_session("filters", master="local[2]", driver_memory="2g", log=home / "spark.log")
        try:
            table = pa.table(dict(zip(names, columns.codes.astype("int64").T, strict=True)))
            pq.write_table(table, home / "logs.parquet")
            lineage = ForwardLineage(spark, home / "home")
            lineage.register("logs", path=home / "logs.parquet")
            path = lineage.membership("logs", names).path
            listed = ", ".join(names)
            began = time.monotonic()
            asked, missed = spark.sql(f"""
                SELECT count(*), count_if(NOT dl_may_occur('{path}', {listed}))
                FROM (SELECT {listed} FROM logs GROUP BY CUBE ({listed}))
            """).collect()[0]
            print(f"{asked:,} keys asked in Spark, {keys:,} known, {missed} missed, {time.monotonic() - began:.1f} s")
        finally:
            spark.stop()
    return int(missed > 0 or asked != keys)


if __name__ == "__main__":
    sys.exit(main())
