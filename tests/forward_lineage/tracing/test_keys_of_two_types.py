"""Correlated subqueries that compare two types: rows are Spark's, none comes twice, and lineage is what matched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from forward_lineage import Catalog, ForwardLineage
from forward_lineage.catalog import key_table
from forward_lineage.frontend import rewrite_sql
from tests.tiers import every_day

#: By name: a type, and two values of it; to Spark the first ones equal one another where both types are compared.
TYPES = {
    "int": ("1", "2"),
    "bigint": ("1L", "2L"),
    "decimal(10,0)": ("1", "2"),
    "decimal(38,2)": ("1.00", "1.50"),
    "double": ("1.0D", "2.5D"),
    "float": ("CAST(1 AS FLOAT)", "CAST('NaN' AS FLOAT)"),
    "string": ("'1'", "'01'"),
    "date": ("DATE'2024-01-01'", "DATE'2024-01-02'"),
    "timestamp": ("TIMESTAMP'2024-01-01'", "TIMESTAMP'2024-01-01 10:00:00'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'2024-01-01'", "TIMESTAMP_NTZ'2024-01-02'"),
    "interval day": ("INTERVAL '1' DAY", "INTERVAL '2' DAY"),
    "interval day to second": ("INTERVAL '1 00:00:00' DAY TO SECOND", "INTERVAL '1 01:00:00' DAY TO SECOND"),
    "array<bigint>": ("array(1L)", "array(2L)"),
    "array<int>": ("array(1)", "array(2)"),
}
PAIRS = [
    ("decimal(10,0)", "bigint"),
    ("date", "timestamp"),
    ("string", "bigint"),
    ("decimal(38,2)", "double"),
    ("timestamp_ntz", "timestamp"),
    ("array<int>", "array<bigint>"),
    *(("string", other) for other in ("int", "decimal(10,0)", "double", "date", "timestamp")),
    *((one, other) for one in ("float", "decimal(38,2)") for other in ("int", "decimal(10,0)")),
    ("interval day", "interval day to second"),
    ("int", "decimal(10,0)"),
    ("timestamp", "timestamp_ntz"),
    ("double", "string"),
]
FEW = [("decimal(10,0)", "bigint"), ("date", "timestamp"), ("string", "bigint"), ("array<int>", "array<bigint>")]
SUM = "SELECT id, (SELECT sum(s.n) FROM s WHERE s.x = o.y AND s.n <> o.n) AS m FROM o"
EXISTS = "SELECT id FROM o WHERE EXISTS (SELECT * FROM s WHERE s.x = o.y AND s.n <> o.n)"
IN_UNION = f"{SUM} UNION ALL SELECT n, 7L FROM o"


@pytest.fixture
def two(spark: SparkSession, lineage: ForwardLineage) -> Iterator[tuple[SparkSession, ForwardLineage]]:
    yield spark, lineage


def make(spark: SparkSession, lineage: ForwardLineage, inner: str, outer: str) -> None:
    """s(sid, x, n) and o(id, y, n), of two types."""
    (a, b), (c, d) = TYPES[inner], TYPES[outer]
    rows = f"(1, {a}, 1), (2, {b}, 2), (3, {a}, 3), (4, NULL, 4)"
    spark.sql(f"CREATE TEMPORARY VIEW s AS SELECT sid, CAST(x AS {inner}) AS x, n FROM VALUES {rows} AS s(sid, x, n)")
    rows = f"(1, {c}, 1), (2, {d}, 1), (3, NULL, 1)"
    spark.sql(f"CREATE TEMPORARY VIEW o AS SELECT id, CAST(y AS {outer}) AS y, n FROM VALUES {rows} AS o(id, y, n)")
    lineage.register("s", key="sid")
    lineage.register("o", key="id")


@pytest.mark.parametrize(("inner", "outer"), every_day(PAIRS, FEW))
def test_rows_are_sparks(two: tuple[SparkSession, ForwardLineage], inner: str, outer: str) -> None:
    spark, lineage = two
    make(spark, lineage, inner, outer)
    is_read = inner == "string" and outer in ("date", "timestamp")  # which fails for such texts, under ANSI
    spark.conf.set("spark.sql.ansi.enabled", str(not is_read).lower())
    for sql, semantics in ((SUM, "data"), (EXISTS, "control"), (IN_UNION, "data")):
        found = lineage.sql(sql, semantics=semantics)
        assert sorted(map(tuple, found.drop("DL").collect()), key=str) == sorted(
            map(tuple, spark.sql(sql).collect()), key=str
        )
    matched: dict[int, list[int]] = {}
    for outer_id, inner_id in spark.sql("SELECT id, sid FROM o JOIN s ON s.x = o.y AND s.n <> o.n").collect():
        matched.setdefault(outer_id, []).append(inner_id)
    for outer_id, ids in lineage.sql(SUM).selectExpr("id", "dl_ids(DL.s)").collect():
        assert ids == sorted(matched.get(outer_id, []))


@pytest.mark.parametrize(("other", "is_moved"), [("bigint", False), ("decimal(10,0)", True)])
def test_types_that_are_known_leave_the_condition_where_it_is(other: str, is_moved: bool) -> None:
    catalog = Catalog()
    catalog.add(replace(key_table("s", ("sid", "x", "n"), "sid"), types=("int", "decimal(10,0)", "int")))
    catalog.add(replace(key_table("o", ("id", "y", "n"), "id"), types=("int", other, "int")))
    assert ("dl_alike" in rewrite_sql(SUM, catalog)) is is_moved
