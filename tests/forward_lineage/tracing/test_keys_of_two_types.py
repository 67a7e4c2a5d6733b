"""Correlated subqueries whose keys Spark casts before it compares: no row of the user's comes twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.task_errors import REFUSED

LARGEST = "SELECT oid, (SELECT max(i.v) FROM i WHERE i.{key} = o.k AND i.v < o.v) AS m FROM o"
EXISTS = "SELECT oid FROM o WHERE EXISTS (SELECT * FROM i WHERE i.{key} = o.k AND i.v < o.v)"
CAST = (
    "SELECT oid, (SELECT max(v) FROM (SELECT CAST(text AS BIGINT) AS k, v FROM i) AS c"
    " WHERE c.k = o.k AND c.v < o.v) AS m FROM o"
)


@pytest.fixture
def two(spark: SparkSession, lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """o(oid, k BIGINT, v) and i(iid, text, small INT, real DOUBLE, v), where '1' and '01' equal 1."""
    spark.sql("CREATE TEMPORARY VIEW o AS SELECT * FROM VALUES (1, 1L, 5), (2, 2L, 5) AS o(oid, k, v)")
    rows = "(1, '1', 1, 1D, 1), (2, '01', 1, 1D, 2), (3, '2', 2, 2D, 9)"
    spark.sql(f"CREATE TEMPORARY VIEW i AS SELECT * FROM VALUES {rows} AS i(iid, text, small, real, v)")
    lineage.register("o", key="oid")
    lineage.register("i", key="iid")
    yield lineage
    for view in ("o", "i"):
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize("semantics", ["data", "control"])
@pytest.mark.parametrize("key", ["text", "real"])
def test_several_keys_may_equal_one_value(two: ForwardLineage, semantics: str, key: str) -> None:
    with pytest.raises(REFUSED, match="CAST the subquery's column"):
        two.sql(LARGEST.format(key=key), semantics=semantics).collect()


def test_under_control(two: ForwardLineage) -> None:
    with pytest.raises(REFUSED, match="compares columns of two types"):
        two.sql(EXISTS.format(key="text"), semantics="control").collect()


@pytest.mark.parametrize("sql", [LARGEST.format(key="small"), CAST], ids=("widened", "cast"))
def test_what_goes(two: ForwardLineage, sql: str) -> None:
    rows = two.sql(sql).selectExpr("oid", "m", "dl_ids(DL.i) AS i").collect()
    assert sorted(map(tuple, rows)) == [(1, 2, [1, 2]), (2, None, [])]


def test_equalities_alone_are_sparks(two: ForwardLineage) -> None:
    sql = "SELECT oid, (SELECT max(i.v) FROM i WHERE i.text = o.k) AS m FROM o"
    rows = two.sql(sql).selectExpr("oid", "m", "dl_ids(DL.i) AS i").collect()
    assert sorted(map(tuple, rows)) == [(1, 2, [1, 2]), (2, 9, [3])]
