"""Registered files are resolved once, and never read as they were at another time."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from tests.forward_lineage.conftest import kinds
from tests.forward_lineage.row_ids.conftest import ids, write
from tests.spark_jobs import jobs

QUERY = "SELECT v, count(*) AS n FROM t WHERE v >= (SELECT min(v) FROM t) GROUP BY v"


def lineage_of(lineage: ForwardLineage, sql: str, semantics: str = "data") -> dict[int, list[int]]:
    frame = lineage.sql(sql, semantics)
    return {row[0]: row.ids for row in frame.selectExpr("*", "dl_ids(DL.t) AS ids").collect()}


@pytest.mark.parametrize("semantics", ["data", "control"])
@pytest.mark.parametrize("key", [None, "v"])
def test_no_job_before_the_query_runs(lineage: ForwardLineage, folder: Path, semantics: str, key: str | None) -> None:
    """Spark reads footers in a job wherever parquet.`path` stands in a query; what registering has read is known."""
    lineage.register("t", path=folder, key=key)
    lineage.sql(QUERY, semantics)
    with jobs(lineage.spark) as of_the_query:
        frame = lineage.sql(QUERY, semantics)
    with jobs(lineage.spark) as of_the_text:
        lineage.spark.sql(lineage.rewrite(QUERY, semantics))
    with jobs(lineage.spark) as of_sparks_own:
        lineage.spark.sql(f"SELECT * FROM parquet.`{folder}`")
    assert not of_the_query
    assert not of_the_text
    assert of_sparks_own, "this is how jobs are seen"
    assert frame.count() == 6


def test_registering_looks_into_the_files_once(lineage: ForwardLineage, folder: Path) -> None:
    with jobs(lineage.spark) as found:
        lineage.register("t", path=folder)
    assert len(found) == 1


def test_what_is_printed_runs_in_other_sessions(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    assert "__dl_ids_" not in lineage.rewrite(QUERY)
    other = lineage.spark.newSession()
    ForwardLineage(other, lineage.home / "elsewhere")
    there = {
        row.v: row.ids for row in other.sql(lineage.rewrite(QUERY)).selectExpr("v", "dl_ids(DL.t) AS ids").collect()
    }
    assert there == lineage_of(lineage, QUERY)


def test_a_view_that_is_made_outlives_the_hidden_ones(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    lineage.sql("CREATE OR REPLACE TEMP VIEW large AS SELECT v FROM t WHERE v > 20")
    with pytest.raises(LineageError, match=r"^view large has lineage already, in its column DL .*Query it with spark"):
        lineage.sql("SELECT v FROM large")
    lineage.unregister("t")
    try:
        rows = lineage.spark.sql("SELECT v, dl_ids(DL.t) AS ids FROM large").collect()
    finally:
        lineage.spark.catalog.dropTempView("large")
    assert {row.v: row.ids for row in rows} == {21: [4], 30: [5]}


def test_hidden_columns_stay_hidden(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    for sql in ("SELECT * FROM t", "SELECT * FROM t AS x JOIN t AS y USING (v) LINEAGE ON ()"):
        assert lineage.sql(sql).drop("DL").columns == lineage.spark.sql(sql.split(" LINEAGE")[0]).columns
    frame = lineage.sql("SELECT * FROM t LINEAGE ON t.v")
    assert frame.columns == ["v", "DL"]
    assert sorted(row.DL.t[0] for row in lineage.granules(frame).collect()) == [10, 11, 12, 20, 21, 30]


def test_a_cte_with_the_name_of_its_table(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    sql = "WITH t AS (SELECT v FROM t WHERE v IN (SELECT max(v) FROM t)) SELECT v FROM t"
    assert lineage_of(lineage, sql) == {30: [5]}
    assert lineage.sql("WITH t AS (SELECT v FROM t WHERE v > 20) SELECT v FROM t LINEAGE ON ()").count() == 2


def test_suspected_rows(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    affected = lineage.affected("SELECT v % 10 AS k, sum(v) AS s FROM t GROUP BY 1", "t", where="v = 21")
    assert [(row.k, row.s) for row in affected.collect()] == [(1, 32)]


def test_the_same_sample(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    sql = "SELECT v FROM t TABLESAMPLE (50 PERCENT) REPEATABLE (3)"
    plain = [row.v for row in lineage.spark.sql(sql).collect()]
    assert 0 < len(plain) < 6
    traced = lineage_of(lineage, sql)
    assert list(traced) == plain
    assert [row.v for row in lineage.rows("t", [one for each in traced.values() for one in each]).collect()] == plain


def test_files_that_were_away_when_the_session_began(lineage: ForwardLineage, folder: Path, tmp_path: Path) -> None:
    lineage.register("t", path=folder)
    away = tmp_path / "away"
    (folder / "b.parquet").rename(away)
    later = ForwardLineage(lineage.spark.newSession(), lineage.home)
    with pytest.raises(LineageError, match=r"b\.parquet is missing"):
        later.sql("SELECT v FROM t")
    away.rename(folder / "b.parquet")
    assert ids(later, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 30: 5}
    assert later.sql(QUERY).count() == 6


def test_files_that_come_and_go(lineage: ForwardLineage, folder: Path) -> None:
    """Plain SQL reads the files that were registered; the new ones when the table is refreshed."""
    lineage.register("t", path=folder)
    write(folder / "d.parquet", [40])
    assert lineage.spark.sql("SELECT count(*) FROM t").collect()[0][0] == 6
    lineage.refresh("t")
    assert lineage.spark.sql("SELECT count(*) FROM t").collect()[0][0] == 7
    assert ids(lineage, "t")[40] == 6
    (folder / "d.parquet").unlink()
    lineage.refresh("t")
    assert lineage.spark.sql("SELECT count(*) FROM t").collect()[0][0] == 6


@pytest.mark.parametrize("trusted", [False, True])
def test_a_new_file_beside_those_of_a_key(lineage: ForwardLineage, folder: Path, trusted: bool) -> None:
    """The name reads the registered files, so a new one must not be left out in silence."""
    lineage.register("t", path=folder, key="v", trusted=trusted)
    write(folder / "d.parquet", [40])
    with pytest.raises(LineageError, match=r"d\.parquet is new since version 1 was registered.*refresh"):
        lineage.sql(QUERY)
    lineage.refresh("t")
    assert lineage_of(lineage, "SELECT v FROM t WHERE v > 20") == {21: [21], 30: [30], 40: [40]}


def test_two_homes_and_one_session(lineage: ForwardLineage, folder: Path, tmp_path: Path) -> None:
    """The second registration of the same files has ids of its own."""
    lineage.register("t", path=folder)
    other = ForwardLineage(lineage.spark, tmp_path / "other home")
    write(folder / "0.parquet", [0])
    other.register("t", path=folder)
    assert ids(other, "t")[0] == 0
    assert ids(other, "t")[10] == 1
    (folder / "0.parquet").unlink()
    assert ids(lineage, "t")[10] == 0
    with pytest.raises(LineageError, match=r"0\.parquet is missing"):
        other.sql("SELECT v FROM t")


def test_unregistered(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    lineage.unregister("t")
    assert not [name for name in kinds(lineage.spark) if name.endswith("t")]


@pytest.mark.parametrize("name", ["`od d`", "`order`", "`Ünï`", "`back``tick`"])
def test_odd_names(lineage: ForwardLineage, spark: SparkSession, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a `b`"
    spark.range(3).toDF("select").write.parquet(str(folder))
    lineage.register(name, path=folder)
    frame = lineage.sql(f"SELECT sum(`select`) AS s FROM {name}").selectExpr("s", "dl_ids(DL.*) AS ids")
    assert [tuple(row) for row in frame.collect()] == [(3, [0, 1, 2])]
    lineage.unregister(name)
    assert not spark.catalog.tableExists(name)
