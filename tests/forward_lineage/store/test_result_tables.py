"""Saved results as tables: their columns are known, so that nobody looks into their files for them."""

from __future__ import annotations

from forward_lineage import ForwardLineage
from tests.spark_jobs import jobs

# A comment and a CHAR column come as metadata; every column is nullable once it is in a file.
COLUMNS = "k BIGINT NOT NULL COMMENT 'the key', c CHAR(3), w VARCHAR(5)"
TYPES = """
    SELECT k, c, w, 1 AS one, CAST(k / 3 AS DECIMAL(20, 4)) AS d, DATE '0001-01-01' AS day, array(k, NULL) AS a,
      TIMESTAMP '1883-11-18 12:00:00' AS t, TIMESTAMP_NTZ '1500-02-28 00:00:00' AS ntz, X'00ff' AS b,
      map('x', k) AS m, struct(k AS x, 'ö' AS `Y y`) AS s, INTERVAL '1' DAY * k AS dt, k = 1 AS `yes or no` FROM t
"""


def types(lineage: ForwardLineage) -> ForwardLineage:
    spark, place = lineage.spark, (lineage.home / "t").as_posix()
    spark.sql("DROP TABLE IF EXISTS t")
    spark.sql(f"CREATE TABLE t ({COLUMNS}) USING parquet LOCATION '{place}'")
    spark.sql("INSERT INTO t VALUES (1, 'abc', 'x'), (2, 'abc', NULL)")
    lineage.register("t")
    lineage.save(TYPES, "types")
    return lineage


def test_the_columns_are_those_that_spark_finds_in_the_files(lineage: ForwardLineage) -> None:
    try:
        saved = types(lineage)
        found = lineage.spark.read.parquet(str(saved.describe("types").rows_folder)).schema
        assert lineage.spark.table("types").schema.json() == found.json()
        text = lineage.rewrite("SELECT * FROM types")
        assert "dl_parquet" in text
        assert lineage.spark.sql(text).schema.json() != found.json()  # DL
        assert lineage.spark.sql(text).drop("DL").schema.json() == found.json()
    finally:
        lineage.spark.sql("DROP TABLE IF EXISTS t")


def test_a_session_that_finds_results_starts_no_job(store: ForwardLineage) -> None:
    for name in ("one", "two"):
        store.save("SELECT * FROM Sales", name)
    session = store.spark.newSession()
    with jobs(session) as before:
        later = ForwardLineage(session, store.home)
        frame = later.sql("SELECT * FROM one UNION ALL SELECT * FROM two")
    assert not before
    with jobs(session) as running:
        assert frame.count()
    assert running
