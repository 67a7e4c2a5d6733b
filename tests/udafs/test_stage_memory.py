"""A stage whose lineage relation is larger than the memory: one error that says what to do, and Spark lives on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
WITH_LITTLE_MEMORY = """
import sys
from pathlib import Path

from pyspark.errors import SparkRuntimeException
from forward_lineage.spark.versions import condition_of

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.local import local_session

folder, threads, fraction, rows, words = Path(sys.argv[1]), *sys.argv[2:6]
spark = local_session(
    "stages", master=f"local[{threads}]", driver_memory="512m", log=folder / "log", spark__memory__fraction=fraction,
    spark__sql__shuffle__partitions="2", spark__forward_lineage__by_reference="true",
)
spark.range(0, int(rows), 1, 2).selectExpr("id", "id * 7919 % 1000 AS k").write.parquet(str(folder / "t"))
lineage = ForwardLineage(spark, folder / "home")
lineage.register("t", path=folder / "t")
window = "SELECT id, count(*) OVER (PARTITION BY k ORDER BY id) AS n FROM t"
traced = lineage.sql(window).where("id = 5").selectExpr("dl_size(DL.t) AS size")
try:
    print(traced.first())
    sys.exit("it was not refused")
except SparkRuntimeException as error:
    assert condition_of(error) == "USER_RAISED_EXCEPTION", error
    text = str(error)
for said in (words, "the lineage of a stage takes", "MiB", "Save the inner query", "spark.driver.memory"):
    assert said in text, text
assert "\\n" not in text, text

# Where nobody looks rows up there is nothing to refuse, and a save composes nothing.
assert lineage.sql(window).drop("DL").selectExpr("max(n)").first()[0] == int(rows) // 1000
saved = lineage.save(window, "w")
assert saved.rows == int(rows)
assert len(lineage.backward_ids("w", where=f"id = {rows} - 1", table="t")) == int(rows) // 1000
print("all well")
"""


@pytest.mark.long
@pytest.mark.timeout(900)  # a Spark of its own, on a machine that may be busy
@pytest.mark.parametrize(
    ("threads", "fraction", "rows", "words"),
    [
        (2, "0.1", 200_000, "more than Spark has left for the task"),
        (16, "0.6", 600_000, "copies on its way to the tasks"),  # a task each, and each reads a copy
    ],
)
def test_a_relation_larger_than_the_memory(tmp_path: Path, threads: int, fraction: str, rows: int, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITH_LITTLE_MEMORY, str(tmp_path), str(threads), fraction, str(rows), words],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=880, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("all well\n"), done.stdout + done.stderr[-3000:]
