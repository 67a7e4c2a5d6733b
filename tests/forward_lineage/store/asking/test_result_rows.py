"""Small saved results are asked where they are, and give what their files give: of any type, without a job."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.store.asking import result_rows
from forward_lineage.store.asking.result_rows import ResultRows
from forward_lineage.store.asking.rows import IdentifiedRows
from tests.spark_jobs import jobs

TYPES = """
    SELECT k, IF(k = 2, NULL, k) AS i, CAST(k / 3 AS DECIMAL(20, 4)) AS d, k / 3e0 AS f, CAST('NaN' AS DOUBLE) AS nan,
      DATE '0001-01-01' + k AS old, TIMESTAMP '1883-11-18 12:00:00.123456' + make_dt_interval(k) AS t,
      TIMESTAMP_NTZ '1500-02-28 00:00:00.000001' AS ntz, encode('ä', 'utf-8') AS b, array(k, NULL) AS a,
      map('x', k) AS m, struct(k AS x, 'ö' AS y) AS s, INTERVAL '1' DAY * k AS dt, k = 1 AS yes FROM t
"""
CONDITIONS = [
    "i IS NULL", "d > 0.3333", "f > 0.34", "nan = double('NaN') AND k > 1", "old = DATE '0001-01-03'",
    "t < TIMESTAMP '1883-11-20 12:00:00.123457'", "year(ntz) = 1500 AND k = 3", "decode(b, 'utf-8') = 'ä' AND yes",
    "a[0] = 2", "m['x'] = 3", "s.x = 1 AND s.y = 'ö'", "dt >= INTERVAL '2' DAY", "rand(3) >= 0",
]  # fmt: skip


@pytest.fixture
def saved(lineage: ForwardLineage) -> ForwardLineage:
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM VALUES (1), (2), (3) AS t(k)")
    lineage.register("t", key="k")
    lineage.save(TYPES, "types")
    return lineage


def test_the_same_as_from_the_files(saved: ForwardLineage) -> None:
    known = saved.describe("types")
    near, far = ResultRows(saved.spark).of(known), IdentifiedRows.of_result(saved.spark, known)
    assert near.frame.schema.fields[1:] == far.frame.schema.fields[1:]
    assert sorted(map(repr, near.frame.collect())) == sorted(map(repr, far.frame.collect()))
    for condition in CONDITIONS:
        found = list(near.where(condition))
        assert found, condition
        assert found == list(far.where(condition)), condition


def test_no_job_runs(saved: ForwardLineage, spark: SparkSession) -> None:
    saved.backward_ids("types", "k = 1")
    with jobs(spark) as of_ids:
        assert list(saved.backward_ids("types", "k = 2")) == [2]
    with jobs(spark) as of_rows:
        saved.backward("types", "k = 2").collect()
    assert of_ids == []
    assert of_rows


def test_those_asked_last_are_kept(saved: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_rows, "MOST_RESULTS", 1)
    rows = ResultRows(saved.spark)
    types = rows.of(saved.describe("types"))
    assert rows.of(saved.describe("types")) is types
    saved.save("SELECT k FROM t", "other")
    assert rows.of(saved.describe("other")).where("k = 3").ids().tolist() == [2]
    assert not saved.spark.catalog.tableExists(str(types.view))
    monkeypatch.setattr(result_rows, "MOST_ROWS", 2)
    assert rows.of(saved.describe("types")).view is None
