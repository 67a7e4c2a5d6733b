"""Columns called through their database or catalog, and `_metadata`: Spark's rows, and the rows they were made of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.conftest import rows_with_lineage
from tests.tiers import every_day
from udafs.errors import LineageError

TABLES = {
    "one.t": ("id INT, v INT, s STRUCT<x: INT>", "(1, 5, struct(9)), (2, 6, struct(8))"),
    "two.t": ("id INT, w INT", "(11, 100), (13, 300)"),
    "two.s": ("k INT, t STRUCT<id: INT>", "(31, struct(1)), (32, struct(7))"),
    "t.id": ("v INT, `all` INT, `a b.c` INT", "(21, 7, 3), (22, 7, 4)"),
}
T, U, I = "one.t", "two.t", "t.id"  # noqa: E741 - tables

# SQL → for each row, sorted by its values, the ids of base rows; read in the database `one`
CASES: dict[str, list[dict[str, list[int]]]] = {
    "SELECT one.t.id FROM t": [{T: [1]}, {T: [2]}],
    "SELECT spark_catalog.one.t.id FROM one.t": [{T: [1]}, {T: [2]}],
    "SELECT ONE.T.s.X, one.t.s.* FROM t": [{T: [2]}, {T: [1]}],
    "SELECT one.t.* FROM spark_catalog.one.t": [{T: [1]}, {T: [2]}],
    "SELECT one.t.id, two.t.w FROM one.t JOIN two.t ON one.t.id + 10 = two.t.id": [{T: [1], U: [11]}],
    "SELECT t.* FROM one.t JOIN two.t ON one.t.id + 10 = two.t.id": [{T: [1], U: [11]}],
    "SELECT t.w, v FROM one.t, two.t WHERE one.t.id = two.t.id - 11": [{T: [2], U: [13]}],
    "SELECT one.t.v, two.t.w FROM t LEFT JOIN two.t USING (id) ORDER BY one.t.id": [{T: [1], U: []}, {T: [2], U: []}],
    "SELECT t.t.id FROM two.s AS t": [{"two.s": [31]}, {"two.s": [32]}],
    "SELECT t.id.v FROM t.id": [{I: [21]}, {I: [22]}],
    "SELECT t.id.`a b.c`, `T`.`ID`.all FROM t.id": [{I: [21]}, {I: [22]}],
    "SELECT all, count(*) AS n FROM t.id GROUP BY all": [{I: [21, 22]}],
    "SELECT all, v, count(*) AS n FROM t.id GROUP BY all, v ORDER BY all": [{I: [21]}, {I: [22]}],
    "SELECT DISTINCT all FROM t.id": [{I: [21, 22]}],
    "SELECT v, all FROM t.id INTERSECT SELECT v, all FROM t.id": [{I: [21]}, {I: [22]}],
    "SELECT one.t.id, count(*) AS n FROM one.t GROUP BY one.t.id HAVING max(one.t.v) > 5": [{T: [2]}],
    "WITH t AS (SELECT one.t.id FROM one.t) SELECT t.id FROM t": [{T: [1]}, {T: [2]}],
    "SELECT (SELECT max(two.t.w) FROM two.t WHERE two.t.id = one.t.id + 10) AS m FROM one.t": [
        {T: [1], U: [11]},
        {T: [2], U: []},
    ],
    "SELECT q.z FROM one.t, LATERAL (SELECT two.t.w + one.t.v AS z FROM two.t WHERE two.t.id = one.t.id + 11) AS q": [
        {T: [2], U: [13]}
    ],
    "SELECT one.t.v, e FROM t LATERAL VIEW explode(array(one.t.s.x)) AS e": [{T: [1]}, {T: [2]}],
    "SELECT one.v.id FROM v WHERE one.v.id = 2": [{T: [2]}],
    "SELECT global_temp.g.id, g.* FROM global_temp.g": [{T: [1]}, {T: [2]}],
    "SELECT one.t.id FROM t UNION ALL SELECT two.t.id FROM two.t": [
        {T: [1], U: []},
        {T: [], U: [11]},
        {T: [], U: [13]},
        {T: [2], U: []},
    ],
    "SELECT id, _metadata.file_size > 0 AS f FROM t": [{T: [1]}, {T: [2]}],
    "SELECT one.t._metadata.file_size > 0 AS f, * FROM one.t": [{T: [1]}, {T: [2]}],
    "SELECT count(*) AS n FROM t GROUP BY _metadata.file_path": [{T: [1, 2]}],
    "SELECT id FROM t WHERE _metadata.file_size > 0 ORDER BY _metadata.row_index DESC": [{T: [1]}, {T: [2]}],
    "SELECT t.id FROM one.t JOIN two.t AS u ON t._metadata.file_size + u.id > 0 AND u.id = t.id + 10": [
        {T: [1], U: [11]}
    ],
    "SELECT id, f FROM (SELECT id, _metadata.row_index AS f FROM t) WHERE f >= 0": [{T: [1]}, {T: [2]}],
}
EVERY_DAY = [sql for place, sql in enumerate(CASES) if place in (0, 2, 4, 5, 8, 11, 14, 17, 21, 24, 25)]


@pytest.fixture(scope="module")
def databases(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    """Two tables of one name in two databases, and a database that is called like them."""
    for name in ("one", "two", "t"):
        spark.sql(f"CREATE DATABASE {name}")
    for name, (columns, rows) in TABLES.items():
        spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
        spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")
    spark.sql("USE one")
    spark.sql("CREATE VIEW v AS SELECT one.t.id, t.s FROM one.t")
    spark.sql("CREATE GLOBAL TEMPORARY VIEW g AS SELECT id, v FROM one.t")
    lineage = ForwardLineage(spark, tmp_path_factory.mktemp("databases"))
    for name, (columns, _) in TABLES.items():
        lineage.register(name, key=columns.split()[0])
    yield lineage
    spark.sql("USE default")
    spark.catalog.dropGlobalTempView("g")
    for name in ("one", "two", "t"):
        spark.sql(f"DROP DATABASE {name} CASCADE")


@pytest.mark.parametrize("sql", every_day(CASES, EVERY_DAY))
def test_rows_are_sparks_and_lineage_is_right(databases: ForwardLineage, sql: str) -> None:
    plain = databases.spark.sql(sql)
    traced = databases.sql(sql)
    assert traced.columns == [*plain.columns, "DL"]
    numbered = [f"column_{place}" for place, _ in enumerate(plain.columns)]  # two may be called the same
    found = rows_with_lineage(traced.toDF(*numbered, "DL"))
    assert [row for row, _ in found] == sorted((tuple(row) for row in plain.collect()), key=repr)
    assert [ids for _, ids in found] == CASES[sql]
    control = databases.sql(sql, semantics="control").drop("DL")
    assert sorted(map(tuple, control.collect()), key=repr) == [row for row, _ in found]


def test_a_subquery_that_decides_is_asked_for_the_right_table(databases: ForwardLineage) -> None:
    sql = "SELECT one.t.v FROM one.t WHERE EXISTS (SELECT 1 FROM two.t WHERE two.t.id = one.t.id + 10 LIMIT 1)"
    assert rows_with_lineage(databases.sql(sql, semantics="control")) == [((5,), {T: [1], U: [11]})]
    assert rows_with_lineage(databases.sql(sql.replace("LIMIT 1", "LIMIT 0"), semantics="control")) == []


def test_lineage_on_a_column_through_its_database(databases: ForwardLineage) -> None:
    sql = "SELECT one.t.id, two.t.w FROM one.t JOIN two.t ON one.t.id + 10 = two.t.id LINEAGE ON two.t.w, one.t.v"
    frame = databases.sql(sql)
    assert frame.schema["DL"].dataType.fieldNames() == [T, U]  # type: ignore[attr-defined]
    databases.save(f"{sql.partition(',')[0]} FROM {sql.partition(' FROM ')[2]}", "of_values")
    assert [row[0] for row in databases.backward("of_values", table=U).collect()] == [100]


def test_what_is_saved_answers(databases: ForwardLineage) -> None:
    databases.save("SELECT one.t.id, _metadata.row_index AS place FROM t WHERE one.t.s.x > 8", "saved_names")
    assert [row.v for row in databases.backward("saved_names", where="place >= 0").collect()] == [5]
    assert [row.id for row in databases.forward(T, where="v = 5", result="saved_names").collect()] == [1]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT three.t.id FROM t", r"`three`\.`t`\.`id` cannot be resolved.* \(line 1, column 8\)"),
        ("SELECT t.id FROM one.t, two.t", r"`t`\.`id` is ambiguous"),
        ("SELECT _metadata.file_name FROM one.t, two.t", r"`_metadata`\.`file_name` is ambiguous"),
        ("SELECT g._metadata.file_name FROM global_temp.g", r"`g`\.`_metadata`\.`file_name` cannot be resolved"),
    ],
)
def test_what_spark_refuses_is_refused(databases: ForwardLineage, sql: str, message: str) -> None:
    with pytest.raises(LineageError, match=message):
        databases.sql(sql)
